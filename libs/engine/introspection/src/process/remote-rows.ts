/**
 * The partition store of a statement process when LevelDB is open in the server only: keys and ranges are sent to the server, stored
 * bytes return in pages, and all decoding is done here.
 */
import type { InvocationId } from "@perdure/base";
import { invocationRowKeys, type KeyValue, KvPartitionStore } from "@perdure/storage";
import type { StoredRows } from "../ports.js";
import type { OpenStore } from "./engine-main.js";
import { type FromProcess, NO_VALUE, type PackedValues, type StoreMethod, type StorePage } from "./messages.js";
import type { PageRequester } from "./page-requester.js";

/** The store that the server has open. */
export function openServedStore(requester: PageRequester, send: (message: FromProcess) => void): OpenStore {
  let last = 0;
  return {
    isOneMoment: true,
    snapshot() {
      const snapshot = ++last;
      send({ kind: "snapshot", snapshot });
      const kv = new ServedKeyValue(requester, send, snapshot);
      return Object.assign(servedSnapshot(kv), { kv });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

type PendingRow = { readonly resolve: (row: Uint8Array | undefined) => void; readonly reject: (cause: unknown) => void };

/**
 * `KvPartitionStore` reads single invocations synchronously, which needs the store in this process; everything else of it works remotely.
 */
function servedSnapshot(kv: KeyValue): StoredRows & AsyncDisposable {
  const store = new KvPartitionStore(kv);
  const invocations = new InvocationRows(kv);
  return {
    readJournal: (partition, id, length) => store.readJournal(partition, id, length),
    stateOf: (partition, service, key) => store.stateOf(partition, service, key),
    events: (partition, id) => store.events(partition, id),
    invocationRows: (partition, group) => store.invocationRows(partition, group),
    invocationRow: (partition, id) => invocations.row(partition, id),
    scanState: (partition, service, where) => store.scanState(partition, service, where),
    scanPromises: (partition) => store.scanPromises(partition),
    scanLocks: (partition) => store.scanLocks(partition),
    scanInboxes: (partition) => store.scanInboxes(partition),
    [Symbol.asyncDispose]: () => kv[Symbol.asyncDispose](),
  };
}

/** Invocations that are requested in one turn are sent to the server in one message. */
class InvocationRows {
  readonly #kv: KeyValue;
  #gathering: { readonly keys: string[]; readonly waiting: PendingRow[] } | undefined;

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  row(partition: number, id: InvocationId): Promise<Uint8Array | undefined> {
    if (this.#gathering === undefined) {
      this.#gathering = { keys: [], waiting: [] };
      queueMicrotask(() => void this.#fetch());
    }
    const { keys, waiting } = this.#gathering;
    keys.push(...invocationRowKeys(partition, id));
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
    waiting.push({ resolve, reject });
    return promise;
  }

  /** Never rejects. */
  async #fetch(): Promise<void> {
    const gathered = this.#gathering;
    this.#gathering = undefined;
    if (gathered === undefined) return;
    const { keys, waiting } = gathered;
    try {
      const rows = await this.#kv.getMany(keys);
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
    const values: (Uint8Array | undefined)[] = [];
    for await (const page of this.#pages("getMany", [keys, options?.firstParts === true]))
      for (const value of unpacked(page, undefined)) values.push(value);
    return values;
  }

  async *scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]> {
    for await (const page of this.#pages("scan", [from, to, options ?? {}])) {
      const { keys = [] } = page;
      for (const [n, value] of unpacked(page, NO_BYTES).entries()) yield [keys[n] ?? "", value];
    }
  }

  async *values(from: string, to: string, options?: { readonly firstParts?: boolean }): AsyncIterable<readonly Uint8Array[]> {
    for await (const page of this.#pages("values", [from, to, options?.firstParts === true])) yield unpacked(page, NO_BYTES);
  }

  async *#pages(method: StoreMethod, args: readonly unknown[]): AsyncIterable<StorePage> {
    const snapshot = this.#snapshot;
    for await (const pages of this.#requester.pages((requestId) => ({ kind: "read", requestId, snapshot, method, args })))
      yield* pages as readonly StorePage[];
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#send({ kind: "release", snapshot: this.#snapshot });
    return Promise.resolve();
  }
}

const NO_BYTES = new Uint8Array(0);

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
