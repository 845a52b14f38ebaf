/**
 * The server's side of row requests from statement processes: rows of the server's memory, and bytes of the store that it has open. Each
 * response is a small page made in one turn of the event loop; the next page follows when it is requested.
 */

import { invariant } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";
import { LIVE_PAGE_ROWS, STORE_KEYS_AT_ONCE, STORE_PAGE_BYTES, STORE_PAGE_ROWS } from "../limits.js";
import { LIVE_METHODS } from "../live.js";
import type { LiveRows, RowSource, SnapshotSource } from "../ports.js";
import type { Turns } from "../turns.js";
import { type FromProcess, NO_VALUE, type StoreMethod, type StorePage, type ToProcess } from "./messages.js";

type RowRequest = FromProcess & { readonly kind: "requestRows" | "read" | "requestMore" | "endRequest" | "snapshot" | "release" };
/** Returns the last page, so that a request with few rows needs one message. */
type Pages = AsyncGenerator<readonly unknown[], readonly unknown[]>;

interface PageServerPorts {
  /** Absent where a store alone is served. */
  readonly live?: LiveRows;
  readonly openStore: () => Promise<SnapshotSource>;
  /** Reads of the store take turns, across all processes. */
  readonly reads: Turns;
}

const NEVER = new AbortController().signal;

export class PageServer {
  readonly #live: LiveRows | undefined;
  readonly #store: () => Promise<SnapshotSource>;
  readonly #reads: Turns;
  readonly #send: (message: ToProcess) => void;
  /** Requests with rows left. A process has a few for each running statement. */
  readonly #open = new Map<number, { readonly pages: Pages; readonly takesTurns: boolean }>();
  readonly #snapshots = new Map<number, Promise<KeyValue>>();
  #isClosed = false;

  constructor({ live, openStore, reads }: PageServerPorts, send: (message: ToProcess) => void) {
    this.#live = live;
    this.#store = openStore;
    this.#reads = reads;
    this.#send = send;
  }

  /** Never rejects: errors are sent as responses. */
  async receive(message: RowRequest): Promise<void> {
    if (message.kind === "snapshot") return this.#openSnapshot(message.snapshot);
    if (message.kind === "release") return await this.#release(message.snapshot);
    const { requestId } = message;
    try {
      if (message.kind === "endRequest") return await this.#end(requestId);
      if (message.kind === "requestRows") {
        const pages = inPages(this.#liveRows(message.method, message.args));
        this.#open.set(requestId, { pages, takesTurns: false });
      }
      if (message.kind === "read") {
        const snapshot = this.#snapshots.get(message.snapshot);
        invariant(snapshot !== undefined, "a read names a snapshot that was opened before");
        this.#open.set(requestId, { pages: storePages(snapshot, message.method, message.args), takesTurns: true });
      }
      await this.#page(requestId);
    } catch (cause) {
      this.#open.delete(requestId);
      this.#send({ kind: "requestFailed", requestId, message: cause instanceof Error ? cause.message : String(cause) });
    }
  }

  /** Ends all requests and releases all snapshots. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#open.keys()].map((requestId) => this.#end(requestId)));
    await Promise.allSettled([...this.#snapshots.keys()].map((snapshot) => this.#release(snapshot)));
  }

  #openSnapshot(snapshot: number): void {
    const opened = this.#store().then((store) => {
      invariant(!this.#isClosed, "the process of the statement has ended");
      return store.snapshot();
    });
    opened.catch(() => undefined); // Reads of the snapshot report the failure.
    this.#snapshots.set(snapshot, opened);
  }

  async #release(snapshot: number): Promise<void> {
    const opened = this.#snapshots.get(snapshot);
    this.#snapshots.delete(snapshot);
    await opened?.then(
      (kv) => kv[Symbol.asyncDispose](),
      () => undefined,
    );
  }

  #liveRows(method: keyof LiveRows, args: readonly unknown[]): RowSource<unknown> {
    if (this.#live === undefined || LIVE_METHODS[method] !== true) throw new Error(`there are no live rows called ${method}`);
    const read = this.#live[method] as (...args: readonly unknown[]) => RowSource<unknown>;
    return read.apply(
      this.#live,
      [...args].map((argument) => argument ?? undefined),
    ); // JSON has null only.
  }

  async #page(requestId: number): Promise<void> {
    const open = this.#open.get(requestId);
    if (open === undefined) return; // The request ended before this page was ready.
    const { done, value: rows } = open.takesTurns ? await this.#inTurn(open.pages) : await open.pages.next();
    if (!this.#open.has(requestId)) return;
    if (done === true) this.#open.delete(requestId);
    this.#send({ kind: "rows", requestId, rows, isLast: done === true });
  }

  async #inTurn(pages: Pages): Promise<IteratorResult<readonly unknown[], readonly unknown[]>> {
    await this.#reads.begin(NEVER);
    try {
      return await pages.next();
    } finally {
      this.#reads.end();
    }
  }

  async #end(requestId: number): Promise<void> {
    const open = this.#open.get(requestId);
    this.#open.delete(requestId);
    await open?.pages.return([]);
  }
}

/** Number of rows of memory in a page, made in well under a millisecond. */
async function* inPages(rows: RowSource<unknown>): Pages {
  const iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  let page: unknown[] = [];
  let isOver = false;
  try {
    for (;;) {
      const step = iterator.next();
      const { done, value } = step instanceof Promise ? await step : step;
      isOver = done === true;
      if (isOver) return page;
      page.push(value);
      if (page.length < LIVE_PAGE_ROWS) continue;
      yield page;
      page = [];
    }
  } finally {
    if (!isOver) await iterator.return?.();
  }
}

/** Each page is one `StorePage`. */
async function* storePages(opened: Promise<KeyValue>, method: StoreMethod, args: readonly unknown[]): Pages {
  const kv = await opened;
  const packer = new PagePacker();
  switch (method) {
    case "getMany": {
      const keys = texts(args[0]);
      for (let from = 0; from < keys.length; from += STORE_KEYS_AT_ONCE) {
        if (packer.isFull) yield [packer.take()];
        const options = { firstParts: args[1] === true };
        for (const value of await kv.getMany(keys.slice(from, from + STORE_KEYS_AT_ONCE), options)) packer.add(value);
      }
      return [packer.take()];
    }
    case "values": {
      const [from, to] = rangeOf(args);
      for await (const page of kv.values(from, to, { firstParts: args[2] === true })) {
        for (const value of page) packer.add(value);
        if (packer.isFull) yield [packer.take()];
      }
      return [packer.take()];
    }
    case "ranges":
      return await wholeRanges(kv, args);
    case "scan": {
      const [from, to] = rangeOf(args);
      for await (const [key, value] of kv.scan(from, to, scanOptions(args[2]))) {
        packer.add(value, key);
        if (packer.isFull) yield [packer.take()];
      }
      return [packer.take()];
    }
    default:
      throw new Error(`a store has no ${String(method satisfies never)}`);
  }
}

/** One page for each range, in their order; null for the first one with which the answer would exceed a page, and for all after it. */
async function wholeRanges(kv: KeyValue, ranges: readonly unknown[]): Promise<readonly (StorePage | null)[]> {
  const pages: (StorePage | null)[] = [];
  const space: SpaceLeft = { bytes: STORE_PAGE_BYTES, rows: STORE_PAGE_ROWS };
  let isFull = false;
  for (const range of ranges) {
    const page: StorePage | null = isFull ? null : await wholeRange(kv, range, space);
    isFull = page === null;
    pages.push(page);
  }
  return pages;
}

/** What may still be added to an answer. */
interface SpaceLeft {
  bytes: number;
  rows: number;
}

/** Null when the range needs more space. */
async function wholeRange(kv: KeyValue, range: unknown, space: SpaceLeft): Promise<StorePage | null> {
  invariant(typeof range === "object" && range !== null && "from" in range && "to" in range, "a range has two ends");
  const [from, to] = rangeOf([range.from, range.to]);
  const form = "form" in range ? range.form : undefined;
  const packer = new PagePacker();
  if (form === "withKeys") {
    for await (const [key, value] of kv.scan(from, to)) {
      packer.add(value, key);
      if (packer.exceeds(space)) return null;
    }
  } else {
    for await (const page of kv.values(from, to, { firstParts: form === "firstParts" })) {
      for (const value of page) packer.add(value);
      if (packer.exceeds(space)) return null;
    }
  }
  space.bytes -= packer.bytes;
  space.rows -= packer.rows;
  return packer.take();
}

function rangeOf([from, to]: readonly unknown[]): readonly [from: string, to: string] {
  invariant(typeof from === "string" && typeof to === "string", "keys are texts");
  return [from, to];
}

function texts(value: unknown): readonly string[] {
  invariant(Array.isArray(value), "keys are a list");
  return value.map((one: unknown) => {
    invariant(typeof one === "string", "keys are texts");
    return one;
  });
}

function scanOptions(value: unknown): { readonly limit?: number; readonly keysOnly?: boolean } {
  if (typeof value !== "object" || value === null) return {};
  const limit = "limit" in value && typeof value.limit === "number" ? { limit: value.limit } : {};
  return { ...limit, keysOnly: "keysOnly" in value && value.keysOnly === true };
}

class PagePacker {
  #values: Uint8Array[] = [];
  #ends: number[] = [];
  #keys: string[] | undefined;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get rows(): number {
    return this.#ends.length;
  }

  get isFull(): boolean {
    return this.#bytes >= STORE_PAGE_BYTES || this.#ends.length >= STORE_PAGE_ROWS;
  }

  exceeds({ bytes, rows }: SpaceLeft): boolean {
    return this.#bytes > bytes || this.#ends.length > rows;
  }

  add(value: Uint8Array | undefined, key?: string): void {
    if (key !== undefined) {
      this.#keys ??= [];
      this.#keys.push(key);
    }
    if (value === undefined && key === undefined) return void this.#ends.push(NO_VALUE);
    if (value !== undefined) {
      this.#values.push(value);
      this.#bytes += value.length;
    }
    this.#ends.push(this.#bytes);
  }

  take(): StorePage {
    const data = this.#values.length === 1 ? this.#values[0]! : Buffer.concat(this.#values, this.#bytes);
    const page: StorePage = {
      data,
      ends: Uint32Array.from(this.#ends),
      ...(this.#keys === undefined ? {} : { keys: this.#keys }),
    };
    this.#values = [];
    this.#ends = [];
    this.#keys = undefined;
    this.#bytes = 0;
    return page;
  }
}
