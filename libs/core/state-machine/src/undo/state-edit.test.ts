/** An edit of state is undone entry by entry, never over what was written since, and once. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, type OperationId, utf8 } from "@perdure/base";
import type { MutateState, UndoMark } from "../command.js";
import type { UndoAnswer } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import { anId, endOf, invokeOf, MemoryPartition, objectTarget, outputOf, setStateOf, someFacts } from "../testing/index.js";

const EDIT = anId(99);
const HOLDER = anId(1);
const OPERATION = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;
const mark: UndoMark = { operation: OPERATION, untilMs: 600_000 };

/** `a=1 b=2` as entries. */
const entriesOf = (text: string): MutateState["entries"] =>
  text.split(" ").flatMap((pair) => {
    const [key = "", value = ""] = pair.split("=");
    return key === "" ? [] : [{ key, value: utf8(value) }];
  });
const editOf = (text: string, undo: UndoMark | undefined = mark, change: Partial<MutateState> = {}): MutateState => ({
  kind: "mutateState",
  id: EDIT,
  service: "O",
  key: "k",
  exclusive: true,
  expectedVersion: undefined,
  entries: entriesOf(text),
  undo,
  ...change,
});
const stateOf = (partition: MemoryPartition): string =>
  [...partition.stateOf("O", "k")]
    .map(([key, value]) => `${key}=${Buffer.from(value)}`)
    .sort()
    .join(" ");

function edited(partition: MemoryPartition, command: MutateState): string | undefined {
  const [effect] = partition.play(command).effects.filter(({ kind }) => kind === "reply");
  return effect?.kind === "reply" ? effect.answer.kind : undefined;
}

function undone(partition: MemoryPartition): [UndoAnswer["result"], boolean] {
  const { effects } = partition.play({ kind: "undo", id: EDIT, operation: OPERATION, sink: undefined });
  expect(brokenInvariants(partition.snapshot())).toEqual([]);
  const [answer] = effects.flatMap((effect) => (effect.kind === "reply" && effect.answer.kind === "undo" ? [effect.answer] : []));
  return [answer?.result ?? "notKept", answer?.isWaiting === true];
}

/** The state before, without an undo. */
function withState(text: string): MemoryPartition {
  const partition = new MemoryPartition();
  edited(partition, { ...editOf(text, undefined), id: anId(98) });
  return partition;
}

const hold = (partition: MemoryPartition, id: InvocationId = HOLDER) =>
  partition.play(invokeOf(someFacts({ id, target: objectTarget("k") })));
function release(partition: MemoryPartition, id: InvocationId = HOLDER): void {
  partition.play(outputOf(id, 1, "out"));
  partition.play(endOf(id, 1));
}

describe("an edit that was applied", () => {
  test.each([
    ["changed, added and removed entries", "a=1 b=2 c=3", "a=1 b=20 d=4"],
    ["a cleared state", "a=1 b=2", ""],
    ["the first state of a key", "", "a=1"],
    ["an entry that became empty", "a=1", "a="],
  ])("is undone: %s", (_, before, after) => {
    const partition = withState(before);
    expect(edited(partition, editOf(after))).toBe("done");
    expect(stateOf(partition)).toBe(after);
    expect(undone(partition)).toEqual(["undone", false]);
    expect(stateOf(partition)).toBe(before);
    expect(undone(partition)).toEqual(["alreadyUndone", false]);
    expect(edited(partition, editOf(after))).toBe("done"); // A late repetition of the edit.
    expect(stateOf(partition)).toBe(before);
  });

  test("keeps entries that others wrote since, and is refused as a whole when they wrote one of its own", () => {
    const partition = withState("a=1 b=2");
    edited(partition, editOf("a=10 b=20"));
    hold(partition);
    partition.play(setStateOf(HOLDER, 1, "count", "7"));
    release(partition);
    expect(undone(partition)).toEqual(["undone", false]);
    expect(stateOf(partition)).toBe("a=1 b=2 count=7");

    const other = withState("a=1 b=2");
    edited(other, editOf("a=10 b=20"));
    hold(other);
    other.play(setStateOf(HOLDER, 1, "a", "11"));
    release(other);
    expect(undone(other)).toEqual(["conflict", false]);
    expect(stateOf(other)).toBe("a=11 b=20");
  });

  test("is not applied again by a repetition of its command after another edit", () => {
    const partition = withState("a=1");
    edited(partition, editOf("a=2"));
    edited(partition, { ...editOf("a=3", undefined), id: anId(97) });
    expect(edited(partition, editOf("a=2"))).toBe("done");
    expect(stateOf(partition)).toBe("a=3");
  });

  test("cannot be undone when its time is over, or when the state was not at the version", () => {
    const partition = withState("a=1");
    expect(edited(partition, editOf("a=2", mark, { expectedVersion: "another" }))).toBe("versionMismatch");
    expect(undone(partition)).toEqual(["notKept", false]);
    edited(partition, editOf("a=2"));
    partition.nowMs = mark.untilMs;
    expect(undone(partition)).toEqual(["expired", false]);
    expect(stateOf(partition)).toBe("a=2");
  });

  test("of state that expired since is not undone over the new state", () => {
    const partition = new MemoryPartition();
    partition.serviceTtls.set("O", 5_000);
    edited(partition, { ...editOf("a=1", undefined), id: anId(98) });
    edited(partition, editOf("a=2"));
    partition.nowMs += 5_000;
    expect(undone(partition)).toEqual(["conflict", false]);
    expect(stateOf(partition)).toBe("");
  });

  test("of a workflow's key is undone at once, also while its run has not ended", () => {
    const partition = new MemoryPartition();
    edited(partition, { ...editOf("a=1", undefined, { exclusive: false }), id: anId(98) });
    edited(partition, editOf("a=2", mark, { exclusive: false }));
    expect(undone(partition)).toEqual(["undone", false]);
    expect(stateOf(partition)).toBe("a=1");
  });
});

describe("while a handler holds the object", () => {
  test("an edit that waits is withdrawn", () => {
    const partition = withState("a=1");
    hold(partition);
    expect(edited(partition, editOf("a=2"))).toBe("pending");
    expect(edited(partition, editOf("a=2"))).toBe("done"); // Repeated: it waits once.
    expect(partition.inboxes.size).toBe(1);
    expect(undone(partition)).toEqual(["undone", false]);
    expect(partition.inboxes.size).toBe(0);
    release(partition);
    expect(stateOf(partition)).toBe("a=1");
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("an edit that waited is undone after it was applied", () => {
    const partition = withState("a=1");
    hold(partition);
    edited(partition, editOf("a=2"));
    partition.play(setStateOf(HOLDER, 1, "a", "5"));
    release(partition);
    expect(stateOf(partition)).toBe("a=2");
    expect(undone(partition)).toEqual(["undone", false]);
    expect(stateOf(partition)).toBe("a=5");
  });

  test("the undo waits behind the handler and those before it, once", () => {
    const partition = withState("a=1");
    edited(partition, editOf("a=2"));
    hold(partition);
    hold(partition, anId(2));
    expect(undone(partition)).toEqual(["undone", true]);
    expect(undone(partition)).toEqual(["alreadyUndone", false]);
    release(partition);
    expect([stateOf(partition), partition.lock("O", "k")?.holder]).toEqual(["a=2", anId(2)]);
    release(partition, anId(2));
    expect([stateOf(partition), partition.inboxes.size]).toEqual(["a=1", 0]);
  });

  test("an undo that waits does not overwrite what the handler writes", () => {
    const partition = withState("a=1 b=1");
    edited(partition, editOf("a=2 b=2"));
    hold(partition);
    expect(undone(partition)).toEqual(["undone", true]);
    partition.play(setStateOf(HOLDER, 1, "a", "3"));
    release(partition);
    expect(stateOf(partition)).toBe("a=3 b=2");
  });
});
