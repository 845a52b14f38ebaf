/**
 * Port of leases: which worker may lead which partition, for a limited time. A lease avoids that two leaders work on one partition;
 * what keeps their writes apart is the epoch, which every commit checks and which rises whenever a lease changes hands. Workers that
 * send heartbeats are the members; every worker computes the same balanced assignment from the members and the present holders.
 */
import { present } from "@perdure/base";

/** Identifies one run of a worker process; a restarted worker takes a new id. */
export type WorkerId = string;

/** A lease that this worker holds. No other worker can acquire it before `endsAtMs`. */
export interface HeldLease {
  readonly partition: number;
  /** The epoch of the change of hands. `PartitionStore.claim` makes a higher one. */
  readonly epoch: number;
  /** Expiry on the holder's own monotonic clock: from then on the holder no longer leads, whatever the medium responds. */
  readonly endsAtMs: number;
}

export type LeaseOutcome =
  | { readonly kind: "held"; readonly lease: HeldLease }
  /** Another worker holds it, for at most `forMs` unless it renews the lease. */
  | { readonly kind: "taken"; readonly partition: number; readonly by: WorkerId; readonly forMs: number }
  /**
   * The partition does not carry the mark of the expected data set. `mark` is the one it carries; undefined: none. Nothing was written.
   */
  | { readonly kind: "foreign"; readonly partition: number; readonly mark: string | undefined };

/**
 * Leases of one worker. All methods handle many partitions in one round trip and reject with STO0001 when the medium does not respond.
 */
export interface Leases {
  /**
   * Acquires the leases that are free or already ours. From then on commits of former leaders are fenced. Outcomes in the order of
   * `partitions`.
   */
  acquire(partitions: readonly number[]): Promise<readonly LeaseOutcome[]>;
  /** Extends the leases that are still ours; `taken` and `foreign` mean that one is lost. Outcomes in the order of `partitions`. */
  renew(partitions: readonly number[]): Promise<readonly LeaseOutcome[]>;
  /**
   * Releases the leases at once, and fences this worker: what it has not committed by then never will be. Leases of others stay as they
   * are.
   */
  release(partitions: readonly number[]): Promise<void>;
  /** Returns the holder of each partition in the order of `partitions`; undefined when it is free. */
  holders(partitions: readonly number[]): Promise<readonly (LeaseHolder | undefined)[]>;
}

export interface LeaseHolder {
  readonly worker: WorkerId;
  /** The epoch of the leadership: of two claims to a partition the one with the higher epoch is newer. */
  readonly epoch: number;
  /** Remaining time of the lease, after which it is free unless renewed; undefined when the medium does not report it. */
  readonly leftMs?: number;
}

/** Facts that a worker publishes about itself to the other workers. */
export interface Member {
  readonly id: WorkerId;
  /** Address at which other workers and gateways reach the worker. */
  readonly address: string;
  /** The worker hands its partitions over and acquires none. */
  readonly draining: boolean;
}

/** The list of workers. */
export interface Membership {
  /**
   * Sends a heartbeat that keeps this worker on the list for a limited time; returns the members in the order of their ids. Rejects
   * with STO0001.
   */
  beat(self: Member): Promise<readonly Member[]>;
  /** Removes this worker from the list. */
  leave(id: WorkerId): Promise<void>;
}

/**
 * Computes which worker should lead which partition: the numbers per worker differ by at most one, and no more partitions move than
 * that requires. Equal members and holders give equal results on every worker; while the inputs of workers differ, the leases prevent
 * two leaders.
 *
 * `holders[p]` leads partition `p` now. Draining workers get no partition. Without any worker that is not draining, partitions stay
 * unassigned.
 */
export function balancedAssignment(
  members: readonly Pick<Member, "id" | "draining">[],
  holders: readonly (WorkerId | undefined)[],
): readonly (WorkerId | undefined)[] {
  const able = members.filter(({ draining }) => !draining).map(({ id }) => id);
  const held = new Map<WorkerId, number[]>([...new Set(able)].sort().map((id) => [id, []]));
  const assignment: (WorkerId | undefined)[] = holders.map(() => undefined);
  if (held.size === 0) return assignment;

  const homeless: number[] = [];
  for (const [partition, holder] of holders.entries()) {
    const own = holder === undefined ? undefined : held.get(holder);
    if (own === undefined) homeless.push(partition);
    else own.push(partition);
  }

  // Workers that have the most partitions keep one more when the number does not divide evenly: that avoids a move.
  const least = Math.floor(holders.length / held.size);
  let oneMore = holders.length % held.size;
  const quotas = [...held]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([id]) => [id, least + (oneMore-- > 0 ? 1 : 0)] as const);

  for (const [id, quota] of quotas) {
    const own = present(held.get(id));
    for (const partition of own.slice(0, quota)) assignment[partition] = id;
    homeless.push(...own.slice(quota));
  }
  homeless.sort((a, b) => a - b);
  let next = 0;
  for (const [id, quota] of quotas) {
    for (let count = present(held.get(id)).length; count < quota; count++) assignment[present(homeless[next++])] = id;
  }
  return assignment;
}
