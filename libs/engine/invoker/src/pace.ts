/**
 * Rate limit of one attempt: messages and bytes per second, each with a reserve. Beyond, its stream is read more slowly, which the
 * handler notices as backpressure and nothing else. Shares (`fair-shares.ts`) divide the available units among active services; the pace
 * bounds what one attempt uses in the long run, also of the disk, when it is alone.
 */
import { PACE_BYTES_RESERVE_SECONDS, PACE_DELAY_MS_MIN, PACE_MESSAGES_RESERVE_SECONDS } from "./limits.js";

export interface PaceLimits {
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
}

/** Amounts that an attempt has handled since it began. */
export interface Handled {
  readonly messages: number;
  readonly bytes: number;
}

export class MessagePace {
  readonly #limits: PaceLimits;
  /** Used parts of the reserves, which the rates refill. */
  #messages = 0;
  #bytes = 0;
  #countedMessages = 0;
  #countedBytes = 0;
  #atMs: number;

  constructor(limits: PaceLimits, nowMs: number) {
    this.#limits = limits;
    this.#atMs = nowMs;
  }

  /** Counts what was handled since the last call. Returns the milliseconds after which the attempt may continue; 0: at once. */
  delayMs(handled: Handled, nowMs: number): number {
    const { messagesPerSecond, bytesPerSecond } = this.#limits;
    const seconds = Math.max(0, nowMs - this.#atMs) / 1000;
    this.#atMs = nowMs;
    this.#messages = Math.max(0, this.#messages - seconds * messagesPerSecond) + handled.messages - this.#countedMessages;
    this.#bytes = Math.max(0, this.#bytes - seconds * bytesPerSecond) + handled.bytes - this.#countedBytes;
    this.#countedMessages = handled.messages;
    this.#countedBytes = handled.bytes;
    const behindSeconds = Math.max(
      this.#messages / messagesPerSecond - PACE_MESSAGES_RESERVE_SECONDS,
      this.#bytes / bytesPerSecond - PACE_BYTES_RESERVE_SECONDS,
    );
    return behindSeconds <= 0 ? 0 : Math.max(PACE_DELAY_MS_MIN, behindSeconds * 1000);
  }
}
