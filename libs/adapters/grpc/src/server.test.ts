import { EventEmitter } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { fromUtf8, type InvocationId, PerdureError, silentLogger, utf8 } from "@perdure/base";
import type { Completion, InvokeObserver, Partitions } from "@perdure/control";
import type { CommandAnswer, Invoke, PartitionCommand } from "@perdure/state-machine";
import { decodeAnswer, decodeFailure } from "./codec/answers.js";
import { HELLO } from "./codec/capabilities.js";
import { encodeManagementCommand, encodeStoredCommand } from "./codec/commands.js";
import type { ExchangeRequest, ExchangeRequestBody, ExchangeResponse } from "./codec/exchange.js";
import { LeaderDirectory } from "./leadership.js";
import { partitionsHandlers, type ServedPartitions } from "./server.js";
import { decodeError } from "./status.js";
import { anInvoke } from "./testing/workers.js";
import { encodeCommandV01 } from "./v01/exchange.js";

const EPOCH = 7;
const A_FAILURE: Completion = {
  outcome: { kind: "failure", failure: { code: 409, message: "killed", metadata: [] }, stacktrace: undefined },
  expiresAtMs: 5,
};

/** A worker that leads everything, or nothing any more, and the stream of a gateway to it. */
function exchange() {
  const invoked: { readonly command: Invoke; readonly wait: boolean; readonly observer: InvokeObserver }[] = [];
  const submitted: PartitionCommand[] = [];
  const leadership = { epoch: EPOCH as number | undefined };
  const partitions = {
    invoke(command: Invoke, wait: boolean, observer: InvokeObserver) {
      invoked.push({ command, wait, observer });
      return { detach: () => undefined };
    },
    async submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
      submitted.push(command);
      if (command.kind === "purge") throw new PerdureError("STO0001", "the disk is full");
      return { kind: command.kind === "pause" ? "alreadyPaused" : "done" };
    },
  } as unknown as Partitions;
  const served: ServedPartitions = {
    partitions,
    leads: () => leadership.epoch !== undefined,
    epochOf: (_id: InvocationId) => leadership.epoch,
    deliver: () => false,
    directory: new LeaderDirectory(),
    logger: silentLogger,
  };
  const answers: ExchangeResponse[] = [];
  const call = Object.assign(new EventEmitter(), {
    write: (batch: readonly ExchangeResponse[]) => answers.push(...batch) > 0,
    pause: () => undefined,
    resume: () => undefined,
    end: () => undefined,
  });
  (partitionsHandlers(served)["exchange"] as unknown as (stream: unknown) => void)(call);
  let number = 0;
  const send = (...bodies: readonly ExchangeRequestBody[]): void => {
    call.emit(
      "data",
      bodies.map((one): ExchangeRequest => ({ number: ++number, body: one })),
    );
  };
  /** Responses of one turn leave together. */
  const responses = async (): Promise<readonly ExchangeResponse[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    return answers;
  };
  return { ask: send, invoked, submitted, responses, leadership };
}

const invokeBody = (
  command: Invoke,
  more: { readonly resubmission?: boolean; readonly epoch?: number | undefined },
): ExchangeRequestBody => ({
  case: "invoke",
  value: {
    command: encodeStoredCommand(command),
    wait: true,
    resubmission: more.resubmission === true,
    epoch: more.epoch,
    throttle: command.throttle,
  },
});

test.each([
  ["was sent to this leadership", { epoch: EPOCH }, undefined],
  ["was sent to an earlier one, and comes over a connection that was given up", { epoch: EPOCH - 1 }, true],
  ["was sent to one that is still to come", { epoch: EPOCH + 1 }, true],
  ["names no leadership", { epoch: undefined }, true],
  ["is sent again", { epoch: EPOCH, resubmission: true }, true],
])("an invocation that %s counts as new only where it cannot be here already", (_what, how, expected) => {
  const { ask: send, invoked } = exchange();
  const command = anInvoke();
  send(invokeBody(command, how));
  expect(invoked.map(({ command: { id, resubmission }, wait }) => [id, resubmission, wait])).toEqual([
    [command.id, expected, true],
  ]);
});

test("a worker that no longer leads answers so, and invokes nothing", async () => {
  const { ask: send, invoked, responses, leadership } = exchange();
  leadership.epoch = undefined;
  send(
    invokeBody(anInvoke(), { epoch: EPOCH }),
    { case: "attach", value: anInvoke().id },
    { case: "describe", value: anInvoke().id },
  );
  expect(await responses()).toEqual([1, 2, 3].map((number) => ({ number, body: { case: "notLeader" } })));
  expect(invoked).toEqual([]);
});

test("callers of a partition that moves away meanwhile are sent after it, not turned down", async () => {
  const { ask: send, invoked, responses, leadership } = exchange();
  send(invokeBody(anInvoke(), { epoch: EPOCH }), invokeBody(anInvoke(), { epoch: EPOCH }));
  invoked[0]?.observer.unavailable("too much work is waiting");
  leadership.epoch = undefined;
  invoked[1]?.observer.unavailable("the leadership is over");
  expect(await responses()).toEqual([
    { number: 1, body: { case: "unavailable", value: "too much work is waiting" } },
    { number: 2, body: { case: "notLeader" } },
  ]);
});

describe("a client that announces what it reads", () => {
  test("is announced the same, and gets answers, failures and errors as messages", async () => {
    const { ask: send, invoked, responses, submitted } = exchange();
    const { id } = anInvoke();
    send(
      { case: "hello", value: HELLO },
      invokeBody(anInvoke(), { epoch: EPOCH }),
      { case: "command", value: encodeManagementCommand({ kind: "pause", id }) },
      { case: "command", value: encodeManagementCommand({ kind: "purge", id }) },
      { case: "command", value: encodeManagementCommand({ kind: "kill", id: "inv_1" as InvocationId }) },
    );
    invoked[0]?.observer.completed(A_FAILURE);
    const [hello, ...others] = (await responses()).toSorted((one, other) => one.number - other.number);
    expect(hello).toEqual({ number: 1, body: { case: "hello", value: HELLO } });
    expect(submitted).toEqual([
      { kind: "pause", id },
      { kind: "purge", id },
    ]);
    const [completed, answered, failed, refused] = others.map(({ body }) => body);
    expect(completed).toMatchObject({ case: "completed", value: { outcome: new Uint8Array(0), expiresAtMs: 5 } });
    expect(completed?.case === "completed" && decodeFailure(completed.value.failure as Uint8Array)).toEqual(A_FAILURE.outcome);
    expect(answered?.case === "commandAnswer" && decodeAnswer(answered.value)).toEqual({ kind: "alreadyPaused" });
    expect(failed?.case === "error" && decodeError(failed.value)).toMatchObject({ code: "STO0001", detail: "the disk is full" });
    expect(refused?.case === "error" && decodeError(refused.value)).toMatchObject({ code: "OPS0003" });
  });
});

describe("a client of v0.1, which announces nothing", () => {
  test("gets answers and failures as JSON, and errors as texts", async () => {
    const { ask: send, invoked, responses } = exchange();
    const { id } = anInvoke();
    send(
      invokeBody(anInvoke(), { epoch: EPOCH }),
      { case: "submit", value: encodeCommandV01({ kind: "pause", id }) },
      { case: "submit", value: encodeCommandV01({ kind: "purge", id }) },
      { case: "submit", value: encodeCommandV01({ kind: "kill", id }) },
      { case: "submit", value: utf8("\u0002{}") },
    );
    invoked[0]?.observer.completed(A_FAILURE);
    const answered = (await responses()).toSorted((one, other) => one.number - other.number);
    const texts = answered.map(({ body }) =>
      body?.case === "completed"
        ? fromUtf8(body.value.outcome)
        : body !== undefined && "value" in body && body.value instanceof Uint8Array
          ? fromUtf8(body.value)
          : body,
    );
    expect(texts).toEqual([
      '\u0001{"failure":{"code":409,"message":"killed","metadata":[]}}',
      '{"kind":"alreadyPaused"}',
      { case: "unavailable", value: "the disk is full" },
      '{"kind":"done"}',
      { case: "unavailable", value: "the request could not be handled" },
    ]);
  });
});
