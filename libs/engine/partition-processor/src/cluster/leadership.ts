/**
 * Decides which partitions this worker leads. Each poll renews the leases that the worker holds, sends a heartbeat, reads the members
 * and holders, and computes from these which partitions the worker should hold: all workers compute the same. The worker hands over
 * partitions that it should not hold, and acquires free ones that it should.
 *
 *     free ── acquire ──▶ taking ── ready ──▶ leading ── not ours by balance, draining ──▶ yielding ── released ──▶ free
 *                            └──── failed ────┬────┴── lease ended, fenced, store failed ──────┴──▶ lost
 *
 * A lease ends by the worker's own clock, whether or not the medium is reachable; its expiry does not depend on any response.
 */
import { type Clock, causeMessage, type Logger, present, type TimerHandle } from "@perdure/base";
import {
  balancedAssignment,
  type HeldLease,
  type LeaseHolder,
  type Leases,
  type Member,
  type Membership,
  type WorkerId,
} from "@perdure/storage";
import {
  HAND_OVER_MS_MAX,
  HAND_OVERS_AT_ONCE,
  LEASE_POLL_AFTER_END_MS,
  LEASE_POLL_MS,
  LEASE_POLL_PAUSE_MS,
  TAKES_AT_ONCE,
} from "./limits.js";

/** The part of a leader partition that leadership uses. */
export interface LeaderHandle {
  /** Stops in an orderly way: commands that were applied are written. */
  yield(): Promise<void>;
  /** Stops at once: later writes are fenced. */
  abandon(reason: string): void;
}

/** Why a worker acquired a partition: it had no leader · its leader drained · its leader crashed · its leader stays and has fewer now. */
export const HANDOVER_CAUSES = ["start", "drain", "crash", "rebalance"] as const;
export type HandoverCause = (typeof HANDOVER_CAUSES)[number];

/** Leads partitions on behalf of the leadership. */
export interface PartitionStarter {
  /**
   * Starts to lead a partition whose lease this worker holds; resolves when the partition works. `stopped` is called when it stops by
   * itself. `signal` is aborted when the lease is lost before that: from then on the partition must have no further effect.
   */
  lead(partition: number, stopped: () => void, signal: AbortSignal, cause: HandoverCause): Promise<LeaderHandle>;
}

export interface PartitionLeadershipPorts {
  readonly leases: Leases;
  readonly membership: Membership;
  /** Publishes the members and holders of the last poll, for requests that route to leaders. */
  readonly publish: (members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PartitionLeadershipOptions {
  readonly id: string;
  readonly address: string;
  readonly partitionCount: number;
  /** Interval between polls; well below the duration of a lease. Default 250 ms. */
  readonly pollMs?: number;
}

interface LeasedPartition {
  readonly partition: number;
  state: "taking" | "leading" | "yielding" | "lost";
  leader: LeaderHandle | undefined;
  endsAtMs: number;
  /** Aborts the start of leadership. */
  readonly taking: AbortController;
}

export class PartitionLeadership implements AsyncDisposable {
  readonly #ports: PartitionLeadershipPorts;
  readonly #starter: PartitionStarter;
  readonly #options: PartitionLeadershipOptions;
  readonly #all: readonly number[];
  readonly #leased = new Map<number, LeasedPartition>();
  readonly #moves = new Set<Promise<void>>();
  #pollTimer: TimerHandle | undefined;
  #watch: TimerHandle | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isDraining = false;
  /** The worker drains for good. */
  #isLeaving = false;
  #isBarred = false;
  #isClosed = false;
  #isSilent = false;
  #drained: (() => void)[] = [];
  /** The members of the last poll, and its holders with the partitions acquired since. */
  #members: readonly Member[] = [];
  #holders: (LeaseHolder | undefined)[] = [];
  /** By partition, the other worker that led it in the last poll in which it had a leader, and whether that worker was draining then. */
  readonly #former: ({ readonly worker: WorkerId; readonly draining: boolean } | undefined)[] = [];

  constructor(ports: PartitionLeadershipPorts, starter: PartitionStarter, options: PartitionLeadershipOptions) {
    this.#ports = ports;
    this.#starter = starter;
    this.#options = options;
    this.#all = Array.from({ length: options.partitionCount }, (_, partition) => partition);
  }

  /** Partitions that work here now. */
  get leading(): readonly number[] {
    return [...this.#leased.values()].filter(({ state }) => state === "leading").map(({ partition }) => partition);
  }

  /** Resolves after the first poll; rejects when that fails. */
  async start(): Promise<void> {
    const sinceMs = this.#ports.clock.monotonicMs();
    await this.#pollOnce();
    this.#pollLater(sinceMs);
  }

  /** Number of partitions whose lease this worker holds, by state. */
  get counts(): { readonly taking: number; readonly leading: number; readonly yielding: number } {
    const counts = { taking: 0, leading: 0, yielding: 0 };
    for (const { state } of this.#leased.values()) if (state !== "lost") counts[state]++;
    return counts;
  }

  /** Number of partitions whose lease this worker holds, in any state. */
  get heldCount(): number {
    return this.#leased.size;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Hands all partitions over and acquires none, until `stay` is called. */
  standDown(): void {
    this.#isDraining = true;
  }

  /** Acquires its share again; changes nothing once `drain` was called. */
  stay(): void {
    this.#isDraining = this.#isLeaving;
  }

  /** A barred worker leads nothing, whether or not it drains, because the data are not those of its environment. */
  setBarred(isBarred: boolean): void {
    this.#isBarred = isBarred;
  }

  /** Hands all partitions over and acquires none any more; resolves when it holds none. */
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
      logger.debug({ reason: causeMessage(cause) }, "could not remove this worker from the list of workers; its entry expires");
    });
  }

  // ── polling ────────────────────────────────────────────────────────────────────────────────────

  /** `sinceMs`: when the last poll began. On a busy machine polls take long, and leases end all the same. */
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

  /** Soon enough to renew the leases, and to acquire a lease that is not renewed as soon as it is free. */
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
      const leased = present(held[index]);
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

  /** The medium does not respond: the worker continues polling, and its leases end by its own clock. */
  #silence(cause: unknown): void {
    if (!this.#isSilent && !this.#isClosed) {
      this.#ports.logger.warn({ reason: causeMessage(cause) }, "leases cannot be renewed; partitions stop when their leases end");
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

  // ── acquiring and releasing ────────────────────────────────────────────────────────────────────

  #take({ partition, epoch, endsAtMs }: HeldLease): void {
    const { leases, logger } = this.#ports;
    const leased: LeasedPartition = { partition, state: "taking", leader: undefined, endsAtMs, taking: new AbortController() };
    this.#leased.set(partition, leased);
    const stopped = (): void => this.#lose(leased, "the partition stopped");
    this.#move(async () => {
      try {
        const leader = await this.#starter.lead(partition, stopped, leased.taking.signal, this.#causeOf(partition));
        if (leased.state === "lost") return leader.abandon("the lease was lost meanwhile");
        leased.leader = leader;
        leased.state = "leading";
        logger.info({ partition }, "leading");
        this.#publishLeader(partition, epoch);
      } catch (cause) {
        logger.warn({ partition, reason: causeMessage(cause) }, "could not take the lead");
        // A lease that was lost meanwhile may belong to a successor, so it is not ours to release.
        if (this.#vacate(leased)) await leases.release([partition]);
      }
    });
  }

  #noteFormer(members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]): void {
    const isDraining = new Map(members.map(({ id, draining }) => [id, draining]));
    for (const partition of this.#all) {
      const worker = holders[partition]?.worker ?? this.#former[partition]?.worker;
      if (worker === undefined || worker === this.#options.id) continue;
      const before = this.#former[partition];
      const draining = isDraining.get(worker) ?? (before?.worker === worker && before.draining);
      if (before?.worker !== worker || before.draining !== draining) this.#former[partition] = { worker, draining };
    }
  }

  #causeOf(partition: number): HandoverCause {
    const former = this.#former[partition];
    if (former === undefined) return "start";
    if (former.draining) return "drain";
    return this.#members.some(({ id }) => id === former.worker) ? "rebalance" : "crash";
  }

  /** Publishes at once that this worker leads the partition, without waiting for the next poll. */
  #publishLeader(partition: number, epoch: number): void {
    const { id } = this.#options;
    if ((this.#holders[partition]?.epoch ?? 0) > epoch) return;
    this.#holders[partition] = { worker: id, epoch };
    if (this.#members.some((member) => member.id === id)) this.#ports.publish(this.#members, this.#holders);
  }

  /** False when another worker holds the partition now. */
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
      if (!this.#vacate(leased)) return; // The leadership was lost during the start.
      await leases.release([partition]);
      logger.info({ partition }, "handed over");
    });
  }

  #lose(leased: LeasedPartition, reason: string): void {
    if (leased.state === "lost") return;
    const { leader, partition } = leased;
    leased.state = "lost";
    this.#vacate(leased);
    this.#ports.logger.warn({ partition, reason }, "stopped leading");
    if (leader === undefined) leased.taking.abort();
    else leader.abandon(reason);
    this.#resolveDrained();
  }

  #move(work: () => Promise<void>): void {
    const move = work()
      .catch((cause: unknown) => {
        this.#ports.logger.warn({ reason: causeMessage(cause) }, "moving a partition failed; its lease ends by itself");
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
