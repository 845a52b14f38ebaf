/**
 * Records since when this worker leads a partition, and when its lease ends, for operators; each poll of the leases has the second only.
 */
import type { Clock } from "@perdure/base";
import type { LeadershipStatus } from "@perdure/grpc";
import type { LeaseHolder } from "@perdure/storage";

interface OwnLease {
  readonly epoch: number;
  readonly sinceMs: number;
  leaseExpiresAtMs: number | undefined;
}

export class OwnLeases {
  readonly #id: string;
  readonly #clock: Clock;
  readonly #leases = new Map<number, OwnLease>();

  constructor(id: string, clock: Clock) {
    this.#id = id;
    this.#clock = clock;
  }

  /** `holders[p]`: the holder of the lease of partition p, read at this moment. */
  update(holders: readonly (LeaseHolder | undefined)[]): void {
    const nowMs = this.#clock.nowMs();
    for (const [partition, holder] of holders.entries()) {
      if (holder?.worker !== this.#id) {
        this.#leases.delete(partition);
        continue;
      }
      const { epoch, leftMs } = holder;
      const current = this.#leases.get(partition);
      const lease = current?.epoch === epoch ? current : { epoch, sinceMs: nowMs, leaseExpiresAtMs: undefined };
      if (leftMs !== undefined) lease.leaseExpiresAtMs = nowMs + leftMs;
      this.#leases.set(partition, lease);
    }
  }

  /** `leading`: partitions that this worker leads. Those whose lease was not read yet are omitted until the next poll. */
  of(leading: readonly number[]): readonly LeadershipStatus[] {
    return leading.flatMap((partition) => {
      const lease = this.#leases.get(partition);
      return lease === undefined ? [] : [{ partition, ...lease }];
    });
  }
}
