import { expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import { encodeCommand, encodeCompletion, type JournalCommand, MessageType, voidResult } from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { startState } from "./start-state.js";

const of = (type: number, fields: JournalCommand): JournalEntry => ({ type, body: encodeCommand(fields), appendedAtMs: 0 });
const reads = (key: string, value: string | undefined): JournalEntry =>
  of(MessageType.GetEagerState, {
    kind: "getEagerState",
    stateKey: utf8(key),
    result: value === undefined ? voidResult : { kind: "value", value: utf8(value) },
    name: "",
  });
const writes = (key: string, value: string): JournalEntry =>
  of(MessageType.SetState, { kind: "setState", stateKey: utf8(key), value: utf8(value), name: "" });
const lazily = (key: string, id: number, value: string): readonly JournalEntry[] => [
  of(MessageType.GetLazyState, { kind: "getLazyState", stateKey: utf8(key), resultCompletionId: id, name: "" }),
  {
    type: MessageType.GetLazyStateCompletion,
    body: encodeCompletion(id, { kind: "value", value: utf8(value) }),
    appendedAtMs: 0,
  },
];

function stateOf(entries: readonly JournalEntry[], current?: Record<string, string>) {
  const now = current && new Map(Object.entries(current).map(([key, value]) => [key, utf8(value)]));
  const { values, isComplete } = startState(entries, now);
  return { values: Object.fromEntries([...values].map(([key, value]) => [key, fromUtf8(value)])), isComplete };
}

test("values that were read before they were written are those of the start", () => {
  const entries = [reads("a", "1"), writes("a", "2"), reads("a", "2"), ...lazily("b", 1, "3"), writes("b", "4")];
  expect(stateOf(entries)).toEqual({ values: { a: "1", b: "3" }, isComplete: false });
});

test("the present state has what the handler has not written", () => {
  const entries = [reads("a", "1"), writes("a", "2"), writes("new", "x"), reads("gone", undefined)];
  expect(stateOf(entries, { a: "2", new: "x", other: "y" })).toEqual({ values: { a: "1", other: "y" }, isComplete: true });
});

test("after all state was cleared its beginning is not known", () => {
  const cleared = of(MessageType.ClearAllState, { kind: "clearAllState", name: "" });
  expect(stateOf([reads("a", "1"), cleared, reads("b", "2")], {})).toEqual({ values: { a: "1" }, isComplete: false });
});
