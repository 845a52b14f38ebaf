/**
 * Offers the records of one topic partition to the partitions they belong to, many at a time and in order, and reports in order which
 * are handled. A record that a partition cannot accept now is offered again, with all later ones: a partition drops duplicates, so
 * nothing happens twice, and accepts no record before its predecessor, so none overtakes another.
 */
import { type Clock, partitionOf, present } from "@perdure/base";
import type { Invoke } from "@perdure/state-machine";
import { BYTES_UNDER_WAY_MAX, OFFER_AGAIN_MS, RECORDS_UNDER_WAY_MAX } from "./limits.js";
import type { Deliveries, SourceRecord } from "./ports.js";

interface OfferPorts {
  readonly deliveries: Deliveries;
  readonly clock: Clock;
  /** Throws the error of a record that cannot become an invocation; undefined skips the record. */
  readonly invocationOf: (record: SourceRecord) => Invoke | undefined;
  readonly producer: string;
}

interface OfferedRecord {
  readonly record: SourceRecord;
  command: Invoke | undefined;
  state: "waiting" | "offered" | "handled";
}

/**
 * Resolves when all are handled; rejects with the error of the first poison record, after all before it are handled, or at once when
 * aborted.
 */
export function offerInOrder(
  ports: OfferPorts,
  records: readonly SourceRecord[],
  handled: (offset: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    new Offering(ports, records, handled, signal, resolve, reject).go();
  });
}

class Offering {
  readonly #ports: OfferPorts;
  readonly #places: readonly OfferedRecord[];
  readonly #handled: (offset: number) => void;
  readonly #signal: AbortSignal;
  readonly #resolve: () => void;
  readonly #reject: (cause: unknown) => void;
  /** Index of the first record that is not handled. */
  #first = 0;
  /** Index of the next record to offer. */
  #next = 0;
  #bytes = 0;
  /** Rises with every new round of offers; of responses to older rounds only acceptances count. */
  #round = 0;
  /** The last offset offered to each partition in this round. */
  readonly #offered = new Map<number, number>();
  #poison: { readonly at: number; readonly cause: unknown } | undefined;
  #isWaiting = false;
  #isOver = false;

  constructor(
    ports: OfferPorts,
    records: readonly SourceRecord[],
    handled: (offset: number) => void,
    signal: AbortSignal,
    resolve: () => void,
    reject: (cause: unknown) => void,
  ) {
    this.#ports = ports;
    this.#places = records.map((record) => ({ record, command: undefined, state: "waiting" }));
    this.#handled = handled;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener("abort", this.#abandon, { once: true });
  }

  /** Offers under way may still be accepted; the next consumer of the topic partition offers them again. */
  readonly #abandon = (): void => this.#end(() => this.#reject(this.#signal.reason));

  go(): void {
    if (this.#isOver || this.#isWaiting) return;
    if (this.#signal.aborted) return this.#end(() => this.#reject(this.#signal.reason));
    while (this.#next < this.#places.length && this.#poison === undefined) {
      if (this.#next - this.#first >= RECORDS_UNDER_WAY_MAX || this.#bytes >= BYTES_UNDER_WAY_MAX) return;
      this.#offer(this.#next++);
      if (this.#isWaiting || this.#isOver) return;
    }
    this.#advance();
  }

  #offer(index: number): void {
    const place = present(this.#places[index]);
    if (place.state === "handled") return;
    const { record } = place;
    try {
      place.command ??= this.#ports.invocationOf(record);
    } catch (cause) {
      this.#poison = { at: index, cause };
      return;
    }
    if (place.command === undefined) {
      place.state = "handled";
      return;
    }
    place.state = "offered";
    this.#bytes += record.value.length;
    const { deliveries, producer } = this.#ports;
    const round = this.#round;
    const to = partitionOf(place.command.id, deliveries.partitionCount);
    const delivery = { command: place.command, producer, seq: record.offset, after: this.#offered.get(to) };
    this.#offered.set(to, record.offset);
    deliveries.deliver(
      delivery,
      () => this.#delivered(place),
      () => this.#refused(place, round),
    );
  }

  #delivered(place: OfferedRecord): void {
    if (place.state === "handled") return;
    if (place.state === "offered") this.#bytes -= place.record.value.length;
    place.state = "handled";
    this.#advance();
    this.go();
  }

  /** Offers every unhandled record again from the oldest on. */
  #refused(place: OfferedRecord, round: number): void {
    if (this.#isOver || round !== this.#round || place.state !== "offered") return;
    this.#round++;
    this.#isWaiting = true;
    this.#ports.clock.setTimer(OFFER_AGAIN_MS, () => {
      if (this.#isOver) return;
      this.#isWaiting = false;
      this.#bytes = 0;
      this.#offered.clear();
      this.#poison = undefined;
      for (let index = this.#first; index < this.#next; index++) {
        const each = present(this.#places[index]);
        if (each.state === "offered") each.state = "waiting";
      }
      this.#next = this.#first;
      this.go();
    });
  }

  #advance(): void {
    if (this.#isOver) return;
    while (this.#first < this.#next) {
      const place = present(this.#places[this.#first]);
      if (place.state !== "handled") break;
      this.#first++;
      this.#handled(place.record.offset);
    }
    const poison = this.#poison;
    if (poison !== undefined && this.#first === poison.at) return this.#end(() => this.#reject(poison.cause));
    if (this.#first === this.#places.length) this.#end(this.#resolve);
  }

  #end(report: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#signal.removeEventListener("abort", this.#abandon);
    report();
  }
}
