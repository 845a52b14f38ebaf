/**
 * Messages of a stream go out in batches: everything added in one turn of the event loop is one message, so batches grow with the load and
 * no item waits for a timer. While the peer does not read, batches are queued here, and `isFull` returns whether the queue has reached its
 * bound.
 */
import { present } from "@perdure/base";
import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX, LINK_QUEUED_BYTES_MAX } from "./limits.js";

/** The writing half of a gRPC stream. */
interface BatchSink<Batch> {
  /** False: hold back until `drained` is called. */
  write(batch: Batch): boolean;
}

/** Runs a task once the present turn of the event loop is over. */
export type Soon = (task: () => void) => void;

export class Batching<Item, Batch> {
  readonly #sink: BatchSink<Batch>;
  readonly #batchOf: (items: Item[]) => Batch;
  readonly #bytesOf: (item: Item) => number;
  readonly #soon: Soon;
  #items: Item[] = [];
  #bytes = 0;
  #scheduled = false;
  #heldBack = false;
  #closed = false;
  /** Batches that wait for the peer to read. */
  #waiting: { readonly batch: Batch; readonly bytes: number }[] = [];
  #waitingBytes = 0;

  constructor(
    sink: BatchSink<Batch>,
    batchOf: (items: Item[]) => Batch,
    bytesOf: (item: Item) => number,
    soon: Soon = setImmediate,
  ) {
    this.#sink = sink;
    this.#batchOf = batchOf;
    this.#bytesOf = bytesOf;
    this.#soon = soon;
  }

  get isFull(): boolean {
    return this.#waitingBytes >= LINK_QUEUED_BYTES_MAX;
  }

  add(item: Item): void {
    if (this.#closed) return;
    this.#items.push(item);
    this.#bytes += this.#bytesOf(item);
    if (this.#bytes >= BATCH_BYTES_MAX || this.#items.length >= BATCH_ITEMS_MAX) return this.#seal();
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      this.#seal();
    });
  }

  /** The peer reads again. */
  drained(): void {
    this.#heldBack = false;
    this.#write();
  }

  close(): void {
    this.#closed = true;
    this.#items = [];
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #seal(): void {
    if (this.#closed || this.#items.length === 0) return;
    this.#waiting.push({ batch: this.#batchOf(this.#items), bytes: this.#bytes });
    this.#waitingBytes += this.#bytes;
    this.#items = [];
    this.#bytes = 0;
    this.#write();
  }

  #write(): void {
    let written = 0;
    while (!this.#heldBack && written < this.#waiting.length) {
      const next = present(this.#waiting[written++]);
      this.#waitingBytes -= next.bytes;
      if (!this.#sink.write(next.batch)) this.#heldBack = true;
    }
    if (written > 0) this.#waiting.splice(0, written);
  }
}
