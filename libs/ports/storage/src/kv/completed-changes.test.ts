import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { CompletedChanges } from "./completed-changes.js";
import { MemoryKeyValue, type RowBytes, rowOf } from "./key-value.js";

const keyOf = (n: number): string => `00c${String(n).padStart(33, "0")}`;
const row = (n: number): Uint8Array => Uint8Array.of(n);

/** Writes become visible, and end, when the test says so. */
class SlowKeyValue extends MemoryKeyValue {
  readonly begun: { readonly batch: ReadonlyMap<string, RowBytes | null>; isStored: boolean; readonly end: () => void }[] = [];

  override write(batch: ReadonlyMap<string, RowBytes | null>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.begun.push({ batch, isStored: false, end: resolve });
    return promise;
  }

  store(n: number): void {
    const write = this.begun[n % Math.max(this.begun.length, 1)];
    if (write === undefined || write.isStored) return;
    write.isStored = true;
    void super.write(write.batch);
  }

  async end(n: number): Promise<void> {
    const write = this.begun[n % Math.max(this.begun.length, 1)];
    if (write === undefined) return;
    this.store(this.begun.indexOf(write));
    this.begun.splice(this.begun.indexOf(write), 1);
    write.end();
    await Promise.resolve();
    await Promise.resolve();
  }
}

/** Keeps copies of rows as statements do. */
class Reader {
  #kept: { readonly rows: Map<string, Uint8Array>; readonly position: number } | undefined;
  #position: number | undefined;
  #snapshot: ReadonlyMap<string, Uint8Array> | undefined;
  /** Times at which only changed rows were read. */
  caughtUpCount = 0;

  begin(changes: CompletedChanges): void {
    this.#position = changes.position();
    this.#snapshot = undefined;
  }

  take(kv: MemoryKeyValue): void {
    if (this.#position !== undefined) this.#snapshot = new Map(kv.snapshot());
  }

  read(changes: CompletedChanges): void {
    const [position, snapshot, kept] = [this.#position, this.#snapshot, this.#kept];
    if (position === undefined || snapshot === undefined) return;
    this.#snapshot = undefined;
    const changed = kept === undefined ? undefined : changes.since(kept.position);
    const rows = kept === undefined || changed === undefined ? new Map(snapshot) : kept.rows;
    if (changed !== undefined) this.caughtUpCount++;
    for (const key of changed ?? []) {
      const row = snapshot.get(key);
      if (row === undefined) rows.delete(key);
      else rows.set(key, row);
    }
    expect(new Map([...rows].sort())).toEqual(new Map([...snapshot].sort()));
    this.#kept = { rows, position };
  }
}

const action = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("begin" as const), fc.nat(5)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant("store" as const), fc.nat(3)) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("end" as const), fc.nat(3)) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("position" as const), fc.nat(0)) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("snapshot" as const), fc.nat(0)) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("read" as const), fc.nat(0)) },
);

test("a reader that reads changed rows again has the rows of its snapshot, whenever writes begin, become visible and end", async () => {
  let caughtUpCount = 0;
  const property = fc.asyncProperty(
    fc.array(action, { minLength: 60, maxLength: 150 }),
    fc.integer({ min: 2, max: 30 }),
    async (actions, kept) => {
      const kv = new SlowKeyValue();
      const changes = new CompletedChanges(kept);
      const recorded = changes.recorded(kv);
      const reader = new Reader();
      let written = 0;
      for (const [kind, n] of actions) {
        if (kind === "begin")
          void recorded.write(
            new Map([
              [keyOf(n), written % 3 === 2 ? null : row(++written % 256)],
              ["00e", row(1)],
            ]),
          );
        else if (kind === "store") kv.store(n);
        else if (kind === "end") await kv.end(n);
        else if (kind === "position") reader.begin(changes);
        else if (kind === "snapshot") reader.take(completedOnly(kv));
        else reader.read(changes);
      }
      caughtUpCount += reader.caughtUpCount;
    },
  );
  await fc.assert(property, { numRuns: 300, seed: 17 });
  expect(caughtUpCount).toBeGreaterThan(100);
});

/** The rows that the record is about. */
function completedOnly(kv: MemoryKeyValue): MemoryKeyValue {
  const copy = new MemoryKeyValue();
  void copy.write(new Map([...kv.snapshot()].filter(([key]) => key.startsWith("00c"))));
  return copy;
}

test("nothing is recorded before the first position, and the record ends when no further one is requested for long", async () => {
  const kv = new MemoryKeyValue();
  const changes = new CompletedChanges(3);
  const recorded = changes.recorded(kv);
  const write = (n: number): Promise<void> => recorded.write(new Map([[keyOf(n), row(n)]]));
  await write(1);
  expect(changes.since(0)).toBeUndefined();
  const position = changes.position() ?? Number.NaN;
  expect(changes.since(position)).toEqual([]);
  await write(2);
  await write(3);
  expect(changes.since(position)).toEqual([keyOf(2), keyOf(3)]);
  for (let n = 4; n < 8; n++) await write(n);
  expect(changes.since(position)).toBeUndefined();
  const again = changes.position() ?? Number.NaN;
  expect(again).toBeGreaterThan(position);
  await write(9);
  expect(changes.since(again)).toEqual([keyOf(9)]);
  expect(rowOf((await recorded.getMany([keyOf(9)]))[0] ?? row(0))).toEqual(row(9));
});

test("there is no position while a write that began before the recording has not ended", async () => {
  const kv = new SlowKeyValue();
  const changes = new CompletedChanges();
  const recorded = changes.recorded(kv);
  void recorded.write(new Map([[keyOf(1), row(1)]]));
  expect(changes.position()).toBeUndefined();
  await kv.end(0);
  expect(changes.position()).toBe(0);
});
