/** Finds limits of flow control at their maximum with invocations that wait for them. */
import type { FlowBucketRow, FlowLimitRow } from "@perdure/flow-control";
import type { EnvironmentCondition, EventData, Findings, Reported } from "./condition.js";
import { CHECKS_WITHOUT_MAX, CONDITIONS_MAX, MEASURED_MAX } from "./limits.js";

type LimitPath = Pick<FlowLimitRow, "scope" | "l1" | "l2">;

export class LimitSaturation {
  readonly #saturatedAfterMs: number;
  /** Monotonic time since which every check found the limit at its maximum. */
  #since = new Map<string, number>();
  /** Number of checks in a row that did not find a reported limit at its maximum. */
  readonly #checksWithout = new Map<string, number>();

  constructor(saturatedAfterMs: number) {
    this.#saturatedAfterMs = saturatedAfterMs;
  }

  /** Since when each limit is at its maximum that was not reported. */
  measured(toWallMs: (monotonicMs: number) => number): Readonly<Record<string, number>> {
    const open = [...this.#since].filter(([name]) => !this.#checksWithout.has(name));
    const oldest = open.sort(([, a], [, b]) => a - b).slice(0, MEASURED_MAX);
    return Object.fromEntries(oldest.map(([name, sinceMs]) => [name, toWallMs(sinceMs)]));
  }

  /** What is in memory is replaced. */
  restore(measured: Readonly<Record<string, number>>, toMonotonicMs: (wallMs: number) => number): void {
    this.#since = new Map(Object.entries(measured).map(([name, sinceMs]) => [name, toMonotonicMs(sinceMs)]));
  }

  /** `nowMs` is monotonic. */
  check(
    limits: readonly FlowLimitRow[],
    buckets: readonly FlowBucketRow[],
    reported: readonly Reported[],
    nowMs: number,
  ): Findings {
    const empty = new Map(buckets.filter(({ available }) => available < 1).map((bucket) => [nameOf(bucket), bucket]));
    const saturated = new Map<string, FlowLimitRow>();
    for (const row of limits) {
      if (saturated.size >= CONDITIONS_MAX) break;
      const isFull = row.limit !== undefined && row.usage >= row.limit;
      if (row.waiterCount > 0 && (isFull || empty.has(nameOf(row)))) saturated.set(nameOf(row), row);
    }
    this.#since = new Map([...saturated.keys()].map((name) => [name, this.#since.get(name) ?? nowMs]));
    const reportedSubjects = new Set(reported.map(({ subject }) => subject));
    const begun = [...saturated]
      .filter(([name]) => !reportedSubjects.has(name) && nowMs - (this.#since.get(name) ?? nowMs) >= this.#saturatedAfterMs)
      .map(([name, row]) => conditionOf(name, row, empty.get(name), nowMs - (this.#since.get(name) ?? nowMs)));
    const over = new Map<string, EventData>();
    for (const subject of this.#checksWithout.keys()) if (!reportedSubjects.has(subject)) this.#checksWithout.delete(subject);
    for (const subject of reportedSubjects) {
      const checks = saturated.has(subject) ? 0 : (this.#checksWithout.get(subject) ?? 0) + 1;
      this.#checksWithout.set(subject, checks);
      if (checks >= CHECKS_WITHOUT_MAX) over.set(subject, { limit: subject });
    }
    return { begun, over, gone: [] };
  }
}

/** `scope`, `scope/l1` or `scope/l1/l2`. */
function nameOf({ scope, l1, l2 }: LimitPath): string {
  return [scope, l1, l2].filter((part) => part !== undefined).join("/");
}

function conditionOf(
  name: string,
  { scope, l1, l2, usage, limit, rule, waiterCount }: FlowLimitRow,
  bucket: FlowBucketRow | undefined,
  forMs: number,
): EnvironmentCondition {
  const limitKey = [l1, l2].filter((part) => part !== undefined).join("/");
  return {
    subject: name,
    about: { services: [], handler: undefined, scope },
    positions: undefined,
    data: {
      limit: name,
      scope,
      limit_key: limitKey === "" ? undefined : limitKey,
      rule: rule ?? bucket?.rule,
      running: usage,
      concurrency: limit,
      rate: bucket && { limit: bucket.rate.limit, period_ms: bucket.rate.periodMs },
      waiting_queues: waiterCount,
      saturated_for_ms: Math.round(forMs),
    },
  };
}
