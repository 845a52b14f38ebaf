/**
 * The partition store of a statement process when LevelDB is open in the server only: keys and ranges are sent to the server, stored
 * bytes return in pages, and all decoding is done here.
 */
import type { InvocationId } from "@perdure/base";
import { invocationRowKeys, journalRowKeys, type KeyValue, KvPartitionStore, keyedRange, stateRanges } from "@perdure/storage";
import { ENTRIES_AHEAD, SCANS_AHEAD } from "../limits.js";
import type { StoredRows } from "../ports.js";
import type { OpenStore } from "./engine-main.js";
import { type FromProcess, NO_VALUE, type PackedValues, type StoreMethod, type StorePage, type WholeRange } from "./messages.js";
import type { PageRequester } from "./page-requester.js";

/** The store that the server has open. */
export function openServedStore(requester: PageRequester, send: (message: FromProcess) => void): OpenStore {
  let last = 0;
  return {
    isOneMoment: true,
    snapshot() {
      const kv = new ServedKeyValue(requester, send, ++last);
      return Object.assign(servedSnapshot(kv), { kv });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

type PendingRow = { readonly resolve: (row: Uint8Array | undefined) => void; readonly reject: (cause: unknown) => void };

/**
 * `KvPartitionStore` reads single invocations synchronously, which needs the store in this process; everything else of it works remotely.
 */
function servedSnapshot(kv: ServedKeyValue): StoredRows & AsyncDisposable {
  const store = new KvPartitionStore(kv);
  const invocations = new InvocationRows(kv);
  return {
    readJournal: (partition, id, length) => store.readJournal(partition, id, length),
    stateOf: (partition, service, key) => store.stateOf(partition, service, key),
    events: (partition, id) => store.events(partition, id),
    invocationRows: (partition, group) => store.invocationRows(partition, group),
    invocationRow: (partition, id, isJournalNext = false) => invocations.row(partition, id, isJournalNext),
    expectScans: (table, partitions) => kv.expectScans(partitions.map((partition) => keyedRange(partition, table))),
    expectStateScans: (services, partitions, where) =>
      kv.expectScans(partitions.flatMap((partition) => services.flatMap((service) => stateRanges(partition, service, where)))),
    scanState: (partition, service, where) => store.scanState(partition, service, where),
    scanPromises: (partition) => store.scanPromises(partition),
    scanLocks: (partition) => store.scanLocks(partition),
    scanInboxes: (partition) => store.scanInboxes(partition),
    [Symbol.asyncDispose]: () => kv[Symbol.asyncDispose](),
  };
}

interface PendingRange {
  readonly range: WholeRange;
  readonly resolve: (page: StorePage | undefined) => void;
  readonly reject: (cause: unknown) => void;
}

/** Invocations that are requested in one turn are sent to the server in one message, with the entries that are requested next. */
class InvocationRows {
  readonly #kv: ServedKeyValue;
  #gathering: { readonly keys: string[]; readonly ahead: string[]; readonly waiting: PendingRow[] } | undefined;

  constructor(kv: ServedKeyValue) {
    this.#kv = kv;
  }

  row(partition: number, id: InvocationId, isJournalNext: boolean): Promise<Uint8Array | undefined> {
    if (this.#gathering === undefined) {
      this.#gathering = { keys: [], ahead: [], waiting: [] };
      queueMicrotask(() => void this.#fetch());
    }
    const { keys, ahead, waiting } = this.#gathering;
    keys.push(...invocationRowKeys(partition, id));
    if (isJournalNext) ahead.push(...journalRowKeys(partition, id, 0, ENTRIES_AHEAD));
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
    waiting.push({ resolve, reject });
    return promise;
  }

  /** Never rejects. */
  async #fetch(): Promise<void> {
    const gathered = this.#gathering;
    this.#gathering = undefined;
    if (gathered === undefined) return;
    const { keys, ahead, waiting } = gathered;
    try {
      const rows = await this.#kv.getManyAndAhead(keys, ahead);
      for (const [n, { resolve }] of waiting.entries()) resolve(rows[2 * n] ?? rows[2 * n + 1]);
    } catch (cause) {
      for (const { reject } of waiting) reject(cause);
    }
  }
}

class ServedKeyValue implements KeyValue {
  readonly #requester: PageRequester;
  readonly #send: (message: FromProcess) => void;
  readonly #snapshot: number;
  /** The snapshot is taken with the first read: many statements read only what the server has in memory. */
  #isOpen = false;
  #gathering: PendingRange[] | undefined;
  /** Values that were read before their keys are requested. A value is kept until then, or until the snapshot is released. */
  readonly #ahead = new Map<string, Uint8Array | undefined>();
  /** Ranges that were requested before they are scanned, by their beginning. */
  readonly #scans = new Map<string, Promise<StorePage | undefined>>();

  constructor(requester: PageRequester, send: (message: FromProcess) => void, snapshot: number) {
    this.#requester = requester;
    this.#send = send;
    this.#snapshot = snapshot;
  }

  get(): never {
    throw new Error("a store behind a stream answers later");
  }

  write(): never {
    throw new Error("a snapshot is only read");
  }

  async getMany(
    keys: readonly string[],
    options?: { readonly firstParts?: boolean },
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const ahead = this.#ahead;
    const missing = ahead.size === 0 ? keys : keys.filter((key) => !ahead.has(key));
    if (missing.length === keys.length) return await this.#readMany(keys, options?.firstParts === true);
    const read = missing.length === 0 ? [] : await this.#readMany(missing, options?.firstParts === true);
    let next = 0;
    return keys.map((key) => (ahead.has(key) ? this.#takeAhead(key) : read[next++]));
  }

  async #readMany(keys: readonly string[], firstParts: boolean): Promise<readonly (Uint8Array | undefined)[]> {
    const values: (Uint8Array | undefined)[] = [];
    for await (const page of this.#pages("getMany", [keys, firstParts]))
      for (const value of unpacked(page, undefined)) values.push(value);
    return values;
  }

  /** Returns the values of `keys`, and keeps those of `ahead` for the next `getMany`. */
  async getManyAndAhead(keys: readonly string[], ahead: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const values = await this.getMany([...keys, ...ahead]);
    for (const [n, key] of ahead.entries()) this.#ahead.set(key, values[keys.length + n]);
    return values.slice(0, keys.length);
  }

  #takeAhead(key: string): Uint8Array | undefined {
    const value = this.#ahead.get(key);
    this.#ahead.delete(key);
    return value;
  }

  async *scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]> {
    const expected = options === undefined ? this.#scans.get(from) : undefined;
    if (expected !== undefined) this.#scans.delete(from);
    const whole = await expected;
    if (whole !== undefined) return yield* pairs(whole);
    for await (const page of this.#pages("scan", [from, to, options ?? {}])) yield* pairs(page);
  }

  /**
   * Requests ranges that are scanned next, one after the other. Those that are small together arrive in one message, and are kept until
   * they are scanned; each of the others is read when it is scanned.
   */
  expectScans(ranges: readonly (readonly [from: string, to: string])[]): void {
    for (const [from, to] of ranges.slice(0, SCANS_AHEAD)) {
      const page = this.#whole({ from, to, form: "withKeys" });
      page.catch(() => undefined); // Reported when it is scanned.
      this.#scans.set(from, page);
    }
  }

  async *values(from: string, to: string, options?: { readonly firstParts?: boolean }): AsyncIterable<readonly Uint8Array[]> {
    const firstParts = options?.firstParts === true;
    const whole = await this.#whole({ from, to, form: firstParts ? "firstParts" : "values" });
    if (whole !== undefined && whole.ends.length > 0) yield unpacked(whole, NO_BYTES);
    if (whole !== undefined) return;
    for await (const page of this.#pages("values", [from, to, firstParts])) yield unpacked(page, NO_BYTES);
  }

  /**
   * The rows of a range, requested in one message with the ranges that are begun in the same turn. Undefined when it has to be read by
   * itself: it is the only one, or they are too large together.
   */
  #whole(range: WholeRange): Promise<StorePage | undefined> {
    if (this.#gathering === undefined) {
      this.#gathering = [];
      process.nextTick(() => void this.#fetchRanges());
    }
    const { promise, resolve, reject } = Promise.withResolvers<StorePage | undefined>();
    this.#gathering.push({ range, resolve, reject });
    return promise;
  }

  /** Never rejects. */
  async #fetchRanges(): Promise<void> {
    const gathered = this.#gathering ?? [];
    this.#gathering = undefined;
    if (gathered.length === 1) return gathered[0]?.resolve(undefined);
    try {
      let n = 0;
      const ranges = gathered.map(({ range }) => range);
      for await (const page of this.#pages<StorePage | null>("ranges", ranges)) gathered[n++]?.resolve(page ?? undefined);
    } catch (cause) {
      for (const { reject } of gathered) reject(cause);
    }
  }

  async *#pages<Page = StorePage>(method: StoreMethod, args: readonly unknown[]): AsyncIterable<Page> {
    const snapshot = this.#snapshot;
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#send({ kind: "snapshot", snapshot });
    }
    for await (const pages of this.#requester.pages((requestId) => ({ kind: "read", requestId, snapshot, method, args })))
      yield* pages as readonly Page[];
  }

  [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOpen) this.#send({ kind: "release", snapshot: this.#snapshot });
    return Promise.resolve();
  }
}

const NO_BYTES = new Uint8Array(0);

function* pairs(page: StorePage): Iterable<readonly [string, Uint8Array]> {
  const { keys = [] } = page;
  for (const [n, value] of unpacked(page, NO_BYTES).entries()) yield [keys[n] ?? "", value];
}

/** The values of a page, `missing` where a key has none. */
function unpacked<Missing>({ data, ends }: PackedValues, missing: Missing): readonly (Uint8Array | Missing)[] {
  const values = new Array<Uint8Array | Missing>(ends.length).fill(missing);
  let start = 0;
  for (let n = 0; n < ends.length; n++) {
    const end = ends[n]!;
    if (end === NO_VALUE) continue;
    values[n] = data.subarray(start, end);
    start = end;
  }
  return values;
}
