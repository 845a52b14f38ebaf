import { describe, expect, test } from "@jest/globals";
import { PerdureError, silentLogger } from "@perdure/base";
import type { StoredDataSet } from "@perdure/metadata";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { MISMATCH_CHECK_MS, RECORD_CHECK_MS } from "../limits.js";
import { DataSetGuard } from "./guard.js";

const established = (id: string): StoredDataSet => ({
  id,
  state: "established",
  partitionCount: 2,
  epochBase: 0,
  incarnations: [],
  accepted: [],
  version: 1,
});

function world(isRecorded = true) {
  const clock = new VirtualClock();
  const changes: boolean[] = [];
  const state: { record: StoredDataSet | undefined | "away"; reads: number } = { record: established("ours"), reads: 0 };
  const readRecord = async (): Promise<StoredDataSet | undefined> => {
    state.reads++;
    if (state.record === "away") throw new PerdureError("STO0001", "PostgreSQL is away");
    return state.record;
  };
  const ports = { readRecord, clock, random: new SeededRandom(1), logger: silentLogger };
  const guard = new DataSetGuard(ports, 2, "ours", isRecorded);
  guard.onChange((isMismatched) => void changes.push(isMismatched));
  const pass = async (ms: number): Promise<void> => {
    clock.advanceBy(ms);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return { guard, changes, state, pass };
}

describe("the guard of a data set", () => {
  test("refuses when one mark of a poll is missing or different, and allows again when all of a poll are right", () => {
    const { guard, changes } = world();
    guard.onMarks(["ours", "ours"]);
    expect(changes).toEqual([]);
    guard.onMarks(["ours", undefined]);
    guard.onMarks(["theirs", "ours"]);
    expect(changes).toEqual([true]);
    guard.onMarks(["ours"]);
    expect(guard.isMismatched).toBe(true);
    guard.onMarks(["ours", "ours"]);
    expect(changes).toEqual([true, false]);
  });

  test("adopts the mark of the record when the loss was accepted, and allows leadership when the partitions have it", async () => {
    const { guard, changes, state, pass } = world();
    guard.onMarks([undefined, undefined]);
    state.record = { ...established("new"), state: "replacing" };
    await pass(MISMATCH_CHECK_MS);
    guard.onMarks(["new", "new"]);
    expect(guard.id).toBe("ours");
    state.record = established("new");
    await pass(MISMATCH_CHECK_MS);
    expect(guard.id).toBe("new");
    guard.onMarks(["new", "new"]);
    expect(changes).toEqual([true, false]);
  });

  test("finds another record, or none, from time to time, while the partitions are unchanged", async () => {
    const { guard, changes, state, pass } = world();
    state.record = undefined;
    await pass(RECORD_CHECK_MS);
    expect(changes).toEqual([true]);
    guard.onMarks(["ours", "ours"]);
    expect(guard.isMismatched).toBe(true);
    state.record = established("ours");
    await pass(MISMATCH_CHECK_MS);
    guard.onMarks(["ours", "ours"]);
    expect(changes).toEqual([true, false]);
  });

  test("continues with the last record while PostgreSQL is unreachable, and reads soon what it could not at first", async () => {
    const { guard, changes, state, pass } = world(false);
    state.record = "away";
    await pass(MISMATCH_CHECK_MS);
    expect(state.reads).toBe(1);
    guard.onMarks(["ours", "ours"]);
    expect(changes).toEqual([]);
    state.record = established("theirs");
    await pass(RECORD_CHECK_MS);
    expect(changes).toEqual([true]);
    guard.onMarks(["ours", "ours"]);
    expect(guard.isMismatched).toBe(true);
    await guard[Symbol.asyncDispose]();
    const { reads } = state;
    await pass(RECORD_CHECK_MS);
    expect(state.reads).toBe(reads);
  });
});
