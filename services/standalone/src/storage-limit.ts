/**
 * Enforces the storage limit of an environment's plan (cloud.md §5.4) without losing data. The measure is the engine's size on disk, read
 * every second, so it lags by what is written in one second.
 *
 *     below ──(limit)──▶ full: writes refused, topics wait ───────(a tenth more)──▶ held: no attempts either
 *       ▲                     │                                                        │
 *       └──(under 95 %)───────┴────── what was deleted is compacted away ◀─────────────┘
 */
import { type Clock, type Logger, PerdureError, RepeatedTask } from "@perdure/base";
import { STORAGE_CHECK_MS, STORAGE_COMPACT_EVERY_MS, STORAGE_FREE_SHARE, STORAGE_HELD_SHARE } from "./limits.js";

interface MeasuredStorage {
  /** Nothing is measured while this value stays the same: idle environments cost nothing. */
  readonly batches: number;
  storedBytes(): Promise<number>;
  compact(): Promise<void>;
}

interface StorageLimitPorts {
  readonly storage: MeasuredStorage;
  /** Called with true at every check while no attempts may run, and once with false when they may again. */
  readonly onHeld: (isHeld: boolean) => void;
  /** Called after every measurement that the limit is or was reached at. */
  readonly onState?: (isFull: boolean, isHeld: boolean) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class StorageLimit implements AsyncDisposable {
  readonly bytesMax: number;
  readonly #ports: StorageLimitPorts;
  #isFull = false;
  #isHeld = false;
  #compactAtMs = 0;
  #measuredBatches = -1;
  #compacting: Promise<void> | undefined;
  readonly #checks: RepeatedTask;

  private constructor(ports: StorageLimitPorts, bytesMax: number) {
    this.#ports = ports;
    this.bytesMax = bytesMax;
    const { clock, logger } = ports;
    const failed = "what is stored could not be measured; trying again";
    this.#checks = new RepeatedTask({ clock, logger, pauseMs: STORAGE_CHECK_MS, run: () => this.#measure(), failed });
  }

  /** Resolves after the first check: a server that starts full accepts nothing. */
  static async open(ports: StorageLimitPorts, bytesMax: number): Promise<StorageLimit> {
    const limit = new StorageLimit(ports, bytesMax);
    await limit.#checks.running;
    return limit;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#checks[Symbol.asyncDispose]();
    await this.#compacting;
  }

  async #measure(): Promise<void> {
    const { storage, clock, logger, onHeld, onState } = this.#ports;
    const { batches } = storage;
    if (batches === this.#measuredBatches && !this.#isFull) return;
    const bytes = await storage.storedBytes();
    this.#measuredBatches = batches;
    const wasFull = this.#isFull;
    this.#isFull = bytes > this.bytesMax * (wasFull ? STORAGE_FREE_SHARE : 1);
    const isHeld = bytes > this.bytesMax * (this.#isHeld ? 1 : STORAGE_HELD_SHARE);
    if (wasFull !== this.#isFull) {
      const fields = { bytes, bytesMax: this.bytesMax };
      if (this.#isFull)
        logger.warn({ ...fields, code: "TEN0003" }, "the storage limit is reached; refusing what would add to it");
      else logger.info(fields, "storage is below its limit again");
    }
    if (isHeld || this.#isHeld) onHeld(isHeld);
    if (wasFull || this.#isFull) onState?.(this.#isFull, isHeld);
    this.#isHeld = isHeld;
    if (this.#isFull && clock.monotonicMs() >= this.#compactAtMs) this.#compacting ??= this.#compact();
  }

  /** Never rejects. Much of the full storage may be deleted data. */
  async #compact(): Promise<void> {
    const { storage, clock, logger } = this.#ports;
    const startedAtMs = clock.monotonicMs();
    try {
      await storage.compact();
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      logger.warn({ code, reason: detail }, "the storage could not be compacted; trying again");
    }
    const endedAtMs = clock.monotonicMs();
    // So that compaction takes a tenth of the time at most.
    this.#compactAtMs = endedAtMs + Math.max(STORAGE_COMPACT_EVERY_MS, 10 * (endedAtMs - startedAtMs));
    this.#compacting = undefined;
  }
}
