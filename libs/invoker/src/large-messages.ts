/**
 * Turns for large messages of all attempts of a process. While a message arrives, is stored and becomes an outcome, several copies of it
 * exist at once, so what arrives at the same time is bounded: attempts without a turn stop reading, and flow control leaves the rest of
 * their message with the endpoint. A turn that lasts long no longer counts: a slow endpoint must not hold up the others.
 */
import { type Clock, Ring, type TimerHandle } from "@perdure/base";
import { LARGE_MESSAGES_BYTES_MAX, LARGE_TURN_MS_MAX } from "./limits.js";

export class LargeMessages {
  readonly #clock: Clock;
  /** Who waits, by service; the services in the order of their turns. */
  readonly #waiting = new Map<string, Ring<LargeTurn>>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A turn for a message of `bytes`, at once or later: `granted` is called only for a later one, and not after `release`. */
  acquire(service: string, bytes: number, granted: () => void): LargeTurn {
    const turn = new LargeTurn(bytes, granted, this);
    if (this.#waiting.size === 0 && this.#fits(bytes)) this.#grant(turn);
    else {
      const queue = this.#waiting.get(service) ?? new Ring();
      queue.push(turn);
      this.#waiting.set(service, queue);
    }
    return turn;
  }

  /** Of a turn that was granted, is over, or is no longer wanted. */
  ended(bytes: number): void {
    this.#bytes -= bytes;
    for (const [service, queue] of this.#waiting) {
      while (queue.peek()?.state === "over") queue.shift();
      const next = queue.peek();
      if (next !== undefined && !this.#fits(next.bytes)) return;
      queue.shift();
      // Behind the other services, which this loop then comes to first.
      this.#waiting.delete(service);
      if (queue.length > 0) this.#waiting.set(service, queue);
      if (next === undefined) continue;
      this.#grant(next);
      next.granted();
    }
  }

  /** One message always fits. */
  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= LARGE_MESSAGES_BYTES_MAX;
  }

  #grant(turn: LargeTurn): void {
    this.#bytes += turn.bytes;
    turn.begin(this.#clock.setTimer(LARGE_TURN_MS_MAX, () => turn.release()));
  }
}

export class LargeTurn {
  readonly bytes: number;
  readonly granted: () => void;
  readonly #messages: LargeMessages;
  #expiry: TimerHandle | undefined;
  #state: "waiting" | "granted" | "over" = "waiting";

  constructor(bytes: number, granted: () => void, messages: LargeMessages) {
    this.bytes = bytes;
    this.granted = granted;
    this.#messages = messages;
  }

  get state(): "waiting" | "granted" | "over" {
    return this.#state;
  }

  begin(expiry: TimerHandle): void {
    this.#state = "granted";
    this.#expiry = expiry;
  }

  /** The message is dealt with, or no longer wanted. May be called again. */
  release(): void {
    const counted = this.#state === "granted" ? this.bytes : 0;
    if (this.#state === "over") return;
    this.#state = "over";
    this.#expiry?.cancel();
    this.#messages.ended(counted);
  }
}
