/**
 * Statements of the overview, which it repeats for environments of any size. Each statement is one scan: at 100,000 invocations, of which
 * 40,000 have not ended, 0.15 s for those that need attention, 0.4 s for the others and for those that failed, 0.7 s for the hour, all of
 * it in the thread of statements. The page requests the less often the longer the answers take.
 */
import type { Window } from "./windows.js";

/** Invocations that have not ended, by service and status, with the one that has been in that status longest. */
export const NOW = `SELECT target_service_name AS service, status, count(*) AS n,
  epoch_ms(now()) - epoch_ms(min(modified_at)) AS longest_ms, min_by(id, modified_at) AS id
FROM sys_invocation WHERE status != 'completed' GROUP BY 1, 2`;

/**
 * The figures of a window by service, by the points of its charts, and as a whole: rows of each kind have `part`. A call belongs to the
 * time in which it was made, its end to the time in which it ended (begins of points, milliseconds since 1970); it took from when it was
 * to begin until its end. A longer window costs as much as a short one: either walks over all invocations.
 */
export function trafficStatement({ spanMs, bucketMs }: Window): string {
  const bucket = (column: string) => `CAST(floor(epoch_ms(${column}) / ${bucketMs}) AS BIGINT) * ${bucketMs}`;
  const since = `now() - INTERVAL '${spanMs / 1_000} seconds'`;
  return `SELECT service, made, ended, count(*) AS n, count(ended) AS n_ended, count(*) FILTER (result = 'failure') AS failed,
  quantile_cont(ms, 0.5) AS p50, quantile_cont(ms, 0.99) AS p99, GROUPING(service, made, ended) AS part
FROM (
  SELECT target_service_name AS service, ${bucket("created_at")} AS made, ${bucket("completed_at")} AS ended,
    completion_result AS result, epoch_ms(completed_at) - epoch_ms(coalesce(scheduled_start_at, created_at)) AS ms
  FROM sys_invocation_status
  WHERE created_at > ${since} OR completed_at > ${since}
) GROUP BY GROUPING SETS ((service), (made), (ended), ())`;
}

/** The largest groups that need attention; more rows would not be readable here. */
const GROUPS_MAX = 20;

/** Invocations that are retried or paused: similar ones in one row, with one of them and its last failure. */
export const ISSUES_STATEMENT = `SELECT target_service_name AS service, target_handler_name AS handler, status, last_failure_error_code AS code,
  coalesce(last_attempt_deployment_id, pinned_deployment_id) AS deployment, count(*) AS n, max(modified_at) AS at,
  max_by(id, modified_at) AS id, max_by(last_failure, modified_at) AS failure
FROM sys_invocation WHERE status IN ('backing-off', 'paused') GROUP BY 1, 2, 3, 4, 5 ORDER BY n DESC LIMIT ${GROUPS_MAX}`;

/** Invocations that failed within the hour: similar ones in one row. */
export const FAILED = `SELECT target_service_name AS service, target_handler_name AS handler, 'failed' AS status,
  regexp_extract(completion_failure, '^\\[(\\d+)', 1) AS code, count(*) AS n, max(completed_at) AS at,
  max_by(id, completed_at) AS id, max_by(completion_failure, completed_at) AS failure,
  max_by(invoked_by_target, completed_at) AS caller
FROM sys_invocation_status
WHERE status = 'completed' AND completion_result = 'failure' AND completed_at > now() - INTERVAL '1 hour'
GROUP BY 1, 2, 3, 4 ORDER BY n DESC LIMIT ${GROUPS_MAX}`;

/** Conditions that need an action, the oldest first. A drained deployment needs none: it can be removed. */
export const CONDITIONS = `SELECT type, subject, array_to_string(services, ', ') AS services, handler, since FROM sys_condition
WHERE type IN ('subscription.stuck', 'limit.saturated') ORDER BY since LIMIT ${GROUPS_MAX}`;

/** A user who watches the page expects it to change. */
const EVERY_MS = 5_000;
const EVERY_MS_MAX = 60_000;
/** Divisor of the time that is spent on the requests of one page: at most a tenth of it. */
const SHARE = 10;

/** Pause before the next request, after an answer that took so long. */
export function againAfterMs(tookMs: number): number {
  return Math.min(EVERY_MS_MAX, Math.max(EVERY_MS, Math.ceil(tookMs) * SHARE));
}
