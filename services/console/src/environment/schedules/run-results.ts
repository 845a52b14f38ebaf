/** What became of the invocations that schedules have started. Pure. */
import { type SqlRow, sqlOneOf } from "@perdure/admin-client";
import { textOf } from "../rows.js";

/** Invocations that one statement reads: the last one of each schedule, and the recent ones of the open schedule. */
const READ_MAX = 300;

/** The part of a schedule that is needed here. */
interface StartedRuns {
  readonly id: string;
  readonly last_invocation_id: string | null;
  readonly recent: readonly { readonly invocation_id: string | null }[];
}

export interface RunResult {
  readonly status: string;
  readonly result: string | undefined;
  readonly failure: string | undefined;
}

/** Undefined when no schedule has fired. `shown`: the schedule whose recent runs are listed. */
export function resultsStatement(schedules: readonly StartedRuns[], shown: string | null): string | undefined {
  const recent = schedules.find(({ id }) => id === shown)?.recent.map(({ invocation_id }) => invocation_id) ?? [];
  const all = [...recent, ...schedules.map(({ last_invocation_id }) => last_invocation_id)];
  const ids = [...new Set(all)].filter((id) => id !== null).slice(0, READ_MAX);
  if (ids.length === 0) return undefined;
  return `SELECT id, status, completion_result, completion_failure FROM sys_invocation WHERE ${sqlOneOf("id", ids)}`;
}

/** By invocation id; those that are no longer retained are absent. */
export function resultsOf(rows: readonly SqlRow[]): ReadonlyMap<string, RunResult> {
  return new Map(
    rows.map((row) => [
      textOf(row, "id") ?? "",
      {
        status: textOf(row, "status") ?? "",
        result: textOf(row, "completion_result"),
        failure: textOf(row, "completion_failure"),
      },
    ]),
  );
}
