/**
 * Which partitions this worker leads. Again and again it renews what it holds, tells that it lives, looks who else does and who holds
 * what, and from that computes what it should hold: everybody computes the same. What it should not hold it hands over in peace, what
 * is free and should be its own it takes.
 *
 *     free ── acquire ──▶ taking ── ready ──▶ leading ── not ours by balance, draining ──▶ yielding ── released ──▶ free
 *                            └──── failed ────┬────┴── lease ended, fenced, store failed ──────┴──▶ lost
 *
 * A lease ends by our own clock whether or not the medium can be heard; the watch on it does not depend on any answer.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import {
  balancedAssignment,
  type HeldLease,
  type LeaseHolder,
  type Leases,
  type Member,
  type Membership,
  type WorkerId,
} from "@perdure/store";
import { HAND_OVER_MS_MAX, HAND_OVERS_AT_ONCE, LOOK_AFTER_END_MS, LOOK_MS, LOOK_PAUSE_MS, TAKES_AT_ONCE } from "./limits.js";

/** What is led, as far as leadership cares. */
export interface Led {
  /** Stops in peace: what is applied is written. */
  yield(): Promise<void>;
  /** Stops now: nothing that it would write counts any more. */
  abandon(reason: string): void;
}

/** Why a partition came to us: nobody had it · its leader gave it away and went · was gone · stays and has less now. */
export const HANDOVER_CAUSES = ["start", "drain", "crash", "rebalance"] as const;
export type HandoverCause = (typeof HANDOVER_CAUSES)[number];

export interface LeadershipPorts {
  readonly leases: Leases;
  readonly membership: Membership;
  /**
   * Leads a partition whose lease is ours; resolves when it works. `stopped` is called when it ends by itself. Aborted when the lease
   * is lost before that: from then on nothing of it may happen any more.
   */
  readonly lead: (partition: number, stopped: () => void, signal: AbortSignal, cause: HandoverCause) => Promise<Led>;
  /** What was seen last, for whoever wants to know who leads. */
  readonly seen: (members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface LeadershipOptions {
  readonly id: string;
  readonly address: string;
  readonly partitionCount: number;
  /** How often to renew and look; well below what a lease lasts. Default 250 ms. */
  readonly lookMs?: number;
}

interface Seat {
  readonly partition: number;
  state: "taking" | "leading" | "yielding" | "lost";
  led: Led | undefined;
  endsAtMs: number;
  /** Aborts what is being taken. */
  readonly taking: AbortController;
}

export class Leadership implements AsyncDisposable {
  readonly #ports: LeadershipPorts;
  readonly #options: LeadershipOptions;
  readonly #all: readonly number[];
  readonly #seats = new Map<number, Seat>();
  readonly #moves = new Set<Promise<void>>();
  #look: TimerHandle | undefined;
  #watch: TimerHandle | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isDraining = false;
  /** Draining for good. */
  #isLeaving = false;
  #isBarred = false;
  #isClosed = false;
  #isSilent = false;
  #drained: (() => void)[] = [];
  /** What the last look saw, with what we took since. */
  #members: readonly Member[] = [];
  #holders: (LeaseHolder | undefined)[] = [];
  /** Of each partition, which other worker was seen leading it last, and whether that was draining when it was seen last. */
  readonly #former: ({ readonly worker: WorkerId; readonly draining: boolean } | undefined)[] = [];

  constructor(ports: LeadershipPorts, options: LeadershipOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#all = Array.from({ length: options.partitionCount }, (_, partition) => partition);
  }

  /** Partitions that work here now. */
  get leading(): readonly number[] {
    return [...this.#seats.values()].filter(({ state }) => state === "leading").map(({ partition }) => partition);
  }

  /** Resolves after the first look; rejects when the medium does not answer it. */
  async start(): Promise<void> {
    const sinceMs = this.#ports.clock.monotonicMs();
    await this.#lookOnce();
    this.#lookLater(sinceMs);
  }

  /** Partitions whose lease is ours, by what becomes of them here. */
  get counts(): { readonly taking: number; readonly leading: number; readonly yielding: number } {
    const counts = { taking: 0, leading: 0, yielding: 0 };
    for (const { state } of this.#seats.values()) if (state !== "lost") counts[state]++;
    return counts;
  }

  /** Partitions whose lease is ours, whatever state they are in. */
  get heldCount(): number {
    return this.#seats.size;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on gives everything away and takes nothing, until it may stay after all. */
  standDown(): void {
    this.#isDraining = true;
  }

  /** Takes its share again; changes nothing once `drain` was called. */
  stay(): void {
    this.#isDraining = this.#isLeaving;
  }

  /** While barred it leads nothing, whether or not it drains: the data are not those it should lead. */
  setBarred(isBarred: boolean): void {
    this.#isBarred = isBarred;
  }

  /** Gives everything away and takes nothing any more; resolves when nothing is held. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#isLeaving = true;
    if (this.#seats.size === 0 || this.#isClosed) return;
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#look?.cancel();
    await this.#looking;
    for (const seat of this.#seats.values()) this.#handOver(seat);
    await Promise.all(this.#moves);
    this.#watch?.cancel();
    const { membership, logger } = this.#ports;
    await membership.leave(this.#options.id).catch((cause: unknown) => {
      logger.debug({ reason: reasonOf(cause) }, "could not remove this worker from the list of workers; its entry expires");
    });
  }

  // ── looking ────────────────────────────────────────────────────────────────────────────────────

  /** `sinceMs`: when the last look began. On a busy machine looks take long, and leases end all the same. */
  #lookLater(sinceMs: number): void {
    if (this.#isClosed) return;
    const { clock } = this.#ports;
    this.#look = clock.setTimer(this.#nextLookMs(clock.monotonicMs() - sinceMs), () => {
      const nowMs = clock.monotonicMs();
      this.#looking = this.#lookOnce().then(
        () => this.#hear(),
        (cause: unknown) => this.#silence(cause),
      );
      this.#looking.then(() => this.#lookLater(nowMs));
    });
  }

  /** Soon enough to renew, and to find a lease that nobody renews as soon as it is free. */
  #nextLookMs(elapsedMs: number): number {
    let nextMs = Math.max(LOOK_PAUSE_MS, (this.#options.lookMs ?? LOOK_MS) - elapsedMs);
    for (const holder of this.#holders) {
      if (holder?.leftMs === undefined || holder.worker === this.#options.id) continue;
      nextMs = Math.min(nextMs, Math.max(0, holder.leftMs) + LOOK_AFTER_END_MS);
    }
    return nextMs;
  }

  async #lookOnce(): Promise<void> {
    const { leases, membership, seen } = this.#ports;
    const { id, address } = this.#options;
    const held = [...this.#seats.values()].filter(({ state }) => state !== "lost");
    const self: Member = { id, address, draining: this.#isDraining || this.#isBarred };
    const [renewals, members, holders] = await Promise.all([
      leases.renew(held.map(({ partition }) => partition)),
      membership.beat(self),
      leases.holders(this.#all),
    ]);
    for (const [index, outcome] of renewals.entries()) {
      const seat = held[index] as Seat;
      if (outcome.kind === "held") seat.endsAtMs = outcome.lease.endsAtMs;
      else if (outcome.kind === "foreign") this.#lose(seat, "the partition is not of the expected data set");
      else this.#lose(seat, "another worker holds the lease");
    }
    this.#watchLeases();
    this.#members = members;
    this.#noteFormer(members, holders);
    this.#holders = [...holders];
    seen(members, this.#holders);
    await this.#balance(members, holders);
  }

  async #balance(members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]): Promise<void> {
    const { id } = this.#options;
    const ours = balancedAssignment(
      members,
      holders.map((holder) => holder?.worker),
    );
    for (const seat of this.#seats.values()) {
      if (seat.state === "leading" && ours[seat.partition] !== id && this.#moves.size < HAND_OVERS_AT_ONCE) this.#handOver(seat);
    }
    if (this.#isDraining || this.#isBarred || this.#isClosed) return;
    const free = this.#all.filter(
      (partition) => ours[partition] === id && !this.#seats.has(partition) && (holders[partition]?.worker ?? id) === id,
    );
    const wanted = free.slice(0, Math.max(0, TAKES_AT_ONCE - this.#moves.size));
    if (wanted.length === 0) return;
    for (const outcome of await this.#ports.leases.acquire(wanted)) {
      if (outcome.kind === "held") this.#take(outcome.lease);
    }
    this.#watchLeases();
  }

  #hear(): void {
    if (this.#isSilent) this.#ports.logger.info({}, "leases can be renewed again");
    this.#isSilent = false;
  }

  /** Nothing to do but go on trying: what we hold ends by our own clock. */
  #silence(cause: unknown): void {
    if (!this.#isSilent && !this.#isClosed) {
      this.#ports.logger.warn({ reason: reasonOf(cause) }, "leases cannot be renewed; partitions are given up when theirs ends");
    }
    this.#isSilent = true;
  }

  /** One timer for the lease that ends first. */
  #watchLeases(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
    let first = Number.POSITIVE_INFINITY;
    for (const seat of this.#seats.values()) if (seat.state !== "lost") first = Math.min(first, seat.endsAtMs);
    if (first === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#ports;
    this.#watch = clock.setTimer(Math.max(0, first - clock.monotonicMs()), () => {
      const nowMs = clock.monotonicMs();
      for (const seat of this.#seats.values())
        if (seat.endsAtMs <= nowMs) this.#lose(seat, "the lease ended before it could be renewed");
      this.#watchLeases();
    });
  }

  // ── moving ─────────────────────────────────────────────────────────────────────────────────────

  #take({ partition, epoch, endsAtMs }: HeldLease): void {
    const { lead, leases, logger } = this.#ports;
    const seat: Seat = { partition, state: "taking", led: undefined, endsAtMs, taking: new AbortController() };
    this.#seats.set(partition, seat);
    const stopped = (): void => this.#lose(seat, "the partition stopped");
    this.#move(async () => {
      try {
        const led = await lead(partition, stopped, seat.taking.signal, this.#causeOf(partition));
        if (seat.state === "lost") return led.abandon("the lease was lost meanwhile");
        seat.led = led;
        seat.state = "leading";
        logger.info({ partition }, "leading");
        this.#tell(partition, epoch);
      } catch (cause) {
        logger.warn({ partition, reason: reasonOf(cause) }, "could not take the lead");
        // A seat that was lost meanwhile may have a successor, whose lease is not ours to give back.
        if (this.#vacate(seat)) await leases.release([partition]);
      }
    });
  }

  #noteFormer(members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]): void {
    for (const partition of this.#all) {
      const worker = holders[partition]?.worker ?? this.#former[partition]?.worker;
      if (worker === undefined || worker === this.#options.id) continue;
      const member = members.find(({ id }) => id === worker);
      const before = this.#former[partition];
      const draining = member?.draining ?? (before?.worker === worker && before.draining);
      if (before?.worker !== worker || before.draining !== draining) this.#former[partition] = { worker, draining };
    }
  }

  #causeOf(partition: number): HandoverCause {
    const former = this.#former[partition];
    if (former === undefined) return "start";
    if (former.draining) return "drain";
    return this.#members.some(({ id }) => id === former.worker) ? "rebalance" : "crash";
  }

  /** Whoever wants to know who leads hears at once that we do, not at the next look. */
  #tell(partition: number, epoch: number): void {
    const { id } = this.#options;
    if ((this.#holders[partition]?.epoch ?? 0) > epoch) return;
    this.#holders[partition] = { worker: id, epoch };
    if (this.#members.some((member) => member.id === id)) this.#ports.seen(this.#members, this.#holders);
  }

  /** False when it is somebody else's by now. */
  #vacate(seat: Seat): boolean {
    return this.#seats.get(seat.partition) === seat && this.#seats.delete(seat.partition);
  }

  #handOver(seat: Seat): void {
    const { leases, clock, logger } = this.#ports;
    const { led, partition } = seat;
    if (seat.state !== "leading" || led === undefined) return;
    seat.state = "yielding";
    this.#move(async () => {
      let timer: TimerHandle | undefined;
      const late = new Promise<"late">((resolve) => {
        timer = clock.setTimer(HAND_OVER_MS_MAX, () => resolve("late"));
      });
      const outcome = await Promise.race([led.yield(), late]);
      timer?.cancel();
      if (outcome === "late") led.abandon("it took too long to hand over");
      if (!this.#vacate(seat)) return; // Lost on the way.
      await leases.release([partition]);
      logger.info({ partition }, "handed over");
    });
  }

  #lose(seat: Seat, reason: string): void {
    if (seat.state === "lost") return;
    const { led, partition } = seat;
    seat.state = "lost";
    this.#vacate(seat);
    this.#ports.logger.warn({ partition, reason }, "leading no more");
    if (led === undefined) seat.taking.abort();
    else led.abandon(reason);
    this.#settle();
  }

  #move(work: () => Promise<void>): void {
    const move = work()
      .catch((cause: unknown) => {
        this.#ports.logger.warn({ reason: reasonOf(cause) }, "moving a partition failed; its lease ends by itself");
      })
      .finally(() => {
        this.#moves.delete(move);
        this.#settle();
      });
    this.#moves.add(move);
  }

  #settle(): void {
    if (this.#seats.size > 0) return;
    const drained = this.#drained;
    this.#drained = [];
    for (const resolve of drained) resolve();
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
