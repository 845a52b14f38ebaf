/**
 * Port: who may lead which partition, for a while. A lease spares a cluster two leaders at work on one partition; what keeps their
 * writes apart is the epoch, which every commit checks and which rises whenever a lease changes hands. Workers that beat are the
 * members; from them and the present holders everybody computes the same balanced assignment.
 */

/** A worker process for as long as it lives; a restarted one takes another. */
export type WorkerId = string;

/** A lease that was taken. Nobody else is let in before `endsAtMs`. */
export interface HeldLease {
  readonly partition: number;
  /** Of the change of hands. `PartitionStore.claim` makes a higher one. */
  readonly epoch: number;
  /** On the holder's own monotonic clock: from then on it leads no more, whatever it hears or does not hear from the medium. */
  readonly endsAtMs: number;
}

export type LeaseOutcome =
  | { readonly kind: "held"; readonly lease: HeldLease }
  /** Somebody else holds it, for at most `forMs` unless renewed. */
  | { readonly kind: "taken"; readonly partition: number; readonly by: WorkerId; readonly forMs: number }
  /** The partition does not carry the mark of the expected data set. `mark` is the one found; undefined: none. Nothing was written. */
  | { readonly kind: "foreign"; readonly partition: number; readonly mark: string | undefined };

/** Leases of one worker. All methods take many partitions in one round trip and reject with STO0001 when the medium does not answer. */
export interface Leases {
  /** Takes those that are free or ours already. From then on commits of former leaders are fenced. Outcomes in the order asked. */
  acquire(partitions: readonly number[]): Promise<readonly LeaseOutcome[]>;
  /** Lengthens those that are still ours; `taken` and `foreign` say that one is lost. Outcomes in the order asked. */
  renew(partitions: readonly number[]): Promise<readonly LeaseOutcome[]>;
  /** Gives them back at once, and fences ourselves: what we have not committed by then never will be. Those not ours stay as they are. */
  release(partitions: readonly number[]): Promise<void>;
  /** Who holds each, in the order asked; undefined for nobody. */
  holders(partitions: readonly number[]): Promise<readonly (LeaseHolder | undefined)[]>;
}

export interface LeaseHolder {
  readonly worker: WorkerId;
  /** Of its leadership: of two claims to a partition the one with the higher epoch is newer. */
  readonly epoch: number;
  /** Unless renewed it is free after so long; undefined when the medium does not tell. */
  readonly leftMs?: number;
}

/** What a worker tells the others about itself. */
export interface Member {
  readonly id: WorkerId;
  /** Where its peers and gateways reach it. */
  readonly address: string;
  /** It gives its partitions away and takes none. */
  readonly draining: boolean;
}

/** The list of workers. */
export interface Membership {
  /** Puts ourselves on the list for the next while and tells who is on it, in the order of their ids. Rejects with STO0001. */
  beat(self: Member): Promise<readonly Member[]>;
  /** Takes ourselves off the list. */
  leave(id: WorkerId): Promise<void>;
}

/**
 * Which worker should lead which partition: everybody the same number, give or take one, and no more moves than that takes. The same
 * members and holders give everybody the same answer; while the answers differ, the leases keep the peace.
 *
 * `holders[p]` is who leads partition `p` now. Draining workers get nothing. With nobody to take them, partitions stay unassigned.
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

  // Who has most keeps one more, where the number does not divide: that saves a move.
  const least = Math.floor(holders.length / held.size);
  let oneMore = holders.length % held.size;
  const quotas = [...held]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([id]) => [id, least + (oneMore-- > 0 ? 1 : 0)] as const);

  for (const [id, quota] of quotas) {
    const own = held.get(id) as number[];
    for (const partition of own.slice(0, quota)) assignment[partition] = id;
    homeless.push(...own.slice(quota));
  }
  homeless.sort((a, b) => a - b);
  let next = 0;
  for (const [id, quota] of quotas) {
    for (let count = (held.get(id) as number[]).length; count < quota; count++) assignment[homeless[next++] as number] = id;
  }
  return assignment;
}
