import { describe, expect, test } from "@jest/globals";
import { EMPTY_BYTES, utf8 } from "@perdure/base";
import {
  cancelSignalId,
  commandTypeOf,
  decodeCommand,
  decodeNotification,
  encodeCommand,
  encodeCompletion,
  encodeNotification,
  type JournalCommand,
  MessageType,
  type NotificationResult,
  voidResult,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { type EditedResult, firstPendingStep, forkEditsOf } from "./edits.js";

const command = (value: JournalCommand): JournalEntry => ({
  type: commandTypeOf[value.kind],
  body: encodeCommand(value),
  appendedAtMs: 0,
});
const completion = (type: number, id: number, result: NotificationResult): JournalEntry => ({
  type,
  body: encodeCompletion(id, result),
  appendedAtMs: 0,
});
const name = "";
const stateKey = utf8("k");
const text = (value: string): EditedResult => ({ kind: "value", value: utf8(value) });
const NONE: EditedResult = { kind: "void" };
const FAILED: EditedResult = { kind: "failure", failure: { code: 500, message: "no", metadata: [] } };

const JOURNAL: readonly JournalEntry[] = [
  command({ kind: "input", headers: [{ key: "a", value: "b" }], value: utf8("1"), name }),
  command({ kind: "run", resultCompletionId: 1, name: "charge" }),
  completion(MessageType.RunCompletion, 1, { kind: "value", value: utf8("true") }),
  command({ kind: "getEagerState", stateKey, result: { kind: "value", value: utf8("7") }, name }),
  command({ kind: "setState", stateKey, value: utf8("8"), name }),
  command({ kind: "sleep", wakeUpTimeMs: 9, resultCompletionId: 2, name }),
  { type: MessageType.Signal, body: encodeNotification({ kind: "signalIndex", index: 17 }, voidResult), appendedAtMs: 0 },
  { type: MessageType.Signal, body: encodeNotification(cancelSignalId, voidResult), appendedAtMs: 0 },
  command({ kind: "getLazyState", stateKey, resultCompletionId: 3, name }),
  command({ kind: "getLazyStateKeys", resultCompletionId: 4, name }),
  command({ kind: "getPromise", key: "p", resultCompletionId: 5, name }),
];
const LAST = JOURNAL.length - 1;

const one = (step: number, result: EditedResult, at = LAST) => {
  const outcome = forkEditsOf(JOURNAL, at, [{ step, result }]);
  return outcome.ok ? outcome.edits : outcome.problem;
};

describe("an edit", () => {
  test("of a step replaces its completion, which has another number", () => {
    const body = encodeCompletion(1, { kind: "value", value: utf8("false") });
    expect(one(1, text("false"))).toEqual({ editedSteps: [1], replaced: [{ index: 2, body }], added: [] });
    expect(one(1, FAILED)).toMatchObject({ replaced: [{ index: 2 }] });
  });

  test("of a step that waits adds its completion, of the type of its command", () => {
    const added = [{ type: MessageType.SleepCompletion, body: encodeCompletion(2, voidResult) }];
    expect(one(5, NONE)).toEqual({ editedSteps: [5], replaced: [], added });
    expect(one(10, text('"v"'))).toMatchObject({ added: [{ type: MessageType.GetPromiseCompletion }] });
    expect(one(8, NONE)).toMatchObject({ added: [{ type: MessageType.GetLazyStateCompletion }] });
  });

  test("of a result that the command contains replaces the command, and keeps the rest of it", () => {
    const [input, state] = [one(0, text("2")), one(3, NONE)];
    if (typeof input === "string" || typeof state === "string") throw new Error("refused");
    expect(decodeCommand(MessageType.Input, input.replaced[0]?.body ?? EMPTY_BYTES)).toEqual({
      kind: "input",
      headers: [{ key: "a", value: "b" }],
      value: utf8("2"),
      name,
    });
    expect(decodeCommand(MessageType.GetEagerState, state.replaced[0]?.body ?? EMPTY_BYTES)).toMatchObject({ result: NONE });
  });

  test("of a signal, such as an awakeable, replaces it under its id", () => {
    const edits = one(6, text('"yes"'));
    if (typeof edits === "string") throw new Error(edits);
    expect(decodeNotification(MessageType.Signal, edits.replaced[0]?.body ?? EMPTY_BYTES)).toMatchObject({
      id: { kind: "signalIndex", index: 17 },
      result: { kind: "value", value: utf8('"yes"') },
    });
  });

  test("of the keys of a state are a list of texts", () => {
    const edits = one(9, text('["a","b"]'));
    if (typeof edits === "string") throw new Error(edits);
    expect(decodeNotification(MessageType.GetLazyStateKeysCompletion, edits.added[0]?.body ?? EMPTY_BYTES)).toMatchObject({
      result: { kind: "stateKeys", stateKeys: [utf8("a"), utf8("b")] },
    });
  });

  test.each<[what: string, step: number, result: EditedResult, problem: RegExp]>([
    ["a value for a sleep", 5, text("1"), /^Entry 5 \(Sleep\) is a sleep/],
    ["no value for a step", 1, NONE, /^Entry 1 \(Run 'charge'\) ends with a value or a failure/],
    ["a failure for a state", 3, FAILED, /cannot fail/],
    ["a failure for a state that was read later", 8, FAILED, /cannot fail/],
    ["a failure for the input", 0, FAILED, /can only be another value/],
    ["a command without a result", 4, text("1"), /\(SetState\) has no result/],
    ["the result instead of its step", 2, text("1"), /is the result of entry 1: name that entry/],
    ["a cancellation", 7, NONE, /is a cancellation/],
    ["keys that are no list", 9, text('{"a":1}'), /JSON array of strings/],
    ["an entry that does not exist", 11, NONE, /There is no entry 11: the journal ends with 10/],
  ])("is refused with its reason: %s", (_what, step, result, problem) => {
    expect(one(step, result)).toMatch(problem);
  });

  test("is refused behind the cut, and twice for one entry", () => {
    expect(one(5, NONE, 4)).toMatch(/Entry 5 is not kept: the fork keeps the entries up to 4/);
    const twice = { step: 1, result: text("1") };
    expect(forkEditsOf(JOURNAL, LAST, [twice, { step: 5, result: NONE }, twice])).toEqual({
      ok: false,
      problem: "Entry 1 is edited twice.",
    });
  });
});

test("the first step without a result is named", () => {
  expect(firstPendingStep(JOURNAL, LAST)).toBe("entry 5 (Sleep)");
  expect(firstPendingStep(JOURNAL, 4)).toBeUndefined();
});
