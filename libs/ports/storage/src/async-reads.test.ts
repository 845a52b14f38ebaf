import { describe, expect, test } from "@jest/globals";
import type { PartitionCommand, Target } from "@perdure/state-machine";
import { anId, anInvocation, objectTarget, plainTarget, someFacts, workflowTarget } from "@perdure/state-machine/testing";
import { type RowKey, rowName, rowsFor } from "./async-reads.js";

const id = anId(1);
const running = (target: Target) =>
  anInvocation("invoked", {
    facts: someFacts({ target }),
    journal: { length: 6, commands: 3, notifications: 3, outputIndex: 4, hasEvents: false },
  });
const invoke = (target: Target, change = {}): PartitionCommand => ({
  kind: "invoke",
  id,
  facts: someFacts({ target, ...change }),
  input: new Uint8Array(0),
  sink: undefined,
});
const itself: RowKey = { kind: "invocation", id };
const lock: RowKey = { kind: "lock", service: "O", key: "k" };

describe("the rows a command will read", () => {
  test("a random id submitted for the first time needs no row, one that may exist its own row", () => {
    expect(rowsFor(invoke(plainTarget))).toEqual([]);
    expect(rowsFor(invoke(plainTarget, { idempotencyKey: "i" }))).toEqual([itself]);
    expect(rowsFor(invoke(workflowTarget("k")))).toEqual([itself]);
  });

  test("an exclusive handler needs the lock of its key, unless it starts later", () => {
    expect(rowsFor(invoke(objectTarget("k")))).toEqual([lock]);
    expect(rowsFor(invoke(objectTarget("k"), { executionTimeMs: 5 }))).toEqual([]);
  });

  test("the end of a handler needs its output and its lock, and without retention all rows of a workflow", () => {
    const end: PartitionCommand = { kind: "end", id, run: 1 };
    expect(rowsFor(end)).toEqual([itself]);
    expect(rowsFor(end, running(objectTarget("k")))).toEqual([itself, { kind: "entry", id, index: 4 }, lock]);
    const workflow = anInvocation("invoked", { facts: someFacts({ target: workflowTarget("k"), completionRetentionMs: 0 }) });
    // The Output is in an earlier command.
    expect(rowsFor(end, workflow).map((row) => row.kind)).toEqual(["invocation", "stateOf", "promisesOf"]);
  });

  test("a journal command needs the rows that its action reads, under the keyspace of its target", () => {
    const append = (action: Extract<PartitionCommand, { kind: "appendCommand" }>["action"]): PartitionCommand => ({
      kind: "appendCommand",
      id,
      run: 1,
      type: 0x400,
      body: new Uint8Array(0),
      ackRequested: false,
      action,
    });
    const invocation = running(workflowTarget("k", "shared", "s"));
    expect(rowsFor(append({ kind: "getPromise", key: "p", completionId: 1 }), invocation)).toEqual([
      itself,
      { kind: "promise", service: "W@s", key: "k", name: "p" },
    ]);
    expect(rowsFor(append({ kind: "getLazyState", key: "x", completionId: 1 }), invocation)).toEqual([
      itself,
      { kind: "state", service: "W@s", key: "k", stateKey: "x" },
    ]);
    expect(rowsFor(append({ kind: "sleep", wakeUpAtMs: 1, completionId: 1 }), invocation)).toEqual([itself]);
  });

  test("a suspension needs the entries that its attempt has not received", () => {
    const awaiting = { completions: [], signalIndexes: [], signalNames: [], nested: [], combinator: "unknown" } as const;
    const suspend: PartitionCommand = { kind: "suspend", id, run: 1, awaiting, receivedNotificationCount: 1, satisfied: false };
    expect(rowsFor(suspend, running(plainTarget)).slice(1)).toEqual([
      { kind: "entry", id, index: 4 },
      { kind: "entry", id, index: 5 },
    ]);
    expect(rowsFor({ ...suspend, satisfied: true }, running(plainTarget))).toEqual([itself]);
  });

  test("killing needs the whole journal of an in-flight invocation, and no other journal", () => {
    expect(rowsFor({ kind: "kill", id }, running(plainTarget))).toEqual([itself, { kind: "journal", id }]);
    expect(rowsFor({ kind: "kill", id }, anInvocation("completed"))).toEqual([itself]);
  });
});

test("rows of awkward keys have separate names", () => {
  const rows: RowKey[] = [
    { kind: "state", service: "O", key: "a", stateKey: "b/c" },
    { kind: "state", service: "O", key: "a/b", stateKey: "c" },
    { kind: "promise", service: "O", key: "a", name: "b/c" },
    { kind: "stateOf", service: "O", key: "a" },
    { kind: "promisesOf", service: "O", key: "a" },
    { kind: "lock", service: "O", key: "a" },
    { kind: "inbox", service: "O", key: "1/a", seq: 1 },
    { kind: "inbox", service: "O", key: "a", seq: 11 },
    { kind: "entry", id, index: 1 },
    { kind: "entry", id, index: 11 },
    { kind: "journal", id },
    { kind: "invocation", id },
    { kind: "dedup", producer: "p" },
    { kind: "hasTimer", timer: { dueAtMs: 1, kind: "sleep", id, sequence: 1 } },
    { kind: "hasTimer", timer: { dueAtMs: 1, kind: "start", id, sequence: 1 } },
  ];
  expect(new Set(rows.map(rowName)).size).toBe(rows.length);
});
