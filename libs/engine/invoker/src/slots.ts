/**
 * The limit on attempts with an open stream in this process, and the order in which slots are granted.
 *
 *     waiting: continuations (a caller waits for them, or they continue after a suspension)  ─┐ 4 : 1   services take turns
 *              beginnings (all others), which leave a reserve to the continuations        ─┘
 *
 * While runs wait, attempts whose handler is blocked are requested to suspend, those that have been blocked longest first: a handler that
 * waits for a timer or a callee does not need its stream. Otherwise callers that wait for callees could hold every slot that the callees
 * need.
 *
 * The number of attempts of a service whose handler has not sent a message yet is bounded. The other runs of a burst wait here, where
 * services take turns, and not at the endpoint, where calls of other services would wait behind all of them. The same holds for attempts
 * whose stream waits because no connection to the endpoint accepts more streams: a bounded number of them hold a slot, and blocked
 * handlers of that endpoint are requested to suspend.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import {
  CONTINUATIONS_IN_A_ROW,
  SLOT_PRESSURE_INTERVAL_MS,
  SLOT_RESERVE_SHARE,
  SLOT_WARNING_INTERVAL_MS,
  STREAM_WAIT_MS,
  STREAMLESS_PER_SERVICE_MAX,
  SUSPENSION_ANSWER_MS,
  UNANSWERED_MS,
  UNANSWERED_PER_SERVICE_MAX,
} from "./limits.js";
import { type QueuedForSlot, SlotQueue } from "./slot-queue.js";

export interface SlotUser extends QueuedForSlot {
  /** A caller waits for the result of the run, or the run continues after a suspension: slots are reserved for it. */
  readonly isContinuation: boolean;
  /** A slot is granted; return it with `release`. Returns false when the run no longer needs it: the next run gets it. */
  slotGranted(): boolean;
  /**
   * Since when (monotonic) the handler of its attempt has been blocked; undefined while the handler works, or when the attempt cannot be
   * requested to suspend or was requested already.
   */
  blockedSinceMs(): number | undefined;
  /** Requests its attempt to suspend. */
  suspendBlocked(): void;
  /** Endpoint of its last attempt; runs with the same endpoint share connections. */
  readonly endpoint: string | undefined;
}

export class Slots {
  /** Maximum of concurrent attempts. */
  readonly limit: number;
  /** Slots that only continuations use. */
  readonly #reserve: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #beginnings = new SlotQueue<SlotUser>();
  readonly #continuations = new SlotQueue<SlotUser>();
  /** Number of runs that wait; the queues may also hold runs that were stopped. */
  #waitingBeginnings = 0;
  #waitingContinuations = 0;
  readonly #holders = new Set<SlotUser>();
  #heldByBeginnings = 0;
  /** Attempts that were requested to suspend, and when (monotonic). */
  readonly #requested = new Map<SlotUser, number>();
  /** Attempts whose handler has not sent a message yet, in the order in which they began (monotonic). */
  readonly #unanswered = new Map<SlotUser, number>();
  readonly #unansweredByService = new Map<string, number>();
  /** Holders whose stream waits for a connection, and since when (monotonic). */
  readonly #streamless = new Map<SlotUser, number>();
  readonly #streamlessByService = new Map<string, number>();
  #continuationsInARow = 0;
  #granting = false;
  #isHeld = false;
  #pressure: TimerHandle | undefined;
  #suspensionsRequested = 0;
  /** Monotonic time of the last warning. */
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(limit: number, clock: Clock, logger: Logger) {
    this.limit = limit;
    this.#reserve = Math.floor(limit * SLOT_RESERVE_SHARE);
    this.#clock = clock;
    this.#logger = logger;
  }

  get used(): number {
    return this.#holders.size;
  }

  /** Runs that wait for a slot. */
  get waiting(): number {
    return this.#waitingBeginnings + this.#waitingContinuations;
  }

  /** Attempts that were requested to suspend because other runs waited, since the process started. */
  get suspensionsRequested(): number {
    return this.#suspensionsRequested;
  }

  /** Time since which the longest waiting run waits; undefined when no run waits. */
  get oldestQueuedAtMs(): number | undefined {
    if (this.waiting === 0) return undefined;
    const oldest = Math.min(
      this.#beginnings.oldestQueuedAtMs ?? Number.POSITIVE_INFINITY,
      this.#continuations.oldestQueuedAtMs ?? Number.POSITIVE_INFINITY,
    );
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  /** Grants a slot at once or later. `user.isWaitingForSlot` must be true from now until the grant or `withdraw`. */
  acquire(user: SlotUser): void {
    this.#queueOf(user).push(user);
    this.#count(user, 1);
    this.#grant();
  }

  /** A waiting run was stopped; its `isWaitingForSlot` is false already. */
  withdraw(user: SlotUser): void {
    this.#count(user, -1);
    this.#watchPressure();
  }

  /** The handler of its attempt has sent a message, or no message is expected: the attempt no longer delays others of its service. */
  answered(user: SlotUser): void {
    if (this.#endUnanswered(user) && this.waiting > 0) this.#grant();
  }

  /** The stream of its attempt waits for a connection that accepts it, or no longer waits. */
  streamWaits(user: SlotUser, isWaiting: boolean): void {
    if (!isWaiting) {
      if (this.#endStreamWait(user) && this.waiting > 0) this.#grant();
      return;
    }
    if (this.#streamless.has(user) || !this.#holders.has(user)) return;
    this.#streamless.set(user, this.#clock.monotonicMs());
    this.#streamlessByService.set(user.service, this.#streamlessOf(user.service) + 1);
    this.#watchPressure();
  }

  release(user: SlotUser): void {
    if (!this.#holders.delete(user)) return;
    this.#endUnanswered(user);
    this.#endStreamWait(user);
    if (!user.isContinuation) this.#heldByBeginnings--;
    this.#requested.delete(user);
    this.#grant();
  }

  /** Stops or allows the granting of slots. Attempts that have a slot keep it. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#grant();
  }

  #queueOf(user: SlotUser): SlotQueue<SlotUser> {
    return user.isContinuation ? this.#continuations : this.#beginnings;
  }

  #count(user: SlotUser, change: 1 | -1): void {
    if (user.isContinuation) this.#waitingContinuations += change;
    else this.#waitingBeginnings += change;
  }

  // ── grants ─────────────────────────────────────────────────────────────────────────────────────

  /**
   * An attempt that fails at once releases its slot inside the grant; the loop continues from here, so that many of them do not grow the
   * stack.
   */
  #grant(): void {
    if (this.#granting) return;
    this.#granting = true;
    for (let user = this.#next(); user !== undefined; user = this.#next()) {
      this.#count(user, -1);
      this.#holders.add(user);
      if (!user.isContinuation) this.#heldByBeginnings++;
      this.#unanswered.set(user, this.#clock.monotonicMs());
      this.#unansweredByService.set(user.service, this.#unansweredOf(user.service) + 1);
      if (user.slotGranted()) continue;
      this.#endUnanswered(user);
      this.#holders.delete(user);
      if (!user.isContinuation) this.#heldByBeginnings--;
    }
    this.#granting = false;
    this.#watchPressure();
  }

  #next(): SlotUser | undefined {
    if (this.#isHeld || this.waiting === 0 || this.#holders.size >= this.limit) return undefined;
    const isTurnOfBeginnings = this.#continuationsInARow >= CONTINUATIONS_IN_A_ROW;
    if (isTurnOfBeginnings) return this.#nextBeginning() ?? this.#nextContinuation();
    return this.#nextContinuation() ?? this.#nextBeginning();
  }

  #nextContinuation(): SlotUser | undefined {
    if (this.#waitingContinuations === 0) return undefined;
    const user = this.#continuations.shift(this.#maySend);
    if (user !== undefined) this.#continuationsInARow++;
    return user;
  }

  #nextBeginning(): SlotUser | undefined {
    if (this.#waitingBeginnings === 0 || !this.#mayBegin) return undefined;
    const user = this.#beginnings.shift(this.#maySend);
    if (user !== undefined) this.#continuationsInARow = 0;
    return user;
  }

  get #mayBegin(): boolean {
    return this.#heldByBeginnings < this.limit - this.#reserve;
  }

  // ── backlog of endpoints ───────────────────────────────────────────────────────────────────────

  readonly #maySend = (service: string): boolean =>
    this.#unansweredOf(service) < UNANSWERED_PER_SERVICE_MAX && this.#streamlessOf(service) < STREAMLESS_PER_SERVICE_MAX;

  #streamlessOf(service: string): number {
    return this.#streamlessByService.get(service) ?? 0;
  }

  /** False: its stream did not wait. */
  #endStreamWait(user: SlotUser): boolean {
    if (!this.#streamless.delete(user)) return false;
    const left = this.#streamlessOf(user.service) - 1;
    if (left > 0) this.#streamlessByService.set(user.service, left);
    else this.#streamlessByService.delete(user.service);
    return true;
  }

  #unansweredOf(service: string): number {
    return this.#unansweredByService.get(service) ?? 0;
  }

  /** Returns false when it was settled before. */
  #endUnanswered(user: SlotUser): boolean {
    if (!this.#unanswered.delete(user)) return false;
    const left = this.#unansweredOf(user.service) - 1;
    if (left > 0) this.#unansweredByService.set(user.service, left);
    else this.#unansweredByService.delete(user.service);
    return true;
  }

  /** Handlers that are silent at first do not delay others for long. */
  #endOverdueUnanswered(): void {
    const sinceMs = this.#clock.monotonicMs() - UNANSWERED_MS;
    for (const [user, begunAtMs] of this.#unanswered) {
      if (begunAtMs > sinceMs) return;
      this.#endUnanswered(user);
    }
  }

  // ── pressure ───────────────────────────────────────────────────────────────────────────────────

  /** Runs wait for slots that other attempts hold. */
  get #isUnderPressure(): boolean {
    if (this.#holders.size >= this.limit) return this.waiting > 0;
    return this.#waitingBeginnings > 0 && !this.#mayBegin;
  }

  #watchPressure(): void {
    if ((this.waiting === 0 && this.#streamless.size === 0) || this.#isHeld) {
      this.#pressure?.cancel();
      this.#pressure = undefined;
    } else this.#pressure ??= this.#clock.setTimer(SLOT_PRESSURE_INTERVAL_MS, this.#relieve);
  }

  /** Requests at most as many attempts to suspend as runs wait, including those that have not suspended yet. */
  readonly #relieve = (): void => {
    this.#pressure = undefined;
    this.#endOverdueUnanswered();
    this.#grant();
    if (this.#isHeld) return;
    if (this.#isUnderPressure) {
      this.#warn();
      // While slots are free, only beginnings wait, and they wait for slots of beginnings.
      const beginningsOnly = this.#holders.size < this.limit;
      this.#suspendBlocked(this.waiting, (user) => !beginningsOnly || !user.isContinuation);
    }
    const { count, endpoints } = this.#withoutStream();
    if (count > 0) this.#suspendBlocked(count, (user) => user.endpoint !== undefined && endpoints.has(user.endpoint));
  };

  /** Requests the attempts blocked longest to suspend, as many as are needed beside those that are expected to suspend. */
  #suspendBlocked(count: number, isCandidate: (user: SlotUser) => boolean): void {
    const needed = count - this.#answersExpected();
    if (needed <= 0) return;
    for (const user of this.#longestBlocked(needed, isCandidate)) {
      this.#requested.set(user, this.#clock.monotonicMs());
      this.#suspensionsRequested++;
      user.suspendBlocked();
    }
  }

  /** Attempts whose stream has waited longer than a connection needs, and their endpoints. */
  #withoutStream(): { readonly count: number; readonly endpoints: ReadonlySet<string> } {
    const sinceMs = this.#clock.monotonicMs() - STREAM_WAIT_MS;
    const endpoints = new Set<string>();
    let count = 0;
    for (const [{ endpoint }, waitsSinceMs] of this.#streamless) {
      if (waitsSinceMs > sinceMs) break;
      count++;
      if (endpoint !== undefined) endpoints.add(endpoint);
    }
    return { count, endpoints };
  }

  #warn(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#warnedAtMs < SLOT_WARNING_INTERVAL_MS) return;
    this.#warnedAtMs = nowMs;
    this.#logger.warn(
      { waiting: this.waiting, used: this.used, limit: this.limit, suspensionsRequested: this.#suspensionsRequested },
      "invocations wait for a slot of their worker",
    );
  }

  /** A handler that does not suspend within the time was busy: it does not count, so that others are requested instead. */
  #answersExpected(): number {
    const sinceMs = this.#clock.monotonicMs() - SUSPENSION_ANSWER_MS;
    let expected = 0;
    for (const requestedAtMs of this.#requested.values()) if (requestedAtMs > sinceMs) expected++;
    return expected;
  }

  #longestBlocked(count: number, isCandidate: (user: SlotUser) => boolean): SlotUser[] {
    const blocked: { readonly user: SlotUser; readonly sinceMs: number }[] = [];
    for (const user of this.#holders) {
      if (!isCandidate(user)) continue;
      const sinceMs = user.blockedSinceMs();
      if (sinceMs !== undefined) blocked.push({ user, sinceMs });
    }
    blocked.sort((a, b) => a.sinceMs - b.sinceMs);
    return blocked.slice(0, count).map(({ user }) => user);
  }
}
