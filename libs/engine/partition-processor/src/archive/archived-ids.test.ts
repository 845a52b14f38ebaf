import { expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import { anId } from "@perdure/state-machine/testing";
import { FINGERPRINTS_IN_CHUNK, FINGERPRINTS_KEPT_MS } from "../limits.js";
import { ArchivedIds, COMPLETE } from "./archived-ids.js";

const NOTHING = new Uint8Array();
const idsUpTo = (n: number, from = 0): InvocationId[] => Array.from({ length: n - from }, (_, i) => anId(from + i));

/** The rows that a store would hold. */
class Stored {
  readonly entries = new Map<string, Uint8Array>([[COMPLETE, NOTHING]]);
  written = 0;

  keep(ids: ArchivedIds): void {
    for (const [name, value] of ids.changed()) {
      this.entries.set(name, value);
      this.written++;
    }
  }
}

test("the stored fingerprints give the next leader the same ids, and no others", () => {
  const stored = new Stored();
  const ids = new ArchivedIds(stored.entries);
  const added = idsUpTo(3 * FINGERPRINTS_IN_CHUNK + 7);
  for (const [i, id] of added.entries()) {
    ids.add(id, 1_000);
    if (i % 500 === 0) stored.keep(ids);
  }
  stored.keep(ids);
  expect(stored.entries.size).toBe(1 + 4);
  for (const one of [ids, new ArchivedIds(stored.entries)]) {
    expect(added.filter((id) => !one.mayHave(id))).toEqual([]);
    expect(idsUpTo(50_000, 40_000).filter((id) => one.mayHave(id))).toEqual([]);
  }
});

test("the same ids again add no rows, in whichever chunk they are, also after the fingerprints were read back", () => {
  const stored = new Stored();
  const ids = new ArchivedIds(stored.entries);
  const all = idsUpTo(2 * FINGERPRINTS_IN_CHUNK + 10);
  for (const id of all) ids.add(id, 1_000);
  stored.keep(ids);
  expect(stored.written).toBe(3);
  for (const one of [ids, new ArchivedIds(stored.entries)]) {
    for (const id of all) one.add(id, 1_000);
    stored.keep(one);
  }
  expect(stored.written).toBe(3);
});

test("one key that is used again and again does not keep its neighbours", () => {
  const ids = new ArchivedIds(new Map([[COMPLETE, NOTHING]]));
  for (const id of idsUpTo(FINGERPRINTS_IN_CHUNK)) ids.add(id, 1_000);
  ids.add(anId(0), 9_000);
  expect(ids.expire(1_000 + FINGERPRINTS_KEPT_MS)).toEqual(["0"]);
  expect([ids.mayHave(anId(0)), ids.mayHave(anId(1))]).toEqual([true, false]);
});

test("a generation that is retained for longer keeps its fingerprint for longer", () => {
  const ids = new ArchivedIds(new Map([[COMPLETE, NOTHING]]));
  ids.add(anId(1), 1_000);
  ids.add(anId(1), 5_000);
  ids.add(anId(1), 1_000);
  expect(ids.expire(1_000 + FINGERPRINTS_KEPT_MS)).toEqual([]);
  expect(ids.mayHave(anId(1))).toBe(true);
  expect(ids.expire(5_000 + FINGERPRINTS_KEPT_MS)).toEqual(["0"]);
  expect(ids.mayHave(anId(1))).toBe(false);
});

test("chunks are deleted when the retention of all in them is over, and their names are not used again", () => {
  const stored = new Stored();
  const ids = new ArchivedIds(stored.entries);
  for (const id of idsUpTo(FINGERPRINTS_IN_CHUNK)) ids.add(id, 1_000);
  for (const id of idsUpTo(FINGERPRINTS_IN_CHUNK + 5, FINGERPRINTS_IN_CHUNK)) ids.add(id, 9_000);
  stored.keep(ids);
  const gone = ids.expire(1_000 + FINGERPRINTS_KEPT_MS);
  expect(gone).toEqual(["0"]);
  for (const name of gone) stored.entries.delete(name);
  for (const one of [ids, new ArchivedIds(stored.entries)]) {
    expect(one.mayHave(anId(0))).toBe(false);
    expect(one.mayHave(anId(FINGERPRINTS_IN_CHUNK))).toBe(true);
    one.add(anId(77), 9_000);
    expect([...one.changed()].map(([name]) => name)).toEqual(["1"]);
  }
});

test("until it is complete, it excludes no id", () => {
  const ids = new ArchivedIds(new Map());
  expect([ids.isComplete, ids.mayHave(anId(1))]).toEqual([false, true]);
  ids.complete();
  expect([ids.isComplete, ids.mayHave(anId(1))]).toEqual([true, false]);
});
