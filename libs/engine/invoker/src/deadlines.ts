/**
 * Timers for a large number of waits that rarely last until they fire: attempts and drains of their streams. All waits of equal delay are
 * in one list behind one real timer, so that adding and removing a wait sets two pointers; one timer per wait costs several times as
 * much.
 */
import type { Clock, TimerHandle } from "@perdure/base";

export interface DeadlineWaiter {
  /** The delay has passed and the wait has ended. */
  deadlineReached(): void;
}

/** Handle of a wait, to cancel it early. */
export class Ticket {
  readonly waiting: DeadlineWaiter;
  readonly deadlineMs: number;
  /** Undefined once the wait has been removed. */
  line: DeadlineQueue | undefined;
  next: Ticket | undefined;
  previous: Ticket | undefined;

  constructor(waiting: DeadlineWaiter, deadlineMs: number, line: DeadlineQueue) {
    this.waiting = waiting;
    this.deadlineMs = deadlineMs;
    this.line = line;
    this.next = undefined;
    this.previous = undefined;
  }

  /** Cancels the wait; no effect afterwards. */
  cancel(): void {
    this.line?.remove(this);
  }
}

export class AttemptDeadlines {
  readonly #clock: Clock;
  /** Lists by delay. Their number is the number of different delays in use, which are settings of handlers. */
  readonly #lines = new Map<number, DeadlineQueue>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `waiting` after `delayMs`, unless the ticket is cancelled. */
  add(waiting: DeadlineWaiter, delayMs: number): Ticket {
    let line = this.#lines.get(delayMs);
    if (line === undefined) {
      line = new DeadlineQueue(this.#clock, delayMs, () => this.#lines.delete(delayMs));
      this.#lines.set(delayMs, line);
    }
    return line.add(waiting);
  }
}

/** A linked list, earliest deadline first because each wait is appended at the end. */
class DeadlineQueue {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onEmpty: () => void;
  #first: Ticket | undefined;
  #last: Ticket | undefined;
  #timer: TimerHandle | undefined;
  #firing = false;

  constructor(clock: Clock, delayMs: number, onEmpty: () => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onEmpty = onEmpty;
  }

  add(waiting: DeadlineWaiter): Ticket {
    const ticket = new Ticket(waiting, this.#clock.monotonicMs() + this.#delayMs, this);
    if (this.#last === undefined) this.#first = ticket;
    else {
      this.#last.next = ticket;
      ticket.previous = this.#last;
    }
    this.#last = ticket;
    if (!this.#firing) this.#timer ??= this.#clock.setTimer(this.#delayMs, this.#timeIsUp);
    return ticket;
  }

  remove(ticket: Ticket): void {
    this.#unlink(ticket);
    if (this.#first === undefined && !this.#firing) this.#close();
  }

  #unlink(ticket: Ticket): void {
    const { previous, next } = ticket;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    ticket.line = undefined;
    ticket.next = undefined;
    ticket.previous = undefined;
  }

  #close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#onEmpty();
  }

  readonly #timeIsUp = (): void => {
    this.#timer = undefined;
    this.#firing = true;
    const now = this.#clock.monotonicMs();
    let first = this.#first;
    for (; first !== undefined && first.deadlineMs <= now; first = this.#first) {
      this.#unlink(first);
      first.waiting.deadlineReached();
    }
    this.#firing = false;
    if (first === undefined) this.#close();
    else this.#timer = this.#clock.setTimer(first.deadlineMs - now, this.#timeIsUp);
  };
}
