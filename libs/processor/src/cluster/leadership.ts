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
import {
  HAND_OVER_MS_MAX,
  HAND_OVERS_AT_ONCE,
  LEASE_POLL_AFTER_END_MS,
  LEASE_POLL_MS,
  LEASE_POLL_PAUSE_MS,
  TAKES_AT_ONCE,
} from "./limits.js";

/** What is led, as far as leadership cares. */
export interface LeaderHandle {
  /** Stops in peace: what is applied is written. */
  yield(): Promise<void>;
  /** Stops now: nothing that it would write counts any more. */
  abandon(reason: string): void;
}

/** Why a partition came to us: nobody had it · its leader gave it away and went · was gone · stays and has less now. */
export const HANDOVER_CAUSES = ["start", "drain", "crash", "rebalance"] as const;
export type HandoverCause = (typeof HANDOVER_CAUSES)[number];

export interface PartitionLeadershipPorts {
  readonly leases: Leases;
  readonly membership: Membership;
  /**
   * Leads a partition whose lease is ours; resolves when it works. `stopped` is called when it ends by itself. Aborted when the lease
   * is lost before that: from then on nothing of it may happen any more.
   */
  readonly lead: (partition: number, stopped: () => void, signal: AbortSignal, cause: HandoverCause) => Promise<LeaderHandle>;
  /** What was seen last, for whoever wants to know who leads. */
  readonly publish: (members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PartitionLeadershipOptions {
  readonly id: string;
  readonly address: string;
  readonly partitionCount: number;
  /** How often to renew and look; well below what a lease lasts. Default 250 ms. */
  readonly pollMs?: number;
}

interface LeasedPartition {
  readonly partition: number;
  state: "taking" | "leading" | "yielding" | "lost";
  leader: LeaderHandle | undefined;
  endsAtMs: number;
  /** Aborts what is being taken. */
  readonly taking: AbortController;
}

export class PartitionLeadership implements AsyncDisposable {
  readonly #ports: PartitionLeadershipPorts;
  readonly #options: PartitionLeadershipOptions;
  readonly #all: readonly number[];
  readonly #leased = new Map<number, LeasedPartition>();
  readonly #moves = new Set<Promise<void>>();
  #pollTimer: TimerHandle | undefined;
  #watch: TimerHandle | undefined;
  #polling: Promise<void> = Promise.resolve();
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

  constructor(ports: PartitionLeadershipPorts, options: PartitionLeadershipOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#all = Array.from({ length: options.partitionCount }, (_, partition) => partition);
  }

  /** Partitions that work here now. */
  get leading(): readonly number[] {
    return [...this.#leased.values()].filter(({ state }) => state === "leading").map(({ partition }) => partition);
  }

  /** Resolves after the first look; rejects when the medium does not answer it. */
  async start(): Promise<void> {
    const sinceMs = this.#ports.clock.monotonicMs();
    await this.#pollOnce();
    this.#pollLater(sinceMs);
  }

  /** Partitions whose lease is ours, by what becomes of them here. */
  get counts(): { readonly taking: number; readonly leading: number; readonly yielding: number } {
    const counts = { taking: 0, leading: 0, yielding: 0 };
    for (const { state } of this.#leased.values()) if (state !== "lost") counts[state]++;
    return counts;
  }

  /** Partitions whose lease is ours, whatever state they are in. */
  get heldCount(): number {
    return this.#leased.size;
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
    if (this.#leased.size === 0 || this.#isClosed) return;
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pollTimer?.cancel();
    await this.#polling;
    for (const leased of this.#leased.values()) this.#handOver(leased);
    await Promise.all(this.#moves);
    this.#watch?.cancel();
    const { membership, logger } = this.#ports;
    await membership.leave(this.#options.id).catch((cause: unknown) => {
      logger.debug({ reason: reasonOf(cause) }, "could not remove this worker from the list of workers; its entry expires");
    });
  }

  // ── looking ────────────────────────────────────────────────────────────────────────────────────

  /** `sinceMs`: when the last look began. On a busy machine looks take long, and leases end all the same. */
  #pollLater(sinceMs: number): void {
    if (this.#isClosed) return;
    const { clock } = this.#ports;
    this.#pollTimer = clock.setTimer(this.#nextPollMs(clock.monotonicMs() - sinceMs), () => {
      const nowMs = clock.monotonicMs();
      this.#polling = this.#pollOnce().then(
        () => this.#leasesRenewed(),
        (cause: unknown) => this.#silence(cause),
      );
      this.#polling.then(() => this.#pollLater(nowMs));
    });
  }

  /** Soon enough to renew, and to find a lease that nobody renews as soon as it is free. */
  #nextPollMs(elapsedMs: number): number {
    let nextMs = Math.max(LEASE_POLL_PAUSE_MS, (this.#options.pollMs ?? LEASE_POLL_MS) - elapsedMs);
    for (const holder of this.#holders) {
      if (holder?.leftMs === undefined || holder.worker === this.#options.id) continue;
      nextMs = Math.min(nextMs, Math.max(0, holder.leftMs) + LEASE_POLL_AFTER_END_MS);
    }
    return nextMs;
  }

  async #pollOnce(): Promise<void> {
    const { leases, membership, publish } = this.#ports;
    const { id, address } = this.#options;
    const held = [...this.#leased.values()].filter(({ state }) => state !== "lost");
    const self: Member = { id, address, draining: this.#isDraining || this.#isBarred };
    const [renewals, members, holders] = await Promise.all([
      leases.renew(held.map(({ partition }) => partition)),
      membership.beat(self),
      leases.holders(this.#all),
    ]);
    for (const [index, outcome] of renewals.entries()) {
      const leased = held[index] as LeasedPartition;
      if (outcome.kind === "held") leased.endsAtMs = outcome.lease.endsAtMs;
      else if (outcome.kind === "foreign") this.#lose(leased, "the partition is not of the expected data set");
      else this.#lose(leased, "another worker holds the lease");
    }
    this.#watchLeases();
    this.#members = members;
    this.#noteFormer(members, holders);
    this.#holders = [...holders];
    publish(members, this.#holders);
    await this.#balance(members, holders);
  }

  async #balance(members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]): Promise<void> {
    const { id } = this.#options;
    const ours = balancedAssignment(
      members,
      holders.map((holder) => holder?.worker),
    );
    for (const leased of this.#leased.values()) {
      if (leased.state === "leading" && ours[leased.partition] !== id && this.#moves.size < HAND_OVERS_AT_ONCE)
        this.#handOver(leased);
    }
    if (this.#isDraining || this.#isBarred || this.#isClosed) return;
    const free = this.#all.filter(
      (partition) => ours[partition] === id && !this.#leased.has(partition) && (holders[partition]?.worker ?? id) === id,
    );
    const requested = free.slice(0, Math.max(0, TAKES_AT_ONCE - this.#moves.size));
    if (requested.length === 0) return;
    for (const outcome of await this.#ports.leases.acquire(requested)) {
      if (outcome.kind === "held") this.#take(outcome.lease);
    }
    this.#watchLeases();
  }

  #leasesRenewed(): void {
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
    for (const leased of this.#leased.values()) if (leased.state !== "lost") first = Math.min(first, leased.endsAtMs);
    if (first === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#ports;
    this.#watch = clock.setTimer(Math.max(0, first - clock.monotonicMs()), () => {
      const nowMs = clock.monotonicMs();
      for (const leased of this.#leased.values())
        if (leased.endsAtMs <= nowMs) this.#lose(leased, "the lease ended before it could be renewed");
      this.#watchLeases();
    });
  }

  // ── moving ─────────────────────────────────────────────────────────────────────────────────────

  #take({ partition, epoch, endsAtMs }: HeldLease): void {
    const { lead, leases, logger } = this.#ports;
    const leased: LeasedPartition = { partition, state: "taking", leader: undefined, endsAtMs, taking: new AbortController() };
    this.#leased.set(partition, leased);
    const stopped = (): void => this.#lose(leased, "the partition stopped");
    this.#move(async () => {
      try {
        const leader = await lead(partition, stopped, leased.taking.signal, this.#causeOf(partition));
        if (leased.state === "lost") return leader.abandon("the lease was lost meanwhile");
        leased.leader = leader;
        leased.state = "leading";
        logger.info({ partition }, "leading");
        this.#publishLeader(partition, epoch);
      } catch (cause) {
        logger.warn({ partition, reason: reasonOf(cause) }, "could not take the lead");
        // A seat that was lost meanwhile may have a successor, whose lease is not ours to give back.
        if (this.#vacate(leased)) await leases.release([partition]);
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
  #publishLeader(partition: number, epoch: number): void {
    const { id } = this.#options;
    if ((this.#holders[partition]?.epoch ?? 0) > epoch) return;
    this.#holders[partition] = { worker: id, epoch };
    if (this.#members.some((member) => member.id === id)) this.#ports.publish(this.#members, this.#holders);
  }

  /** False when it is somebody else's by now. */
  #vacate(leased: LeasedPartition): boolean {
    return this.#leased.get(leased.partition) === leased && this.#leased.delete(leased.partition);
  }

  #handOver(leased: LeasedPartition): void {
    const { leases, clock, logger } = this.#ports;
    const { leader, partition } = leased;
    if (leased.state !== "leading" || leader === undefined) return;
    leased.state = "yielding";
    this.#move(async () => {
      let timer: TimerHandle | undefined;
      const timeout = new Promise<"late">((resolve) => {
        timer = clock.setTimer(HAND_OVER_MS_MAX, () => resolve("late"));
      });
      const outcome = await Promise.race([leader.yield(), timeout]);
      timer?.cancel();
      if (outcome === "late") leader.abandon("it took too long to hand over");
      if (!this.#vacate(leased)) return; // Lost on the way.
      await leases.release([partition]);
      logger.info({ partition }, "handed over");
    });
  }

  #lose(leased: LeasedPartition, reason: string): void {
    if (leased.state === "lost") return;
    const { leader, partition } = leased;
    leased.state = "lost";
    this.#vacate(leased);
    this.#ports.logger.warn({ partition, reason }, "leading no more");
    if (leader === undefined) leased.taking.abort();
    else leader.abandon(reason);
    this.#resolveDrained();
  }

  #move(work: () => Promise<void>): void {
    const move = work()
      .catch((cause: unknown) => {
        this.#ports.logger.warn({ reason: reasonOf(cause) }, "moving a partition failed; its lease ends by itself");
      })
      .finally(() => {
        this.#moves.delete(move);
        this.#resolveDrained();
      });
    this.#moves.add(move);
  }

  #resolveDrained(): void {
    if (this.#leased.size > 0) return;
    const drained = this.#drained;
    this.#drained = [];
    for (const resolve of drained) resolve();
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
