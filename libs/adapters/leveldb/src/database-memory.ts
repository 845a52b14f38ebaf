/**
 * What the threads of a process share about a database that they have open: counters of reads, files and batches, and the marker of
 * references. Writer 0 creates it; threads that are started afterwards find it by the directory.
 */
import { randomFillSync } from "node:crypto";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { present } from "@perdure/base";
import { DURABLE_BATCHES_INTEGERS, DurableBatches } from "./commit-log/durable-batches.js";
import { READ_HOLDS_INTEGERS, ReadHolds } from "./read-holds.js";
import { MARKER_BYTES } from "./stored-value.js";

// Integers of 32 bits.
const HOLDS = 0;
const DURABLE = HOLDS + READ_HOLDS_INTEGERS;
const BATCHES = DURABLE + DURABLE_BATCHES_INTEGERS;
const MARKER_USED = BATCHES + 1;
const IS_OPEN = MARKER_USED + 1;
const INTEGERS = IS_OPEN + 1;
/** Integers of 64 bits follow, on their own boundary. */
const LONGS_AT = Math.ceil((INTEGERS * Int32Array.BYTES_PER_ELEMENT) / 8) * 8;
const NEXT_FILE = 0;
const FILE_BYTES = 1;
const MARKER_AT = LONGS_AT + 2 * BigInt64Array.BYTES_PER_ELEMENT;
/** One integer for each writer: 1 while it is open. */
const WRITERS_AT = MARKER_AT + MARKER_BYTES;

/** The files that the database has when it is opened. */
export interface StoredFiles {
  /** Undefined until there are blob files. */
  readonly marker: Uint8Array | undefined;
  /** How many rows refer to each file. */
  readonly fileRows: ReadonlyMap<number, number>;
  readonly fileBytes: number;
  readonly lastFile: number;
}

interface FormerFileBuffers {
  /** Numbers of the files, ascending. */
  readonly files: SharedArrayBuffer;
  /** For each of them, how many rows refer to it. */
  readonly rows: SharedArrayBuffer;
}

/** The form in which threads get the memory. */
interface Buffers extends FormerFileBuffers {
  readonly common: SharedArrayBuffer;
}

function areBuffers(data: unknown): data is Buffers {
  if (typeof data !== "object" || data === null) return false;
  return ["common", "files", "rows"].every((name) => Reflect.get(data, name) instanceof SharedArrayBuffer);
}

const nameOf = (directory: string): string => `perdure level ${directory}`;

export class DatabaseMemory {
  readonly holds: ReadHolds;
  /** Counters of the batches that a commit log overlaps; a database with several writers has none. */
  readonly durable: DurableBatches;
  readonly marker: SharedMarker;
  readonly #common: SharedArrayBuffer;
  readonly #integers: Int32Array;
  readonly #longs: BigInt64Array;
  readonly #writers: Int32Array;
  #formerFiles: FormerFiles;

  private constructor(common: SharedArrayBuffer, formerFiles: FormerFiles) {
    this.#common = common;
    this.#integers = new Int32Array(common, 0, INTEGERS);
    this.#longs = new BigInt64Array(common, LONGS_AT, 2);
    this.#writers = new Int32Array(common, WRITERS_AT);
    this.#formerFiles = formerFiles;
    this.holds = new ReadHolds(this.#integers.subarray(HOLDS, DURABLE));
    this.durable = new DurableBatches(this.#integers.subarray(DURABLE, BATCHES));
    const used = this.#integers.subarray(MARKER_USED, IS_OPEN);
    this.marker = new SharedMarker(used, new Uint8Array(common, MARKER_AT, MARKER_BYTES));
  }

  static create(writers: number): DatabaseMemory {
    const common = new SharedArrayBuffer(WRITERS_AT + writers * Int32Array.BYTES_PER_ELEMENT);
    return new DatabaseMemory(common, FormerFiles.of(new Map()));
  }

  /** Call it before other threads get the memory. `isShared`: whether there are several writers. */
  fill({ marker, fileRows, fileBytes, lastFile }: StoredFiles, isShared: boolean): void {
    if (isShared) this.#formerFiles = FormerFiles.of(fileRows); // One writer counts all rows itself.
    this.#longs[NEXT_FILE] = BigInt(lastFile + 1);
    this.#longs[FILE_BYTES] = BigInt(fileBytes);
    this.marker.fill(marker);
  }

  /** Lets threads that are started from now on find the memory. */
  publish(directory: string): void {
    Atomics.store(this.#integers, IS_OPEN, 1);
    setEnvironmentData(nameOf(directory), { common: this.#common, ...this.#formerFiles.buffers } satisfies Buffers);
  }

  withdraw(directory: string): void {
    Atomics.store(this.#integers, IS_OPEN, 0);
    setEnvironmentData(nameOf(directory), undefined as never);
  }

  /** The memory of a database that this process has open for writing; undefined when there is none. */
  static of(directory: string): DatabaseMemory | undefined {
    const buffers: unknown = getEnvironmentData(nameOf(directory));
    if (!areBuffers(buffers)) return undefined;
    const memory = new DatabaseMemory(buffers.common, new FormerFiles(buffers));
    return Atomics.load(memory.#integers, IS_OPEN) === 1 ? memory : undefined;
  }

  /** Whether the writer was closed before, so that it may open. */
  begin(writer: number): boolean {
    return writer < this.#writers.length && Atomics.compareExchange(this.#writers, writer, 0, 1) === 0;
  }

  end(writer: number): void {
    Atomics.store(this.#writers, writer, 0);
  }

  /** The writers that are open now. */
  get openWriters(): readonly number[] {
    return [...this.#writers.keys()].filter((writer) => Atomics.load(this.#writers, writer) === 1);
  }

  /** Number of batches written by all writers; it wraps around. */
  get batches(): number {
    return Atomics.load(this.#integers, BATCHES) >>> 0;
  }

  countBatch(): void {
    Atomics.add(this.#integers, BATCHES, 1);
  }

  /** A number for a file that no other file has. */
  takeFileNumber(): number {
    return Number(Atomics.add(this.#longs, NEXT_FILE, 1n));
  }

  get fileBytes(): number {
    return Number(Atomics.load(this.#longs, FILE_BYTES));
  }

  addFileBytes(bytes: number): void {
    Atomics.add(this.#longs, FILE_BYTES, BigInt(bytes));
  }

  /** Call it when rows of a writer no longer refer to a file. Returns whether rows of no other writer do. */
  releaseFormerRows(file: number, rowCount: number): boolean {
    return this.#formerFiles.release(file, rowCount);
  }
}

/**
 * Files from before the start that several rows refer to. With another number of writers then, or one, those rows may belong to several
 * writers now: the one whose rows were the last to refer to the file removes it. Files that are written later belong to one writer.
 */
class FormerFiles {
  readonly buffers: FormerFileBuffers;
  readonly #numbers: BigInt64Array;
  readonly #rows: Int32Array;

  constructor({ files, rows }: FormerFileBuffers) {
    this.buffers = { files, rows };
    this.#numbers = new BigInt64Array(files);
    this.#rows = new Int32Array(rows);
  }

  static of(fileRows: ReadonlyMap<number, number>): FormerFiles {
    const shared = [...fileRows].filter(([, rowCount]) => rowCount > 1).sort(([a], [b]) => a - b);
    const former = new FormerFiles({
      files: new SharedArrayBuffer(shared.length * BigInt64Array.BYTES_PER_ELEMENT),
      rows: new SharedArrayBuffer(shared.length * Int32Array.BYTES_PER_ELEMENT),
    });
    for (const [index, [number, rowCount]] of shared.entries()) {
      former.#numbers[index] = BigInt(number);
      former.#rows[index] = rowCount;
    }
    return former;
  }

  release(file: number, rowCount: number): boolean {
    const number = BigInt(file);
    let low = 0;
    for (let high = this.#numbers.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (present(this.#numbers[middle]) < number) low = middle + 1;
      else high = middle;
    }
    return this.#numbers[low] !== number || Atomics.sub(this.#rows, low, rowCount) === rowCount;
  }
}

/** The marker of a directory: one for all writers, chosen before the first of them needs it. */
class SharedMarker {
  readonly #used: Int32Array;
  readonly #shared: Uint8Array;
  #bytes: Uint8Array | undefined;

  constructor(used: Int32Array, shared: Uint8Array) {
    this.#used = used;
    this.#shared = shared;
  }

  /** `stored`: the marker that the database has; a new one is chosen when undefined. */
  fill(stored: Uint8Array | undefined): void {
    if (stored === undefined) this.#shared.set(randomFillSync(new Uint8Array(MARKER_BYTES)));
    else {
      this.#shared.set(stored);
      this.use();
    }
  }

  /** The marker; undefined while no value can have it. */
  get bytes(): Uint8Array | undefined {
    if (this.#bytes === undefined && Atomics.load(this.#used, 0) === 1) this.#bytes = this.#shared.slice();
    return this.#bytes;
  }

  /** Call it before the first value with the marker is written. */
  use(): Uint8Array {
    Atomics.store(this.#used, 0, 1);
    this.#bytes ??= this.#shared.slice();
    return this.#bytes;
  }
}
