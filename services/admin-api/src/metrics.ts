/** Metrics of the management API. Labels are closed sets: route patterns, never paths of requests. */
import type { Clock } from "@perdure/base";
import { COARSE_SECONDS_BUCKETS, type Metrics } from "@perdure/telemetry";
import type { ApiRoute } from "./http/route.js";
import type { Sql } from "./ports.js";

const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"];

/** Called for each request to a known route; `status` is undefined when the client disconnected before the answer. */
export type AdminMeasure = (method: string, path: string, status: number | undefined, durationMs: number) => void;

export function adminMeasure(metrics: Metrics, routes: readonly ApiRoute[]): AdminMeasure {
  const operations = routes.flatMap(({ path, operations: each }) => Object.keys(each).map((method) => operationOf(method, path)));
  const requests = metrics.counter({
    name: "perdure_admin_requests_total",
    help: "Requests to routes of the management API",
    labels: { operation: operations, code: STATUS_CLASSES },
  });
  const durations = metrics.histogram({
    name: "perdure_admin_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer",
    labels: { method: ["GET", "POST", "PUT", "PATCH", "DELETE"] },
  });
  return (method, path, status, durationMs) => {
    requests.inc(operationOf(method, path), status === undefined ? "other" : `${Math.floor(status / 100)}xx`);
    durations.observe(durationMs / 1000, method);
  };
}

function operationOf(method: string, path: string): string {
  return `${method} ${path}`;
}

/** Why a process of SQL statements ended, when it was not idle. */
const SQL_ENDINGS = ["time", "memory", "abandoned", "failed"] as const;

/** Counts processes of SQL statements that were killed or failed. */
export function sqlEndings(metrics: Metrics): (reason: (typeof SQL_ENDINGS)[number]) => void {
  const endings = metrics.counter({
    name: "perdure_sql_processes_ended_total",
    help: "Processes of SQL statements that were killed or failed, by the reason",
    labels: { reason: SQL_ENDINGS },
  });
  return (reason) => endings.inc(reason);
}

/** Tables that statements can query. */
const QUERY_TABLES = [
  "state",
  "sys_condition",
  "sys_debounce",
  "sys_deployment",
  "sys_event_delivery",
  "sys_event_subscription",
  "sys_fork",
  "sys_inbox",
  "sys_invocation",
  "sys_invocation_state",
  "sys_invocation_status",
  "sys_journal",
  "sys_journal_events",
  "sys_keyed_service_status",
  "sys_locks",
  "sys_node",
  "sys_operation",
  "sys_partition",
  "sys_promise",
  "sys_rate_limits",
  "sys_rules",
  "sys_schedule",
  "sys_scheduler",
  "sys_service",
  "sys_slot_wait",
  "sys_state_expiry",
  "sys_throttle",
  "sys_traffic",
  "sys_user_limits",
  "sys_vqueue_entry_status",
  "sys_vqueue_meta",
  "sys_vqueues",
];

/** Measures statements, labelled by the first table that each names. No other part of the text is recorded. */
export function measuredSql(sql: Sql, metrics: Metrics, clock: Clock): Sql {
  const durations = metrics.histogram({
    name: "perdure_admin_query_duration_seconds",
    help: "Time from a statement to its last row, by the first table that it names",
    labels: { table: QUERY_TABLES },
    buckets: COARSE_SECONDS_BUCKETS,
  });
  const bytes = metrics.counter({
    name: "perdure_admin_query_bytes_total",
    help: "Bytes of answers to statements, by the first table that they name",
    labels: { table: QUERY_TABLES },
  });
  return async (query, format, signal) => {
    const table = /\bfrom\s+"?(\w+)/i.exec(query)?.[1]?.toLowerCase() ?? "none";
    const sinceMs = clock.monotonicMs();
    const end = (): void => durations.observe((clock.monotonicMs() - sinceMs) / 1000, table);
    const answer = await sql(query, format, signal);
    if (answer.kind === "rows")
      return { ...answer, chunks: measuredChunks(answer.chunks, (count) => bytes.add(count, table), end) };
    end();
    return answer;
  };
}

async function* measuredChunks(
  chunks: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
  end: () => void,
): AsyncIterable<Uint8Array> {
  try {
    for await (const chunk of chunks) {
      count(chunk.length);
      yield chunk;
    }
  } finally {
    end();
  }
}
