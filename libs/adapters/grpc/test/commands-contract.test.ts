/** Management commands, their answers and failures keep every value on their way, in the form of this release and in that of v0.1. */
import { describe, expect, test } from "@jest/globals";
import { newDeploymentId, newInvocationId, type Random, toBinaryString, utf8, vqueueId } from "@perdure/base";
import type { CommandAnswer } from "@perdure/state-machine";
import { decodeInvocation, encodeInvocation } from "@perdure/storage";
import { arbitraryInvocation } from "@perdure/storage/testing";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import { decodeAnswer, decodeFailure, encodeAnswer, encodeFailure, type FailedOutcome } from "../src/codec/answers.js";
import {
  decodeInvoke,
  decodeManagementCommand,
  decodeStoredCommand,
  encodeManagementCommand,
  encodeStoredCommand,
  type ManagementCommand,
  tagged,
} from "../src/codec/commands.js";
import { toJson } from "../src/codec/json.js";
import {
  decodeAnswerV01,
  decodeCommandV01,
  decodeFailureV01,
  encodeAnswerV01,
  encodeCommandV01,
  encodeFailureV01,
} from "../src/v01/exchange.js";

const random: Random = new SeededRandom(56);
/** Text as it comes over a wire: without lone surrogates. */
const text = fc.string({ unit: "grapheme" });
const bytes = fc.uint8Array({ maxLength: 40 });
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const small = fc.nat({ max: 0xffff_ffff });
const id = fc.constant(0).map(() => newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, random));
const moveTo = maybe(fc.constant(0).map(() => newDeploymentId(1, random)));
const queue = text.map((lockKey) => vqueueId({ service: "S", scope: undefined, limitKey: undefined, lockKey }));
const kind = <T extends string>(...kinds: readonly T[]) => fc.constantFrom(...kinds);

const command: fc.Arbitrary<ManagementCommand> = fc.oneof(
  fc.record({ kind: kind("cancel", "kill", "pause", "purge", "purgeJournal"), id }),
  fc.record({ kind: kind("resume"), id, moveTo }),
  fc.record({ kind: kind("restartAsNew"), id, newId: id, from: small, moveTo, keepDeployment: fc.boolean() }),
  fc.record({
    kind: kind("mutateState"),
    id,
    service: text,
    key: text,
    exclusive: fc.boolean(),
    expectedVersion: maybe(text),
    entries: fc.array(fc.record({ key: bytes.map(toBinaryString), value: bytes })),
  }),
  fc.record({ kind: kind("pauseQueue", "resumeQueue"), id, queue }),
);

const PLAIN_KINDS = [
  "accepted",
  "done",
  "pending",
  "alreadyPaused",
  "notFound",
  "alreadyCompleted",
  "notRunning",
  "notStarted",
  "stillRunning",
  "deploymentNotPinned",
  "notCompleted",
  "journalGone",
  "versionMismatch",
  "tooManyPauses",
] as const;
/** As it is read from its stored form, which is a part of the answer. */
const invocation = arbitraryInvocation.map((value) => decodeInvocation(encodeInvocation(value)));
const answer: fc.Arbitrary<CommandAnswer> = fc.oneof(
  fc.record({ kind: kind(...PLAIN_KINDS) }),
  fc.record({ kind: kind("notRestartable"), reason: kind("workflow", "incompletePrefix") }),
  fc.record({ kind: kind("previouslyAccepted"), invocation }),
);

const failure: fc.Arbitrary<FailedOutcome> = fc.record({
  kind: kind("failure"),
  failure: fc.record({ code: small, message: text, metadata: fc.array(fc.record({ key: text, value: text })) }),
  stacktrace: maybe(text),
});

function keeps<T>(values: fc.Arbitrary<T>, ...ways: readonly ((value: T) => unknown)[]): void {
  fc.assert(
    fc.property(values, (value) => {
      for (const way of ways) expect(way(value)).toEqual(value);
    }),
    { numRuns: 200 },
  );
}

describe("both forms keep", () => {
  test("management commands", () => {
    keeps(
      command,
      (value) => decodeManagementCommand(encodeManagementCommand(value)),
      (value) => decodeCommandV01(encodeCommandV01(value)),
    );
  });

  test("answers", () => {
    keeps(
      answer,
      (value) => decodeAnswer(encodeAnswer(value)),
      (value) => decodeAnswerV01(encodeAnswerV01(value)),
    );
  });

  test("failures", () => {
    keeps(
      failure,
      (value) => decodeFailure(encodeFailure(value)),
      (value) => decodeFailureV01(encodeFailureV01(value)),
    );
  });
});

const [anId] = fc.sample(id, 1);
const jsonCommand = (value: unknown) => tagged(2, toJson(value));

describe("a fork", () => {
  const edits = fc.record({
    editedSteps: fc.array(small, { maxLength: 3 }),
    replaced: fc.array(fc.record({ index: small, body: bytes }), { maxLength: 3 }),
    added: fc.array(fc.record({ type: small, body: bytes }), { maxLength: 3 }),
  });
  const fork: fc.Arbitrary<ManagementCommand> = fc.record({
    kind: kind("restartAsNew"),
    id,
    newId: id,
    from: small,
    moveTo,
    keepDeployment: fc.boolean(),
    fork: edits,
  });

  test("keeps its edits on its way", () => {
    fc.assert(fc.property(fork, (value) => expect(decodeManagementCommand(encodeManagementCommand(value))).toEqual(value)));
  });

  test("is not sent to a process of v0.1, which would restart without the edits", () => {
    const [value] = fc.sample(fork, 1);
    expect(() => encodeCommandV01(value as ManagementCommand)).toThrow("[OPS0003]");
  });
});

describe("a leader refuses", () => {
  test.each([
    ["a command that only the leader itself makes", { kind: "admit", id: anId, buckets: [] }],
    ["a report of an attempt", { kind: "end", id: anId, run: 1 }],
    ["an id that is none", { kind: "cancel", id: "inv_1" }],
    ["no id", { kind: "cancel" }],
    ["a number where an id belongs", { kind: "resume", id: anId, moveTo: 5 }],
    ["the id of a copy that is none", { kind: "restartAsNew", id: anId, newId: "x", from: 0, keepDeployment: false }],
    ["an index that is none", { kind: "restartAsNew", id: anId, newId: anId, from: -1, keepDeployment: false }],
    ["a state that is not a list", { kind: "mutateState", id: anId, service: "S", key: "", exclusive: true, entries: 1 }],
    ["a value that is not bytes", { kind: "mutateState", id: anId, service: "S", key: "", entries: [{ key: "a", value: "b" }] }],
    ["a queue that is none", { kind: "pauseQueue", id: anId, queue: "q" }],
    ["a text", "cancel"],
    ["nothing", null],
  ])("%s, in the form of v0.1", (_what, value) => {
    expect(() => decodeCommandV01(jsonCommand(value))).toThrow("[OPS0003]");
  });

  test("bytes that are no JSON, and a form that it does not have", () => {
    expect(() => decodeCommandV01(tagged(2, utf8("{")))).toThrow("[OPS0003]");
    expect(() => decodeCommandV01(tagged(3, utf8("{}")))).toThrow("[OPS0003]");
    expect(() => decodeStoredCommand(new Uint8Array(0))).toThrow("[OPS0003]");
  });

  test("a message without an operation, and one of a later release", () => {
    expect(() => decodeManagementCommand(new Uint8Array(0))).toThrow("[OPS0003]");
    // Field 15, a message without fields.
    const later = [...encodeManagementCommand({ kind: "cancel", id: anId as never }).subarray(0, -2), 0x7a, 0];
    expect(() => decodeManagementCommand(Uint8Array.from(later))).toThrow("the operation of a command");
  });

  test("another command where it expects an invocation", () => {
    expect(() => decodeInvoke(encodeStoredCommand({ kind: "kill", id: anId as never }))).toThrow("an invoke command");
  });
});

describe("a client refuses", () => {
  test.each([
    ["an answer of a later release", { kind: "ignored" }],
    ["an invocation that is not bytes", { kind: "previouslyAccepted", invocation: {} }],
    ["a reason of a later release", { kind: "notRestartable", reason: "moon" }],
    ["a list", []],
  ])("%s, in the form of v0.1", (_what, value) => {
    expect(() => decodeAnswerV01(toJson(value))).toThrow("[OPS0003]");
  });

  test("an answer of a later release", () => {
    expect(() => decodeAnswer(Uint8Array.of(0x08, 99))).toThrow("the answer of a command");
    expect(() => decodeAnswer(Uint8Array.of(0x7a, 0))).toThrow("the answer of a command");
  });

  test("a failure without a code, and an outcome in a form that it does not have", () => {
    expect(() => decodeFailureV01(tagged(1, toJson({ failure: { message: "m" } })))).toThrow("[OPS0003]");
    expect(() => decodeFailureV01(tagged(1, toJson({})))).toThrow("[OPS0003]");
    expect(() => decodeFailureV01(tagged(7, toJson({})))).toThrow("the form of an outcome");
  });
});
