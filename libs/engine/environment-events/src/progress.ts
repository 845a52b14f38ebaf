/** Finds subscriptions that make no progress although records wait, or whose consumer fails. */
import type { SubscriptionId } from "@perdure/base";
import type { SubscriptionRecord } from "@perdure/metadata";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import type { EnvironmentCondition, EventData, Findings, Reported } from "./condition.js";
import { CHECKS_WITHOUT_MAX, MEASURED_MAX, TOPIC_PARTITIONS_NAMED_MAX } from "./limits.js";
import type { Measured } from "./measured.js";

/** A topic partition with records that wait. */
interface Waiting {
  readonly next: number;
  readonly lag: number;
  /** Monotonic time since which `next` is the same. */
  readonly sinceMs: number;
}

interface Watched {
  /** Monotonic time since which no process consumes; undefined while one does. */
  failingSinceMs: number | undefined;
  /** Number of checks in a row in which a process consumed. */
  consumingChecks: number;
  /** Whether the condition has begun already. */
  isReported: boolean;
  readonly waiting: Map<number, Waiting>;
}

type Position = Pick<SubscriptionStatus["positions"][number], "next" | "lag">;

export class SubscriptionProgress {
  readonly #stuckAfterMs: number;
  readonly #watched = new Map<string, Watched>();
  /** Monotonic time of the last check. */
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  constructor(stuckAfterMs: number) {
    this.#stuckAfterMs = stuckAfterMs;
  }

  /** What was measured by the last check of subscriptions that were not reported: topic partitions that moved are not part of it. */
  measured(toWallMs: (monotonicMs: number) => number): Measured["subscriptions"] {
    const all: Measured["subscriptions"] = {};
    let places = MEASURED_MAX;
    for (const [id, { failingSinceMs, waiting, isReported }] of this.#watched) {
      const unmoved = [...waiting].filter(([, { sinceMs }]) => sinceMs < this.#checkedAtMs).slice(0, places);
      if (isReported || places === 0 || (failingSinceMs === undefined && unmoved.length === 0)) continue;
      places -= Math.max(1, unmoved.length);
      all[id] = {
        ...(failingSinceMs !== undefined && { failingSinceMs: toWallMs(failingSinceMs) }),
        waiting: Object.fromEntries(
          unmoved.map(([partition, { next, lag, sinceMs }]) => [String(partition), { next, lag, sinceMs: toWallMs(sinceMs) }]),
        ),
      };
    }
    return all;
  }

  /** What is in memory is replaced. */
  restore(measured: Measured["subscriptions"], toMonotonicMs: (wallMs: number) => number): void {
    this.#watched.clear();
    for (const [id, { failingSinceMs, waiting }] of Object.entries(measured)) {
      this.#watched.set(id, {
        failingSinceMs: failingSinceMs === undefined ? undefined : toMonotonicMs(failingSinceMs),
        consumingChecks: 0,
        isReported: false,
        waiting: new Map(
          Object.entries(waiting).map(([partition, { next, lag, sinceMs }]) => [
            Number(partition),
            { next, lag, sinceMs: toMonotonicMs(sinceMs) },
          ]),
        ),
      });
    }
  }

  /** `nowMs` is monotonic; `statuses` are the reports of all processes. */
  check(
    records: readonly SubscriptionRecord[],
    statuses: readonly SubscriptionStatus[],
    reported: readonly Reported[],
    nowMs: number,
  ): Findings {
    this.#checkedAtMs = nowMs;
    const begun: EnvironmentCondition[] = [];
    const over = new Map<string, EventData>();
    const byId = new Map(reported.map((one) => [one.subject, one]));
    const active = new Map<string, SubscriptionRecord>(
      records.filter(({ paused }) => !paused).map((record) => [record.id, record]),
    );
    for (const id of this.#watched.keys()) if (!active.has(id)) this.#watched.delete(id);
    for (const record of active.values()) {
      const reports = statuses.filter(({ id, state }) => id === record.id && state !== "paused");
      if (reports.length === 0) continue; // No process has reported since it was created or resumed.
      const positions = positionsOf(reports);
      const watched = this.#watch(record.id, reports, positions, nowMs);
      const earlier = byId.get(record.id);
      watched.isReported = earlier !== undefined;
      if (earlier !== undefined) {
        if (hasRecovered(earlier, watched, positions)) over.set(record.id, linkOf(record));
      } else if (this.#isStuck(watched, nowMs)) begun.push(conditionOf(record, reports, watched, nowMs));
    }
    // A paused or deleted subscription is neither stuck nor recovered.
    const gone = reported.filter(({ subject }) => ![...active.keys()].some((id) => id === subject)).map(({ subject }) => subject);
    return { begun, over, gone };
  }

  #watch(
    id: SubscriptionId,
    reports: readonly SubscriptionStatus[],
    positions: ReadonlyMap<number, Position>,
    nowMs: number,
  ): Watched {
    const watched = this.#watched.get(id) ?? {
      failingSinceMs: undefined,
      consumingChecks: 0,
      isReported: false,
      waiting: new Map(),
    };
    this.#watched.set(id, watched);
    // A consumer that backs off because of one record consumes the other topic partitions.
    const isConsuming = reports.some(
      ({ state, stuck }) => state === "consuming" || (state === "backingOff" && stuck !== undefined),
    );
    watched.consumingChecks = isConsuming ? watched.consumingChecks + 1 : 0;
    if (!isConsuming) watched.failingSinceMs ??= nowMs;
    // A consumer that fails again and again consumes for a moment after each start.
    else if (watched.consumingChecks >= CHECKS_WITHOUT_MAX) watched.failingSinceMs = undefined;
    for (const [partition, { next, lag }] of positions) {
      const before = watched.waiting.get(partition);
      if (lag === 0) watched.waiting.delete(partition);
      else if (before === undefined || next > before.next) watched.waiting.set(partition, { next, lag, sinceMs: nowMs });
      else watched.waiting.set(partition, { ...before, lag });
    }
    return watched;
  }

  #isStuck({ failingSinceMs, waiting }: Watched, nowMs: number): boolean {
    const since = [failingSinceMs ?? nowMs, ...[...waiting.values()].map(({ sinceMs }) => sinceMs)];
    return since.some((sinceMs) => nowMs - sinceMs >= this.#stuckAfterMs);
  }
}

/** Two processes report one topic partition while it moves; the one that is further has it now. */
function positionsOf(reports: readonly SubscriptionStatus[]): ReadonlyMap<number, Position> {
  const positions = new Map<number, Position>();
  for (const report of reports) {
    for (const { partition, next, lag } of report.positions) {
      if ((positions.get(partition)?.next ?? -1) < next) positions.set(partition, { next, lag });
    }
  }
  return positions;
}

/** Compared with the stored positions: a new leader has not watched the subscription before. */
function hasRecovered({ positions: stored }: Reported, watched: Watched, present: ReadonlyMap<number, Position>): boolean {
  if (watched.failingSinceMs !== undefined || watched.consumingChecks < CHECKS_WITHOUT_MAX) return false;
  return Object.entries(stored ?? {}).every(([partition, next]) => {
    const position = present.get(Number(partition));
    return position !== undefined && (position.lag === 0 || position.next > next);
  });
}

function linkOf({ id, source, sink }: SubscriptionRecord): EventData {
  return { subscription: id, source, sink };
}

function conditionOf(
  record: SubscriptionRecord,
  reports: readonly SubscriptionStatus[],
  { waiting, failingSinceMs }: Watched,
  nowMs: number,
): EnvironmentCondition {
  const { service, handler } = sinkOf(record.sink);
  const partitions = [...waiting].sort(([a], [b]) => a - b);
  const reason = reports.find(({ stuck }) => stuck !== undefined)?.stuck?.reason ?? reports.find(failed)?.lastFailure;
  return {
    subject: record.id,
    about: { services: [service], handler, scope: undefined },
    positions: Object.fromEntries(partitions.map(([partition, { next }]) => [String(partition), next])),
    data: {
      ...linkOf(record),
      consuming: failingSinceMs === undefined,
      reason,
      lag: partitions.reduce((sum, [, { lag }]) => sum + lag, 0),
      partitions: partitions
        .slice(0, TOPIC_PARTITIONS_NAMED_MAX)
        .map(([partition, { next, lag, sinceMs }]) => ({ partition, next, lag, stopped_for_ms: Math.round(nowMs - sinceMs) })),
    },
  };
}

function failed({ lastFailure, state }: SubscriptionStatus): boolean {
  return lastFailure !== undefined && state !== "consuming";
}

/** `service://<service>/<handler>`. */
function sinkOf(sink: string): { readonly service: string; readonly handler: string } {
  const [service = "", handler = ""] = sink.slice("service://".length).split("/");
  return { service, handler };
}
