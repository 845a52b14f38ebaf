/**
 * Paces status writes. The pods of a new environment become ready one after the other, and a status for each step is a request that nothing
 * waits for. The first status and `Ready` are written at once, as is everything that requires an action; progress in between is written
 * after growing pauses.
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentResource, EnvironmentResourceStatus } from "@perdure/custom-resources";
import { hashOf } from "../desired/runtime-config.js";
import { PROGRESS_STATUS_MS } from "../limits.js";

/** Reasons of conditions that describe the progress of a start. */
const PROGRESS: ReadonlySet<string> = new Set(["VolumePending", "RollingOut", "GatewayLag", "Ready"]);

export const isProgress = ({ reason }: { readonly reason: string }): boolean => PROGRESS.has(reason);

interface Written {
  readonly uid: string | undefined;
  readonly count: number;
  /** Time of the last write, monotonic. */
  readonly atMs: number;
}

export class StatusPacing {
  readonly #clock: Clock;
  /** Writes by the name of the environment; entries of deleted environments, and of those that were ready once, are removed. */
  readonly #written = new Map<string, Written>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until this status is written; undefined: now, if it differs at all. */
  holdMs(environment: EnvironmentResource, status: EnvironmentResourceStatus): number | undefined {
    const { name, uid } = environment.metadata;
    const last = this.#written.get(name);
    if (last === undefined || last.uid !== uid || !isProgressOnly(environment.status, status)) return undefined;
    const pauseMs = PROGRESS_STATUS_MS[Math.min(last.count, PROGRESS_STATUS_MS.length) - 1] ?? 0;
    const leftMs = last.atMs + pauseMs - this.#clock.monotonicMs();
    return leftMs > 0 ? leftMs : undefined;
  }

  noteWritten({ metadata: { name, uid }, status: before }: EnvironmentResource): void {
    if (before?.version?.current !== undefined) return this.discard(name);
    const last = this.#written.get(name);
    const count = last !== undefined && last.uid === uid ? last.count + 1 : 1;
    this.#written.set(name, { uid, count, atMs: this.#clock.monotonicMs() });
  }

  discard(name: string): void {
    this.#written.delete(name);
  }

  /** Another leader may have written since. */
  clear(): void {
    this.#written.clear();
  }
}

/** Whether all that is new is how far the first start of an environment is. */
function isProgressOnly(before: EnvironmentResourceStatus | undefined, now: EnvironmentResourceStatus): boolean {
  if (before === undefined || before.version?.current !== undefined || now.version?.current !== undefined) return false;
  return hashOf(before) !== hashOf(now) && hashOf(withoutProgress(before)) === hashOf(withoutProgress(now));
}

function withoutProgress({ workers: _, conditions = [], ...status }: EnvironmentResourceStatus): object {
  return { ...status, conditions: conditions.map((one) => (isProgress(one) ? one.type : one)) };
}
