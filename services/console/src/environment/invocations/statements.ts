/**
 * Why: the list is a snapshot of ids in their order, and rows that are read by id when they are seen. One statement reads the ids of
 * all; whoever pulls the scrollbar to the middle then needs a hundred point reads and not another walk over every invocation, as pages
 * by OFFSET or by key would (measured at 100,000 invocations: 0.4 s for a walk, 0.05 s for a hundred ids). Ids come as one text: a
 * browser takes four megabytes of it apart in milliseconds, a hundred thousand objects hold it up for some frames. Pure.
 */
import { type Row, sqlOneOf } from "@perdure/admin-client";
import { RESULTS, type Sort } from "./filter-address.js";
import { HEAD_ROWS, LISTED_MAX } from "./limits.js";

const ORDERS: Readonly<Record<Sort, string>> = {
  "-created": "created_at DESC, id",
  created: "created_at, id",
  "-modified": "modified_at DESC, id",
  modified: "modified_at, id",
};

const where = (condition: string | undefined): string => (condition === undefined ? "" : ` WHERE ${condition}`);

/** The first ids. */
export function headStatement(condition: string | undefined, sort: Sort): string {
  return `SELECT id FROM sys_invocation${where(condition)} ORDER BY ${ORDERS[sort]} LIMIT ${HEAD_ROWS}`;
}

/** All ids, in one row. The engine keeps the order of the inner rows. */
export function wholeStatement(condition: string | undefined, sort: Sort): string {
  const inner = `SELECT id FROM sys_invocation${where(condition)} ORDER BY ${ORDERS[sort]} LIMIT ${LISTED_MAX}`;
  return `SELECT string_agg(id, ' ') AS ids FROM (${inner})`;
}

/** How many there are of each status, and of each result of completed ones. */
export function countsStatement(condition: string | undefined): string {
  return `SELECT status, completion_result AS result, count(*) AS n FROM sys_invocation${where(condition)} GROUP BY 1, 2`;
}

/** By status: those of `sys_invocation`, with `succeeded` and `failed` for completed ones. */
export function countsByWord(rows: readonly Row[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const { status, result, n } = row;
    const word = status === "completed" ? RESULT_WORDS.get(String(result)) : String(status);
    if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + Number(n));
  }
  return counts;
}

const RESULT_WORDS: ReadonlyMap<string, string> = new Map(RESULTS.map(([word, result]) => [result, word]));

export function idsOfWhole(rows: readonly Row[]): readonly string[] {
  const text = rows[0]?.["ids"];
  return typeof text === "string" && text !== "" ? text.split(" ") : [];
}

export function idsOfHead(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => String(row["id"]));
}

const COLUMNS = [
  ...["id", "target_service_name", "target_service_key", "target_handler_name", "target_service_ty", "status"],
  ...["completion_result", "completion_failure", "created_at", "modified_at", "completed_at", "scheduled_start_at", "running_at"],
  ...["retry_count", "next_retry_at", "last_failure", "last_failure_error_code", "pinned_deployment_id", "idempotency_key"],
  ...["invoked_by", "invoked_by_id", "invoked_by_target", "scope", "limit_key", "trace_id"],
] as const;

/** In no order. At least one id. */
export function rowsStatement(ids: readonly string[]): string {
  return `SELECT ${COLUMNS.join(", ")} FROM sys_invocation WHERE ${sqlOneOf("id", ids)}`;
}

export const EXPORTED_COLUMNS: readonly string[] = COLUMNS;
