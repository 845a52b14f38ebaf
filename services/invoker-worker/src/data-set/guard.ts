/**
 * Watches the data set while the worker runs. Redis may lose its data (FLUSHALL, an empty replica that is promoted, another server behind
 * its name). Each poll of the leases has the marks of all partitions; when one is missing or different this worker leads nothing until
 * all are correct again. The record in PostgreSQL is read again at long intervals, and at short ones during a mismatch: it has another
 * mark once an operator has accepted the loss.
 */
import { type Clock, type Logger, PerdureError, type Random, type TimerHandle } from "@perdure/base";
import type { StoredDataSet } from "@perdure/metadata";
import type { ExpectedDataSet } from "@perdure/redis";
import { MISMATCH_CHECK_MS, MISMATCH_LOG_MS, RECORD_CHECK_MS } from "../limits.js";

interface DataSetGuardPorts {
  /** Rejects with STO0001 when PostgreSQL is unreachable: then the last record counts. */
  readonly readRecord: () => Promise<StoredDataSet | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class DataSetGuard implements ExpectedDataSet, AsyncDisposable {
  readonly #ports: DataSetGuardPorts;
  readonly #partitionCount: number;
  readonly #listeners: ((isMismatched: boolean) => void)[] = [];
  #id: string;
  #isMismatched = false;
  /** Whether the record had `#id` when it was last read. */
  #isRecorded = true;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #timer: TimerHandle | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `id` is the agreed mark. `isRecorded` false: PostgreSQL was unreachable, and the record is read soon. */
  constructor(ports: DataSetGuardPorts, partitionCount: number, id: string, isRecorded: boolean) {
    this.#ports = ports;
    this.#partitionCount = partitionCount;
    this.#id = id;
    this.#readLater(isRecorded ? RECORD_CHECK_MS : MISMATCH_CHECK_MS);
  }

  get id(): string {
    return this.#id;
  }

  get isMismatched(): boolean {
    return this.#isMismatched;
  }

  /** Calls the listener after each change of `isMismatched`, in the order of registration. */
  onChange(listener: (isMismatched: boolean) => void): void {
    this.#listeners.push(listener);
  }

  onMarks(marks: readonly (string | undefined)[]): void {
    const other = marks.filter((mark) => mark !== this.#id);
    if (other.length > 0 || !this.#isRecorded) return this.#refuse(other);
    // One partition with the correct mark says nothing about the others.
    if (this.#isMismatched && marks.length === this.#partitionCount) this.#change(false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#reading;
  }

  #refuse(other: readonly (string | undefined)[]): void {
    const { clock, logger } = this.#ports;
    const nowMs = clock.monotonicMs();
    if (!this.#isMismatched || nowMs - this.#loggedAtMs >= MISMATCH_LOG_MS) {
      this.#loggedAtMs = nowMs;
      logger.error(
        {
          code: "STO0005",
          mark: this.#id,
          found: other.find((mark) => mark !== undefined) ?? "none",
          recorded: this.#isRecorded,
        },
        "partition data are not those that this environment was using; no partition is led",
      );
    }
    if (!this.#isMismatched) this.#change(true);
  }

  #change(isMismatched: boolean): void {
    this.#isMismatched = isMismatched;
    if (!isMismatched) this.#ports.logger.info({ mark: this.#id }, "partition data are the expected ones again");
    for (const listener of this.#listeners) listener(isMismatched);
    this.#readLater(isMismatched ? 0 : RECORD_CHECK_MS);
  }

  #readLater(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    const { clock, random } = this.#ports;
    this.#timer = clock.setTimer(delayMs * (0.5 + random.float() / 2), () => {
      this.#reading = this.#read().finally(() => this.#readLater(this.#isMismatched ? MISMATCH_CHECK_MS : RECORD_CHECK_MS));
    });
  }

  async #read(): Promise<void> {
    const { readRecord, logger } = this.#ports;
    let record: StoredDataSet | undefined;
    try {
      record = await readRecord();
    } catch (cause) {
      // While PostgreSQL is unreachable the worker continues.
      logger.debug({ reason: PerdureError.from(cause).detail }, "the record of the data set cannot be read; trying again");
      return;
    }
    const isRecorded = record?.id === this.#id && record.state === "established";
    if (!isRecorded && record?.state === "established") {
      // The next poll checks whether the partitions have the new mark.
      logger.warn({ mark: record.id, before: this.#id }, "the environment uses another data set now");
      this.#id = record.id;
      this.#isRecorded = true;
      if (!this.#isMismatched) this.#refuse([]);
      return;
    }
    this.#isRecorded = isRecorded;
    if (!isRecorded) this.#refuse([]);
  }
}
