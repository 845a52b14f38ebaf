/**
 * Turns for large messages of all attempts of a process. While a message arrives, is stored and becomes an outcome, several copies of it
 * exist at once, so the number of concurrent large messages is bounded: attempts without a turn stop reading, and flow control leaves the
 * rest of their message at the endpoint. A turn that lasts long no longer counts: a slow endpoint must not delay the others.
 */
import { type Clock, Ring, type TimerHandle } from "@perdure/base";
import { LARGE_MESSAGES_BYTES_MAX, LARGE_TURN_MS_MAX } from "./limits.js";

export class LargeMessages {
  readonly #clock: Clock;
  readonly #bytesMax: number;
  /** Waiting attempts by service; the services are in the order of their turns. */
  readonly #waiting = new Map<string, Ring<LargeTurn>>();
  #bytes = 0;

  constructor(clock: Clock, bytesMax = LARGE_MESSAGES_BYTES_MAX) {
    this.#clock = clock;
    this.#bytesMax = bytesMax;
  }

  /** Requests a turn for a message of `bytes`. `granted` is called only when the turn is granted later, and not after `release`. */
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

  /** Bytes of a turn that was granted, is over, or was withdrawn. */
  ended(bytes: number): void {
    this.#bytes -= bytes;
    for (const [service, queue] of this.#waiting) {
      while (queue.peek()?.state === "over") queue.shift();
      const next = queue.peek();
      if (next !== undefined && !this.#fits(next.bytes)) return;
      queue.shift();
      // Appended behind the other services, which this loop reaches first.
      this.#waiting.delete(service);
      if (queue.length > 0) this.#waiting.set(service, queue);
      if (next === undefined) continue;
      this.#grant(next);
      next.granted();
    }
  }

  /** One message always fits. */
  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax;
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

  /** The message was handled or withdrawn. May be called again. */
  release(): void {
    const counted = this.#state === "granted" ? this.bytes : 0;
    if (this.#state === "over") return;
    this.#state = "over";
    this.#expiry?.cancel();
    this.#messages.ended(counted);
  }
}
