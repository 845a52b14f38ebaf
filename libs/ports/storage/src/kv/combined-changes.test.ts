import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type AsyncCompletedChanges, combinedChanges } from "./combined-changes.js";
import { CompletedChanges } from "./completed-changes.js";
import { MemoryKeyValue, type RowBytes } from "./key-value.js";

const WRITERS = 3;
const keyOf = (writer: number, n: number): string => `0${writer}c${String(n).padStart(33, "0")}`;
const row = (n: number): Uint8Array => Uint8Array.of(n % 256);

/** Resolves when the functions that await resolved promises have continued. */
const promisesContinued = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One writer of a shared store. Writes become visible and end, and requests are answered, when the test says so. */
class Writer implements AsyncCompletedChanges {
  readonly changes: CompletedChanges;
  readonly #writes: { readonly store: () => void; readonly end: () => void }[] = [];
  readonly #requests: (() => void)[] = [];
  readonly #write: (batch: ReadonlyMap<string, RowBytes | null>) => Promise<void>;

  constructor(shared: MemoryKeyValue, kept: number) {
    this.changes = new CompletedChanges(kept);
    const slow = new MemoryKeyValue();
    slow.write = (batch) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      let isStored = false;
      const store = (): void => {
        if (!isStored) void shared.write(batch);
        isStored = true;
      };
      this.#writes.push({ store, end: resolve });
      return promise;
    };
    const recorded = this.changes.recorded(slow);
    this.#write = (batch) => recorded.write(batch);
  }

  write(key: string, value: Uint8Array | null): void {
    void this.#write(new Map([[key, value]]));
  }

  store(n: number): void {
    this.#writes[n % Math.max(this.#writes.length, 1)]?.store();
  }

  end(n: number): void {
    const [write] = this.#writes.splice(n % Math.max(this.#writes.length, 1), 1);
    write?.store();
    write?.end();
  }

  answer(): void {
    this.#requests.shift()?.();
  }

  #request<T>(result: () => T): Promise<T> {
    return new Promise((resolve) => this.#requests.push(() => resolve(result())));
  }

  position(): Promise<number | undefined> {
    return this.#request(() => this.changes.position());
  }

  since(position: number): Promise<readonly string[] | undefined> {
    return this.#request(() => this.changes.since(position));
  }
}

/** Keeps copies of rows from statement to statement. A statement requests a position, takes a snapshot and requests the changes. */
class Reader {
  readonly #changes: AsyncCompletedChanges;
  readonly #kv: MemoryKeyValue;
  #kept: { readonly rows: Map<string, Uint8Array>; readonly position: number } | undefined;
  #statement: Promise<void> | undefined;
  /** Statements that read only changed rows. */
  caughtUpCount = 0;

  constructor(changes: AsyncCompletedChanges, kv: MemoryKeyValue) {
    this.#changes = changes;
    this.#kv = kv;
  }

  begin(): void {
    this.#statement ??= this.#run().finally(() => {
      this.#statement = undefined;
    });
  }

  get running(): Promise<void> | undefined {
    return this.#statement;
  }

  async #run(): Promise<void> {
    const position = await this.#changes.position();
    if (position === undefined) return;
    const snapshot = new Map(this.#kv.snapshot());
    const kept = this.#kept;
    const changed = kept === undefined ? undefined : await this.#changes.since(kept.position);
    const rows = kept === undefined || changed === undefined ? new Map(snapshot) : kept.rows;
    if (changed !== undefined) this.caughtUpCount++;
    for (const key of changed ?? []) {
      const stored = snapshot.get(key);
      if (stored === undefined) rows.delete(key);
      else rows.set(key, stored);
    }
    expect(new Map([...rows].sort())).toEqual(new Map([...snapshot].sort()));
    this.#kept = { rows, position };
  }
}

const action = fc.tuple(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant("write" as const) },
    { weight: 3, arbitrary: fc.constant("store" as const) },
    { weight: 4, arbitrary: fc.constant("end" as const) },
    { weight: 8, arbitrary: fc.constant("answer" as const) },
    { weight: 3, arbitrary: fc.constant("statement" as const) },
  ),
  fc.nat(WRITERS - 1),
  fc.nat(5),
);

test("a reader has the rows of its snapshot, whenever the records of the writers are read and their writes begin and end", async () => {
  let caughtUpCount = 0;
  const property = fc.asyncProperty(
    fc.array(action, { minLength: 80, maxLength: 200 }),
    fc.integer({ min: 2, max: 30 }),
    async (actions, kept) => {
      const kv = new MemoryKeyValue();
      const writers = Array.from({ length: WRITERS }, () => new Writer(kv, kept));
      const reader = new Reader(combinedChanges(writers), kv);
      let written = 0;
      for (const [kind, at, n] of actions) {
        const writer = writers[at] as Writer;
        if (kind === "write") writer.write(keyOf(at, n), ++written % 3 === 2 ? null : row(written));
        else if (kind === "statement") reader.begin();
        else if (kind === "store") writer.store(n);
        else if (kind === "end") writer.end(n);
        else writer.answer();
        await promisesContinued();
      }
      while (reader.running !== undefined) {
        for (const writer of writers) writer.answer();
        await promisesContinued();
      }
      caughtUpCount += reader.caughtUpCount;
    },
  );
  await fc.assert(property, { numRuns: 100, seed: 23 });
  expect(caughtUpCount).toBeGreaterThan(50);
}, 60_000);

test("there is no position while one writer has none, or its record cannot be read", async () => {
  const own = new CompletedChanges();
  let other: AsyncCompletedChanges["position"] = () => undefined;
  const combined = combinedChanges([own, { position: () => other(), since: () => [] }]);
  expect(await combined.position()).toBeUndefined();
  other = () => Promise.reject(new Error("the thread has ended"));
  expect(await combined.position()).toBeUndefined();
  other = () => {
    throw new Error("the thread has ended");
  };
  expect(await combined.position()).toBeUndefined();
  other = () => Promise.resolve(0);
  expect(await combined.since((await combined.position()) ?? Number.NaN)).toEqual([]);
});

test("a position is kept until many later ones were requested, and is unknown then", async () => {
  const changes = new CompletedChanges();
  const combined = combinedChanges([changes, changes], 2);
  const [first, second] = [await combined.position(), await combined.position()] as [number, number];
  expect(await combined.since(first)).toEqual([]);
  await combined.position();
  expect([await combined.since(first), await combined.since(second)]).toEqual([undefined, []]);
});
