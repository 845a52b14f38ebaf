import { EventEmitter } from "node:events";
import { expect, test } from "@jest/globals";
import { type InvocationId, silentLogger } from "@perdure/base";
import type { InvokeObserver, Partitions } from "@perdure/control";
import type { Invoke } from "@perdure/state-machine";
import { encodeCommand } from "./codec/commands.js";
import type { ExchangeRequest, ExchangeRequestBody, ExchangeResponse } from "./codec/exchange.js";
import { LeaderDirectory } from "./leadership.js";
import { partitionsHandlers, type ServedPartitions } from "./server.js";
import { anInvoke } from "./testing/workers.js";

const EPOCH = 7;

/** A worker that leads everything, or nothing any more, and the stream of a gateway to it. */
function exchange() {
  const invoked: { readonly command: Invoke; readonly wait: boolean; readonly observer: InvokeObserver }[] = [];
  const leadership = { epoch: EPOCH as number | undefined };
  const partitions = {
    invoke(command: Invoke, wait: boolean, observer: InvokeObserver) {
      invoked.push({ command, wait, observer });
      return { detach: () => undefined };
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
  return { ask: send, invoked, responses, leadership };
}

const invokeBody = (
  command: Invoke,
  more: { readonly resubmission?: boolean; readonly epoch?: number | undefined },
): ExchangeRequestBody => ({
  case: "invoke",
  value: { command: encodeCommand(command), wait: true, resubmission: more.resubmission === true, epoch: more.epoch },
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
