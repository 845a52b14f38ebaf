/** Rows of SQL statements about all threads of a server: to users they are one node. */
import type { Clock } from "@perdure/base";
import type { RemoteRows } from "@perdure/grpc";
import { type LiveRows, trafficRowsOf } from "@perdure/introspection";
import type { TrafficCount } from "@perdure/storage";
import { VERSION } from "@perdure/telemetry/version";

type ThreadRows = Pick<LiveRows, "held" | "nodes" | "partitions" | "traffic" | "queues" | "queueEntries" | "limits" | "buckets">;

export function rowsOfThreads(rows: RemoteRows, node: string, clock: Clock): ThreadRows {
  const partitions = async function* () {
    for await (const row of rows.partitions()) yield { ...row, leaderAddress: undefined };
  };
  return {
    held: (ids) => rows.statuses(ids),
    async *nodes() {
      let leadingCount = 0;
      for await (const { status } of partitions()) if (status === "leading") leadingCount++;
      const startedAtMs = Math.round(performance.timeOrigin);
      yield { id: node, address: undefined, version: VERSION, status: "alive", startedAtMs, leadingCount };
    },
    partitions,
    async *traffic() {
      yield* trafficRowsOf(await trafficOfThreads(rows, node));
    },
    async *queues(selected) {
      for await (const queue of rows.queues(selected)) yield { queue, nowMs: clock.nowMs() };
    },
    queueEntries: (selected) => rows.queueEntries(selected),
    limits: (selected) => rows.limits(selected),
    buckets: (selected) => rows.buckets(selected),
  };
}

/** One count for each service, period and class of durations. */
async function trafficOfThreads(rows: Pick<RemoteRows, "traffic">, node: string) {
  const counts = new Map<string, TrafficCount>();
  let sinceMs: number | undefined = 0;
  for await (const { sinceMs: threadSinceMs, count } of rows.traffic()) {
    sinceMs = sinceMs === undefined || threadSinceMs === undefined ? undefined : Math.max(sinceMs, threadSinceMs);
    if (count === undefined) continue;
    const key = JSON.stringify([count.periodMs, count.startsAtMs, count.service, count.durationMsMax]);
    counts.set(key, sumOf(counts.get(key), count));
  }
  return { node, sinceMs, counts: counts.values() };
}

function sumOf(sum: TrafficCount | undefined, count: TrafficCount): TrafficCount {
  if (sum === undefined) return count;
  const { created, completed, failed } = sum;
  return { ...count, created: created + count.created, completed: completed + count.completed, failed: failed + count.failed };
}
