import { expect, test } from "@jest/globals";
import { type HistoryEntry, readHistory, remembered, type TextStorage, writeHistory } from "./history.js";
import { HISTORY_BODY_CHARS_MAX, HISTORY_MAX } from "./limits.js";

const entry = (atMs: number, body = "5"): HistoryEntry => ({
  service: "Stock",
  handler: "take",
  key: "lamp",
  way: "call",
  body,
  idempotencyKey: "",
  scope: "",
  limitKey: "",
  priority: "",
  delay: "",
  contentType: "",
  atMs,
  invocationId: "inv_1",
  isFailure: false,
});

function storageOf(capacity = Number.POSITIVE_INFINITY): TextStorage {
  const texts = new Map<string, string>();
  return {
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => {
      if (text.length > capacity) throw new DOMException("full", "QuotaExceededError");
      texts.set(name, text);
    },
    removeItem: (name) => texts.delete(name),
  };
}

test("the newest calls are kept, by environment", () => {
  let history: readonly HistoryEntry[] = [];
  for (let i = 0; i < HISTORY_MAX + 5; i++) history = remembered(history, entry(i));
  const storage = storageOf();
  writeHistory(storage, "env_1", history);
  expect(readHistory(storage, "env_1").map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: HISTORY_MAX }, (_, i) => HISTORY_MAX + 4 - i),
  );
  expect(readHistory(storage, "env_2")).toEqual([]);
});

test("a body that is too long is not remembered", () => {
  expect(remembered([], entry(1, "x".repeat(HISTORY_BODY_CHARS_MAX + 1)))[0]?.body).toBe("");
});

test("invalid records are dropped, and so are those beyond the storage's quota", () => {
  const storage = storageOf();
  for (const text of ["{", "[{}]", '"x"']) {
    storage.setItem("perdure.playground.e", text);
    expect(readHistory(storage, "e")).toEqual([]);
  }
  const narrow = storageOf(10);
  writeHistory(narrow, "e", [entry(1)]);
  expect(readHistory(narrow, "e")).toEqual([]);
});
