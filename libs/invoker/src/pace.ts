/**
 * How fast an attempt may be: messages and bytes per second, each with a reserve. Beyond, its stream is read more slowly,
 * which the handler notices as backpressure and nothing else. Shares (`fair-shares.ts`) divide what there is among those at work; the pace
 * bounds what one attempt takes in the long run, also of the disk, when it is alone.
 */
import { PACE_BYTES_RESERVE_SECONDS, PACE_DELAY_MS_MIN, PACE_MESSAGES_RESERVE_SECONDS } from "./limits.js";

export interface PaceLimits {
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
}

/** What an attempt has handled since it began. */
export interface Handled {
  readonly messages: number;
  readonly bytes: number;
}

export class MessagePace {
  readonly #limits: PaceLimits;
  /** Used of the reserves, which the rates fill up again. */
  #messages = 0;
  #bytes = 0;
  #countedMessages = 0;
  #countedBytes = 0;
  #atMs: number;

  constructor(limits: PaceLimits, nowMs: number) {
    this.#limits = limits;
    this.#atMs = nowMs;
  }

  /** Counts what was handled since the last call. Returns after how long the attempt may go on; 0: at once. */
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
