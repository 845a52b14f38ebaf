/** Records of undo as a leader keeps them: bounded, stored with the change, and there for the next leader. */
import { expect, test } from "@jest/globals";
import type { InvocationId, OperationId } from "@perdure/base";
import type { Mutation, UndoRecord } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { UndoLog } from "../view/overlay.js";
import { StoredUndo } from "./stored-undo.js";

const OPERATION = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;

class States {
  readonly rows = new Map<string, Uint8Array>();
  state(service: string, key: string, stateKey: string): Uint8Array | undefined {
    return this.rows.get(`${service} ${key} ${stateKey}`);
  }
  mutate(mutation: Mutation): void {
    if (mutation.kind === "putState") this.rows.set(`${mutation.service} ${mutation.key} ${mutation.stateKey}`, mutation.value);
    if (mutation.kind === "deleteState") this.rows.delete(`${mutation.service} ${mutation.key} ${mutation.stateKey}`);
  }
  /** Notes as a new leader reads them. */
  notes(): ReadonlyMap<string, Uint8Array> {
    const prefix = ":undo notes ";
    return new Map(
      [...this.rows].filter(([name]) => name.startsWith(prefix)).map(([name, row]) => [name.slice(prefix.length), row]),
    );
  }
}

function setup(bytesMax = 100_000, keepsPurged = true) {
  const states = new States();
  const log = new UndoLog();
  const counters = { undoDropped: 0 };
  const options = { bytesMax, keepsPurged, counters };
  const undo = new StoredUndo(states, log, new Map(), options);
  const accept = (): void => {
    log.clear();
    undo.accept();
  };
  const takeBack = (): void => {
    log.rollBack();
    undo.takeBack();
  };
  return { states, log, counters, options, undo, accept, takeBack };
}

function recordOf(id: InvocationId, bytes = 1_000): UndoRecord {
  const body = new Uint8Array(bytes);
  const invocation = anInvocation("suspended", { facts: someFacts({ id }) });
  return { invocation, journal: [{ type: 0x0400, body, appendedAtMs: 1 }], state: [], promises: [] };
}

const noteOf = (id: InvocationId, untilMs = 1_000) => {
  return { id, operation: OPERATION, kind: "ended", untilMs, generation: undefined } as const;
};

test("a new leader finds the notes, the records and what arrived since", () => {
  const { states, log, options, undo } = setup();
  undo.put(noteOf(anId(1)), recordOf(anId(1)), 0);
  const deferred = { type: 0x8002, body: new Uint8Array([1]), appendedAtMs: 5 };
  undo.defer(undo.notesOf(anId(1))[0] as never, deferred);
  const next = new StoredUndo(states, log, states.notes(), options);
  const [note] = next.notesOf(anId(1));
  expect(note).toMatchObject({ ...noteOf(anId(1)), deferredCount: 1, isUndone: false });
  expect(next.record(note as never)?.invocation.facts.id).toBe(anId(1));
  expect(next.deferred(note as never, 0)).toEqual(deferred);
});

test("the oldest records are dropped when all exceed the bound, and counted", () => {
  const { states, counters, undo, accept } = setup(5_000);
  for (let n = 1; n <= 5; n++) {
    undo.put(noteOf(anId(n)), recordOf(anId(n)), 0);
    accept();
  }
  const kept = [1, 2, 3, 4, 5].filter((n) => undo.note(anId(n), OPERATION) !== undefined);
  expect(kept).toEqual([3, 4, 5]);
  expect(counters.undoDropped).toBe(2);
  expect(states.rows.size).toBe(6);
});

test("a record that exceeds the bound alone is not kept, and one that cannot take a notification is dropped", () => {
  const { states, counters, undo, accept } = setup(5_000);
  undo.put(noteOf(anId(1)), recordOf(anId(1), 6_000), 0);
  accept();
  expect([undo.isEmpty, counters.undoDropped]).toEqual([true, 1]);
  undo.put(noteOf(anId(2)), recordOf(anId(2)), 0);
  undo.defer(undo.note(anId(2), OPERATION) as never, { type: 0x8002, body: new Uint8Array(6_000), appendedAtMs: 1 });
  accept();
  expect([undo.isEmpty, states.rows.size, counters.undoDropped]).toEqual([true, 0, 2]);
});

test("a record that can never fit deletes no others", () => {
  const { counters, undo, accept } = setup(5_000);
  undo.put(noteOf(anId(1)), recordOf(anId(1)), 0);
  undo.put(noteOf(anId(2)), recordOf(anId(2), 6_000), 0);
  accept();
  expect([undo.note(anId(1), OPERATION) !== undefined, counters.undoDropped]).toEqual([true, 1]);
});

test("what a command did is reverted with it", () => {
  const { log, undo } = setup(5_000);
  undo.put(noteOf(anId(1)), recordOf(anId(1)), 0);
  log.clear();
  undo.put(noteOf(anId(2)), recordOf(anId(2), 4_000), 0);
  expect(undo.note(anId(1), OPERATION)).toBeUndefined();
  log.rollBack();
  expect(undo.note(anId(1), OPERATION)).toBeDefined();
  expect(undo.note(anId(2), OPERATION)).toBeUndefined();
  for (let n = 3; n <= 4; n++) undo.put(noteOf(anId(n)), recordOf(anId(n)), 0);
  expect(undo.note(anId(1), OPERATION)).toBeDefined(); // The sum of bytes was reverted too.
});

test("records that a command dropped are counted once, although the command is applied again", () => {
  const { counters, undo, accept, takeBack } = setup(5_000);
  undo.put(noteOf(anId(1)), recordOf(anId(1)), 0);
  accept();
  for (const end of [takeBack, takeBack, accept]) {
    undo.put(noteOf(anId(2)), recordOf(anId(2), 4_000), 0);
    undo.put(noteOf(anId(3)), recordOf(anId(3), 6_000), 0);
    end();
  }
  expect(counters.undoDropped).toBe(2);
});

test("the oldest records are the first to go also after a command that dropped them was reverted", () => {
  const { undo, accept, takeBack } = setup(5_000);
  for (let n = 1; n <= 3; n++) undo.put(noteOf(anId(n), n * 1_000), recordOf(anId(n)), 0);
  accept();
  undo.put(noteOf(anId(4), 4_000), recordOf(anId(4), 4_000), 0);
  takeBack();
  expect(undo.expired(1_000)?.id).toBe(anId(1));
  undo.put(noteOf(anId(5), 5_000), recordOf(anId(5)), 0);
  accept();
  const kept = [1, 2, 3, 4, 5].filter((n) => undo.note(anId(n), OPERATION) !== undefined);
  expect(kept).toEqual([2, 3, 5]);
});

test("a window that ends late does not hide those that end before it", () => {
  const { undo, accept } = setup();
  const other = "op_15ChR1PDwZt22Rn2lfZrRo6" as OperationId;
  undo.put(noteOf(anId(1), 1_000), recordOf(anId(1)), 0);
  undo.put({ ...noteOf(anId(1), 9_000), operation: other }, recordOf(anId(1)), 0);
  undo.put(noteOf(anId(2), 2_000), recordOf(anId(2)), 0);
  accept();
  undo.dropExpired(2_000);
  accept();
  expect([undo.note(anId(1), OPERATION), undo.note(anId(2), OPERATION)]).toEqual([undefined, undefined]);
  expect(undo.note(anId(1), other)).toBeDefined();
});

test("many notes that come and go leave nothing behind", () => {
  const { states, undo, accept } = setup();
  for (let n = 1; n <= 5_000; n++) {
    undo.put(noteOf(anId(n), n), recordOf(anId(n), 10), n - 1);
    accept();
  }
  expect([undo.isEmpty, undo.expired(4_999), undo.expired(5_000)?.id]).toEqual([false, undefined, anId(5_000)]);
  undo.dropExpired(5_000);
  expect([undo.isEmpty, states.rows.size]).toEqual([true, 0]);
});

test("where undo is off now, nothing is added, and what former leaders stored ends at once", () => {
  const { states, log, options, undo } = setup();
  for (let n = 1; n <= 3; n++) undo.put(noteOf(anId(n)), recordOf(anId(n)), 0);
  const next = new StoredUndo(states, log, states.notes(), { ...options, bytesMax: 0 });
  next.put(noteOf(anId(4)), recordOf(anId(4)), 0);
  expect([next.keepsNew, next.note(anId(4), OPERATION), next.expired(0)?.id]).toEqual([false, undefined, anId(1)]);
  next.dropExpired(0);
  next.accept();
  expect([next.isEmpty, states.rows.size, options.counters.undoDropped]).toEqual([true, 0, 0]);
});

test("records whose time is over are deleted with their rows; a note of an undo stays until then", () => {
  const { states, undo } = setup();
  undo.put(noteOf(anId(1), 1_000), recordOf(anId(1)), 0);
  undo.put(noteOf(anId(2), 2_000), recordOf(anId(2)), 0);
  undo.markUndone(undo.note(anId(1), OPERATION) as never);
  expect(undo.note(anId(1), OPERATION)?.isUndone).toBe(true);
  expect(states.rows.size).toBe(3);
  expect(undo.expired(999)).toBeUndefined();
  undo.dropExpired(1_000);
  expect([undo.note(anId(1), OPERATION), undo.note(anId(2), OPERATION)?.id]).toEqual([undefined, anId(2)]);
  undo.dropExpired(2_000);
  expect(states.rows.size).toBe(0);
});

test("purged invocations are not kept where an archive would delete them after the undo", () => {
  const { undo } = setup(100_000, false);
  undo.put({ ...noteOf(anId(1)), kind: "purged" }, recordOf(anId(1)), 0);
  expect(undo.isEmpty).toBe(true);
});
