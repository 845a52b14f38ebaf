/**
 * Reads whole request bodies, the one part of a request that can be large, slow or endless. One reading collects one body within its
 * limits; the gate has all readings, holds their common budget and ends those that are too slow.
 */
import { allocateBytes, type Clock, EMPTY_BYTES, type TimerHandle } from "@perdure/base";
import type { BodyReceiver } from "./exchange.js";
import * as limits from "./limits.js";

/** Why a body was not read. */
export type BodyFailure = "tooLarge" | "overBudget" | "tooSlow";

/** Receiver of a whole body. Exactly one of the two is called, once, unless the client disconnects. */
export interface WholeBodyReceiver {
  /**
   * The bytes may share memory with a larger network buffer: copy what is kept. When `spaceBytes` is not 0, the receiver owns the memory of
   * the bytes and that many bytes in front of them, where it may write a header.
   */
  body(bytes: Uint8Array, spaceBytes: number): void;
  bodyFailed(cause: BodyFailure): void;
}

interface BodyLimits {
  readonly requestBytesMax: number;
  readonly bufferedBodyBytesMax: number;
  readonly bodyTimeoutMs: number;
  /** Least average rate; a default applies when it is not set, and 0 allows any. */
  readonly bodyBytesPerSecondMin?: number;
}

/** All bodies that one port reads. */
export class BodyGate {
  readonly limits: BodyLimits;
  readonly #clock: Clock;
  readonly #readings = new Set<BodyReading>();
  #bufferedBytes = 0;
  #sweep: TimerHandle | undefined = undefined;

  constructor(clock: Clock, bodyLimits: BodyLimits) {
    this.#clock = clock;
    this.limits = bodyLimits;
  }

  /**
   * @param announcedBytes length of the body from Content-Length; 0 when absent
   * @param bytesMax bound of this body, when it is not that of the gate
   */
  open(receiver: WholeBodyReceiver, announcedBytes = 0, bytesMax = this.limits.requestBytesMax): BodyReading {
    const reading = new BodyReading(this, receiver, this.#clock.monotonicMs(), announcedBytes, bytesMax);
    this.#readings.add(reading);
    if (this.#sweep === undefined) this.#armSweep();
    return reading;
  }

  /** Reserves `bytes` of the budget; false when it is used up. */
  reserve(bytes: number): boolean {
    this.#bufferedBytes += bytes;
    return this.#bufferedBytes <= this.limits.bufferedBodyBytesMax;
  }

  close(reading: BodyReading, bytes: number): void {
    this.#readings.delete(reading);
    this.#bufferedBytes -= bytes;
  }

  /** Nothing is read any more. */
  stop(): void {
    this.#sweep?.cancel();
    this.#sweep = undefined;
  }

  #armSweep(): void {
    this.#sweep = this.#clock.setTimer(limits.bodySweepMs, () => {
      this.#sweep = undefined;
      const nowMs = this.#clock.monotonicMs();
      for (const reading of this.#readings) {
        if (reading.isTooSlow(nowMs)) reading.fail("tooSlow");
      }
      if (this.#readings.size > 0) this.#armSweep();
    });
  }
}

/** A body that is being received. Ends by `end`, `fail` or `cancel`, whichever comes first. */
export class BodyReading implements BodyReceiver {
  readonly #gate: BodyGate;
  readonly #receiver: WholeBodyReceiver;
  readonly #startedAtMs: number;
  readonly #announcedBytes: number;
  readonly #bytesMax: number;
  /** The only chunk so far; once there are more, a buffer of which the first `#bytes` are filled. */
  #held: Uint8Array = EMPTY_BYTES;
  /** Free bytes in front of `#held`. */
  #spaceBytes = 0;
  #bytes = 0;
  #open = true;

  constructor(gate: BodyGate, receiver: WholeBodyReceiver, startedAtMs: number, announcedBytes: number, bytesMax: number) {
    this.#gate = gate;
    this.#receiver = receiver;
    this.#startedAtMs = startedAtMs;
    this.#announcedBytes = announcedBytes;
    this.#bytesMax = bytesMax;
  }

  data(chunk: Uint8Array): void {
    if (!this.#open) return; // The exchange was refused; the rest of the body is discarded.
    const before = this.#bytes;
    this.#bytes = before + chunk.length;
    const withinBudget = this.#gate.reserve(chunk.length);
    if (this.#bytes > this.#bytesMax) return this.fail("tooLarge");
    if (!withinBudget) return this.fail("overBudget");
    if (before === 0) this.#held = chunk;
    else this.#append(chunk, before);
  }

  end(): void {
    if (!this.#open) return;
    const whole = this.#held.length === this.#bytes ? this.#held : this.#held.subarray(0, this.#bytes);
    this.cancel();
    this.#receiver.body(whole, this.#spaceBytes);
  }

  fail(cause: BodyFailure): void {
    if (!this.#open) return;
    this.cancel();
    this.#receiver.bodyFailed(cause);
  }

  /** The body is no longer needed. */
  cancel(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#gate.close(this, this.#bytes);
    this.#held = EMPTY_BYTES;
  }

  isTooSlow(nowMs: number): boolean {
    const ageMs = nowMs - this.#startedAtMs;
    const { bodyTimeoutMs, bodyBytesPerSecondMin = limits.bodyBytesPerSecondMin } = this.#gate.limits;
    if (ageMs > bodyTimeoutMs) return true;
    return ageMs > limits.bodyRateGraceMs && this.#bytes < (ageMs / 1000) * bodyBytesPerSecondMin;
  }

  /**
   * Copies into a buffer that doubles: in a list of chunks, one-byte chunks would cost a hundred bytes each. Towards the announced length
   * the buffer grows faster, but a client gets no memory for a length that it only announces.
   */
  #append(chunk: Uint8Array, at: number): void {
    if (this.#bytes > this.#held.length) {
      const desiredBytes = Math.max(this.#bytes, at * 2, Math.min(this.#announcedBytes, at * limits.announcedGrowthFactor));
      const bytes = Math.min(desiredBytes, this.#bytesMax);
      const spaceBytes = bytes >= limits.BODY_SPACE_FROM_BYTES ? limits.BODY_SPACE_BYTES : 0;
      const larger = allocateBytes(spaceBytes + bytes).subarray(spaceBytes);
      larger.set(this.#held.subarray(0, at));
      this.#held = larger;
      this.#spaceBytes = spaceBytes;
    }
    this.#held.set(chunk, at);
  }
}
