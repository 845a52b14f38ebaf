import { EventEmitter } from "node:events";
import { expect, test } from "@jest/globals";
import type { InvocationId, OperationId } from "@perdure/base";
import { HELLO } from "./codec/capabilities.js";
import { encodeManagementCommand, type ManagementCommand } from "./codec/commands.js";
import type { ExchangeRequest, ExchangeResponse, ExchangeResponseBody } from "./codec/exchange.js";
import { UNANNOUNCED_COMMANDS_MAX } from "./limits.js";
import { WorkerLink } from "./link.js";
import { anInvoke } from "./testing/workers.js";
import { encodeCommandV01 } from "./v01/exchange.js";

const PAUSE: ManagementCommand = { kind: "pause", id: anInvoke().id };
const TYPED = { case: "command", value: encodeManagementCommand(PAUSE) };
const OF_V01 = { case: "submit", value: encodeCommandV01(PAUSE) };
const HELLO_REQUEST = { number: 0, body: { case: "hello", value: HELLO } };

/** A link whose worker is played by the test: its streams, one after the other. */
function playedWorker() {
  const streams: { readonly sent: ExchangeRequest[]; readonly events: EventEmitter }[] = [];
  const client = {
    makeBidiStreamRequest() {
      const sent: ExchangeRequest[] = [];
      const events = new EventEmitter();
      streams.push({ sent, events });
      const write = (batch: readonly ExchangeRequest[]): boolean => sent.push(...batch) > 0;
      return Object.assign(events, { write, cancel: () => undefined });
    },
    close: () => undefined,
  };
  const link = new WorkerLink("w:1", client as unknown as ConstructorParameters<typeof WorkerLink>[1], (task) => task());
  const sent = (): readonly ExchangeRequest[] => streams.at(-1)?.sent ?? [];
  const respond = (number: number, body: ExchangeResponseBody | undefined): void => {
    const batch: readonly ExchangeResponse[] = [{ number, body }];
    streams.at(-1)?.events.emit("data", batch);
  };
  const breakStream = (): void => void streams.at(-1)?.events.emit("error", new Error("connection reset"));
  const outcomes: string[] = [];
  const manage = (): number | undefined =>
    link.request(
      { case: "manage", value: PAUSE },
      {
        id: PAUSE.id as InvocationId,
        answered: (response) => outcomes.push(response.case) > 0,
        broken: (reason) => void outcomes.push(`broken: ${reason}`),
      },
    );
  return { link, sent, respond, breakStream, manage, outcomes };
}

test("a stream begins with what this process reads, and a management command waits for what the worker reads", () => {
  const { link, sent, respond, manage } = playedWorker();
  const number = manage() as number;
  const described = link.request({ case: "describe", value: PAUSE.id }, NO_CALLER) as number;
  expect(sent()).toEqual([HELLO_REQUEST, { number: described, body: { case: "describe", value: PAUSE.id } }]);
  respond(0, { case: "hello", value: HELLO });
  expect(sent()[2]).toEqual({ number, body: TYPED });
  expect([manage(), sent()[3]?.body]).toEqual([number + 2, TYPED]);
});

test.each<[string, ExchangeResponseBody]>([
  [
    "answers that it does not have the request",
    { case: "unavailable", value: "a request of a kind that this version does not support" },
  ],
  ["announces nothing that this version has", { case: "hello", value: Uint8Array.of(0x0a, 1, 99) }],
  ["announces what cannot be read", { case: "hello", value: Uint8Array.of(0x0a) }],
])("a worker that %s gets the form of v0.1", (_what, announcement) => {
  const { sent, respond, manage } = playedWorker();
  const number = manage();
  respond(0, announcement);
  expect(sent()).toEqual([HELLO_REQUEST, { number, body: OF_V01 }]);
});

const FORK: ManagementCommand = {
  kind: "restartAsNew",
  id: PAUSE.id,
  newId: anInvoke().id,
  from: 1,
  moveTo: undefined,
  keepDeployment: true,
  fork: { editedSteps: [], replaced: [], added: [] },
};
const UNDO: ManagementCommand = {
  kind: "undo",
  id: PAUSE.id,
  operation: "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId,
  sink: undefined,
};

const STATE_TTL: ManagementCommand = { kind: "setStateTtl", id: PAUSE.id, service: "S", key: "k", ttlMs: 1_000 };

test.each([
  ["a fork", FORK, "cannot fork an invocation"],
  ["an undo", UNDO, "cannot undo a change"],
  ["a time to live of state", STATE_TTL, "cannot set a time to live of state"],
])("%s is not sent to a worker of v0.1, which would misunderstand it: its caller is to repeat it", (_what, command, reason) => {
  const { link, sent, respond } = playedWorker();
  const answers: ExchangeResponseBody[] = [];
  const pending = { id: PAUSE.id, answered: (answer: ExchangeResponseBody) => answers.push(answer) > 0, broken: () => undefined };
  expect(link.request({ case: "manage", value: command }, pending)).toBeDefined();
  respond(0, { case: "unavailable", value: "no such request" });
  expect(link.request({ case: "manage", value: command }, pending)).toBeDefined();
  expect(answers).toEqual([1, 2].map(() => ({ case: "unavailable", value: expect.stringContaining(reason) })));
  expect([sent(), link.openCount]).toEqual([[HELLO_REQUEST], 0]);
});

test("a command that waits is returned when the stream breaks, and the next stream begins anew", () => {
  const { sent, respond, breakStream, manage, outcomes } = playedWorker();
  manage();
  respond(0, { case: "hello", value: HELLO });
  breakStream();
  manage();
  expect(sent()).toEqual([HELLO_REQUEST]);
  breakStream();
  expect(outcomes).toEqual(["broken: connection reset", "broken: connection reset"]);
  const number = manage();
  respond(0, { case: "unavailable", value: "no such request" });
  expect(sent()).toEqual([HELLO_REQUEST, { number, body: OF_V01 }]);
});

test("a command whose caller gave up before the worker announced anything is not sent", () => {
  const { link, sent, respond, manage } = playedWorker();
  const number = manage() as number;
  link.discard(number);
  respond(0, { case: "hello", value: HELLO });
  expect(sent()).toEqual([HELLO_REQUEST]);
  expect(link.openCount).toBe(0);
});

test("a bounded number of commands waits for a worker that announces nothing", () => {
  const { link, manage } = playedWorker();
  for (let count = 0; count < UNANNOUNCED_COMMANDS_MAX; count++) expect(manage()).toBe(count + 1);
  expect(manage()).toBeUndefined();
  expect(link.request({ case: "attach", value: PAUSE.id }, NO_CALLER)).toBe(UNANNOUNCED_COMMANDS_MAX + 1);
});

const NO_CALLER = { id: PAUSE.id as InvocationId, answered: () => true, broken: () => undefined };
