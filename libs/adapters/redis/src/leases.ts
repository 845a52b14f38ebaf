/**
 * Leases in Redis: a key with the holder's name that expires. The holder counts from the moment it sent its request, by its own
 * monotonic clock, and stops a margin early; Redis counts from when it carried the request out. So the holder has ended before Redis
 * lets another in, as long as the two clocks run at about the same rate. When they do not (a frozen machine, a clock of Redis's host
 * that is set), the epoch, which rises with every change of hands, keeps the former leader from writing.
 */
import { type Clock, invariant, PerdureError, present } from "@perdure/base";
import type { LeaseHolder, LeaseOutcome, Leases, WorkerId } from "@perdure/storage";
import type { RedisConnections } from "./connect.js";
import { type ExpectedDataSet, NO_MARK } from "./data-set.js";
import type { ScriptCall } from "./folding.js";
import { FORMAT, partitionPrefix } from "./keys.js";
import { LEASE_MARGIN_MS, LEASE_MS } from "./limits.js";
import type { CommandReply } from "./link.js";
import { bytesReply, numberReply, valuesReply } from "./replies.js";
import { acquireScript, holderScript, releaseScript, renewScript } from "./scripts.js";

interface RedisLeasesOptions {
  readonly environment: string;
  readonly worker: WorkerId;
  /** Time that a lease lasts without renewal. Default 2 s. */
  readonly leaseMs?: number;
  /** Time by which the lease ends earlier for its holder. Default 200 ms. */
  readonly marginMs?: number;
  /** Undefined: partitions of any data set are leased. */
  readonly dataSet?: ExpectedDataSet | undefined;
}

/** First value of a reply of the scripts that acquire and renew. */
const [REFUSED, HELD, FOREIGN] = [0, 1, 2];

export class RedisLeases implements Leases {
  readonly #redis: RedisConnections;
  readonly #clock: Clock;
  readonly #environment: string;
  readonly #worker: WorkerId;
  readonly #leaseMs: number;
  readonly #marginMs: number;
  readonly #dataSet: ExpectedDataSet | undefined;

  /** Throws OPS0001 when the margin leaves nothing of the lease, or the environment's name cannot be part of a key. */
  constructor(redis: RedisConnections, options: RedisLeasesOptions, clock: Clock) {
    partitionPrefix(redis, options.environment, 0);
    this.#redis = redis;
    this.#clock = clock;
    this.#environment = options.environment;
    this.#worker = options.worker;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#marginMs = options.marginMs ?? LEASE_MARGIN_MS;
    this.#dataSet = options.dataSet;
    if (this.#marginMs >= this.#leaseMs) throw new PerdureError("OPS0001", "a lease must be longer than its margin");
  }

  acquire(partitions: readonly number[]): Promise<readonly LeaseOutcome[]> {
    const args = [FORMAT, this.#worker, this.#leaseMs, this.#mark];
    return this.#each(partitions, true, (keys) => ({ script: acquireScript, keys, args }));
  }

  renew(partitions: readonly number[]): Promise<readonly LeaseOutcome[]> {
    const args = [this.#worker, this.#leaseMs, this.#mark];
    return this.#each(partitions, false, (keys) => ({ script: renewScript, keys, args }));
  }

  async release(partitions: readonly number[]): Promise<void> {
    const call = (partition: number): ScriptCall => ({
      script: releaseScript,
      keys: this.#keys(partition),
      args: [this.#worker],
    });
    await Promise.all(partitions.map((partition) => this.#redis.leases.one(call(partition), { replicated: true })));
  }

  async holders(partitions: readonly number[]): Promise<readonly (LeaseHolder | undefined)[]> {
    const options = { timeoutMs: this.#leaseMs };
    // All of one moment: a holder with its successor's epoch would be believed for ever.
    const calls = partitions.map((partition): ScriptCall => ({ script: holderScript, keys: this.#keys(partition), args: [] }));
    const requests = calls.map(async (call) => valuesReply(await this.#redis.leases.one(call, options)));
    const replies = await Promise.all(requests);
    this.#dataSet?.onMarks(replies.map(([mark = null]) => markOf(mark)));
    return replies.map(([, worker, epoch = null, leftMs = null]) =>
      worker === undefined ? undefined : { worker: textOf(worker), epoch: numberReply(epoch), leftMs: numberReply(leftMs) },
    );
  }

  get #mark(): string {
    return this.#dataSet?.id ?? NO_MARK;
  }

  /** Requests of one turn of the event loop leave in one write; in a cluster in one write per node. */
  async #each(
    partitions: readonly number[],
    replicated: boolean,
    call: (keys: readonly [string, string]) => ScriptCall,
  ): Promise<readonly LeaseOutcome[]> {
    const sentAtMs = this.#clock.monotonicMs();
    const options = { replicated, timeoutMs: this.#leaseMs };
    const requests = partitions.map(async (partition) =>
      valuesReply(await this.#redis.leases.one(call(this.#keys(partition)), options)),
    );
    const replies = await Promise.all(requests);
    return partitions.map((partition, n): LeaseOutcome => {
      const [outcome, value = null, leftMs = null] = present(replies[n]);
      if (outcome === REFUSED) return { kind: "taken", partition, by: textOf(value), forMs: numberReply(leftMs) };
      if (outcome === FOREIGN) return this.#foreign(partition, markOf(value));
      invariant(outcome === HELD, "a script of leases returns one of three outcomes");
      const endsAtMs = sentAtMs + this.#leaseMs - this.#marginMs;
      return { kind: "held", lease: { partition, epoch: numberReply(value), endsAtMs } };
    });
  }

  #foreign(partition: number, mark: string | undefined): LeaseOutcome {
    this.#dataSet?.onMarks([mark]);
    return { kind: "foreign", partition, mark };
  }

  #keys(partition: number): readonly [epoch: string, lease: string] {
    const prefix = partitionPrefix(this.#redis, this.#environment, partition);
    return [`${prefix}epoch`, `${prefix}lease`];
  }
}

function textOf(reply: CommandReply): string {
  return present(bytesReply(reply) ?? undefined).toString();
}

function markOf(reply: CommandReply): string | undefined {
  return textOf(reply) || undefined;
}
