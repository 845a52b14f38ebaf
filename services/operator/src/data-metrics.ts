/** Metrics of overdue backups and filling volumes, over all environments and without their names. */
import type { Metrics } from "@perdure/telemetry";

interface Noted {
  /** Milliseconds since 1970; undefined: there is no snapshot yet. */
  readonly lastSnapshotMs: number | undefined;
  readonly isStale: boolean;
}

/** Ages of the latest snapshots of environments with a backup schedule, as far as this operator has reconciled them. */
export class SnapshotAges {
  readonly #noted = new Map<string, Noted>();

  constructor(metrics: Metrics, nowMs: () => number) {
    metrics.observed(
      {
        type: "gauge",
        name: "perdure_operator_snapshot_age_seconds",
        help: "Age of the oldest of the latest backups of all environments that have a schedule; 0 when there are none",
      },
      () => this.#oldestSeconds(nowMs()),
    );
    metrics.observed(
      {
        type: "gauge",
        name: "perdure_operator_stale_snapshots",
        help: "Environments whose latest backup is older than two intervals of the schedule",
      },
      () => this.#staleCount(),
    );
  }

  record(environment: string, lastSnapshotMs: number | undefined, isStale: boolean): void {
    if (lastSnapshotMs === undefined && !isStale) this.#noted.delete(environment);
    else this.#noted.set(environment, { lastSnapshotMs, isStale });
  }

  remove(environment: string): void {
    this.#noted.delete(environment);
  }

  /** Drops all values when this process stops leading. */
  clear(): void {
    this.#noted.clear();
  }

  #oldestSeconds(nowMs: number): number {
    let oldestMs = nowMs;
    for (const { lastSnapshotMs } of this.#noted.values()) oldestMs = Math.min(oldestMs, lastSnapshotMs ?? nowMs);
    return (nowMs - oldestMs) / 1000;
  }

  #staleCount(): number {
    let count = 0;
    for (const { isStale } of this.#noted.values()) if (isStale) count++;
    return count;
  }
}

/** Environments whose volume should be enlarged. */
export class FullVolumes {
  readonly #full = new Set<string>();

  constructor(metrics: Metrics) {
    metrics.observed(
      {
        type: "gauge",
        name: "perdure_operator_full_volumes",
        help: "Environments whose volume is at least 80 % full",
      },
      () => this.#full.size,
    );
  }

  record(environment: string, isFull: boolean): void {
    if (isFull) this.#full.add(environment);
    else this.#full.delete(environment);
  }

  remove(environment: string): void {
    this.#full.delete(environment);
  }

  clear(): void {
    this.#full.clear();
  }
}
