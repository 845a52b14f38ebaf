/**
 * What detectors have measured of conditions that have not begun yet. It is stored after each check that measures something, so that the
 * next process continues. Times are in milliseconds since 1970 here and monotonic in detectors.
 */
import type { Clock } from "@perdure/base";
import { z } from "zod";
import type { ConditionKind } from "./condition.js";
import type { DeploymentDrain } from "./drain.js";
import { MEASURED_GAP_MAX_MS } from "./limits.js";
import type { SubscriptionProgress } from "./progress.js";
import type { LimitSaturation } from "./saturation.js";

/** The detectors of one kind of condition have memory only while its events have subscriptions. */
export interface Detectors {
  readonly progress: SubscriptionProgress;
  readonly saturation: LimitSaturation;
  readonly drain: DeploymentDrain;
}

export const Measured = z.object({
  checkedAtMs: z.number().int(),
  /** Since when each limit is at its maximum. */
  limits: z.record(z.string(), z.number().int()),
  subscriptions: z.record(
    z.string(),
    z.object({
      /** Since when no process consumes. */
      failingSinceMs: z.number().int().optional(),
      /** Topic partitions that stood still, with their position. */
      waiting: z.record(z.string(), z.object({ next: z.number(), lag: z.number(), sinceMs: z.number().int() })),
    }),
  ),
  /** Number of checks in a row that found no invocation of a deployment. */
  emptyChecks: z.record(z.string(), z.number().int()),
});
export type Measured = z.output<typeof Measured>;

/** Undefined: nothing is measured. */
export function measuredBy(
  { progress, saturation, drain }: Detectors,
  kinds: readonly ConditionKind[],
  clock: Clock,
): Measured | undefined {
  const checkedAtMs = Math.round(clock.nowMs());
  const offsetMs = clock.nowMs() - clock.monotonicMs();
  const toWallMs = (ms: number): number => Math.round(ms + offsetMs);
  const limits = kinds.includes("limitSaturated") ? saturation.measured(toWallMs) : {};
  const subscriptions = kinds.includes("subscriptionStuck") ? progress.measured(toWallMs) : {};
  const emptyChecks = kinds.includes("deploymentDrained") ? drain.measured() : {};
  const isAnything = [limits, subscriptions, emptyChecks].some((each) => Object.keys(each).length > 0);
  return isAnything ? { checkedAtMs, limits, subscriptions, emptyChecks } : undefined;
}

/** Continues where the process before ended, unless nothing was checked for so long that the conditions may have been over meanwhile. */
export function restoreMeasured(
  { progress, saturation, drain }: Detectors,
  measured: Measured | undefined,
  clock: Clock,
  checkIntervalMs: number,
): void {
  const nowMs = clock.nowMs();
  if (measured === undefined || nowMs - measured.checkedAtMs > MEASURED_GAP_MAX_MS + checkIntervalMs) return;
  const monotonicMs = clock.monotonicMs();
  // The clock of the process before may be ahead.
  const toMonotonicMs = (ms: number): number => monotonicMs - Math.max(0, nowMs - ms);
  saturation.restore(measured.limits, toMonotonicMs);
  progress.restore(measured.subscriptions, toMonotonicMs);
  drain.restore(measured.emptyChecks);
}
