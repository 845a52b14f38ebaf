/**
 * Builds the condition over `sys_invocation` from filters by service, status, age and so on. Values cannot become SQL; only `where` is SQL
 * by intent, and it is put in parentheses.
 */
import { sqlContains, sqlMoment, sqlOneOf, sqlSpan, sqlText } from "./sql-text.js";

export const INVOCATION_STATUSES = [
  "pending",
  "scheduled",
  "ready",
  "running",
  "backing-off",
  "suspended",
  "paused",
  "completed",
] as const;
export type InvocationStatus = (typeof INVOCATION_STATUSES)[number];

export type InvocationResult = "success" | "failure";

export interface InvocationFilter {
  readonly ids?: readonly string[];
  readonly services?: readonly string[];
  /** `handler`, or `Service/handler`. */
  readonly handlers?: readonly string[];
  /** Keys of objects and workflows. */
  readonly keys?: readonly string[];
  readonly statuses?: readonly InvocationStatus[];
  /** Outcome of the invocation. */
  readonly result?: InvocationResult;
  /** Also matches invocations that ended like this, beside those with `statuses`. */
  readonly orEndedWith?: readonly InvocationResult[];
  readonly deployments?: readonly string[];
  readonly idempotencyKey?: string;
  /** Id of the invocation that called it. */
  readonly invokedBy?: string;
  readonly scope?: string;
  readonly limitKey?: string;
  /** Bounds of the creation time; milliseconds since 1970. */
  readonly createdBeforeMs?: number;
  readonly createdAfterMs?: number;
  /** Created within so many milliseconds before the query. */
  readonly createdWithinMs?: number;
  /** The status has not changed since; milliseconds since 1970. */
  readonly unchangedSinceMs?: number;
  /** The status has changed since; milliseconds since 1970. */
  readonly modifiedAfterMs?: number;
  /** The status has changed within so many milliseconds before the query. */
  readonly modifiedWithinMs?: number;
  /** Part of the error of the last attempt or of the invocation; case-insensitive. */
  readonly failureText?: string;
  /** A condition in SQL. */
  readonly where?: string;
}

/** All parts joined with AND; undefined when there are none. */
export function conditionOf(filter: InvocationFilter): string | undefined {
  const parts = [
    anyOf("id", filter.ids),
    anyOf("target_service_name", filter.services),
    handlersCondition(filter.handlers),
    anyOf("target_service_key", filter.keys),
    either(anyOf("status", filter.statuses), anyOf("completion_result", filter.orEndedWith)),
    equal("completion_result", filter.result),
    anyOf("pinned_deployment_id", filter.deployments),
    equal("idempotency_key", filter.idempotencyKey),
    equal("invoked_by_id", filter.invokedBy),
    equal("scope", filter.scope),
    equal("limit_key", filter.limitKey),
    moment("created_at <", filter.createdBeforeMs),
    moment("created_at >=", filter.createdAfterMs),
    within("created_at", filter.createdWithinMs),
    moment("modified_at <", filter.unchangedSinceMs),
    moment("modified_at >=", filter.modifiedAfterMs),
    within("modified_at", filter.modifiedWithinMs),
    failureCondition(filter.failureText),
    filter.where === undefined ? undefined : `(${whole(filter.where)})`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(" AND ");
}

const anyOf = (column: string, values: readonly string[] | undefined): string | undefined =>
  values === undefined || values.length === 0 ? undefined : sqlOneOf(column, values);

const either = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || other === undefined ? (one ?? other) : `(${one} OR ${other})`;

const equal = (column: string, value: string | undefined): string | undefined =>
  value === undefined ? undefined : `${column} = ${sqlText(value)}`;

const moment = (comparison: string, ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : `${comparison} ${sqlMoment(ms)}`;

const within = (column: string, ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : `${column} >= now() - ${sqlSpan(ms)}`;

const failureCondition = (text: string | undefined): string | undefined =>
  text === undefined || text === ""
    ? undefined
    : `(${sqlContains("last_failure", text)} OR ${sqlContains("completion_failure", text)})`;

function handlersCondition(handlers: readonly string[] | undefined): string | undefined {
  if (handlers === undefined || handlers.length === 0) return undefined;
  const conditions = handlers.map((handler) => {
    const slash = handler.indexOf("/");
    if (slash < 0) return `target_handler_name = ${sqlText(handler)}`;
    const [service, name] = [handler.slice(0, slash), handler.slice(slash + 1)];
    return `(target_service_name = ${sqlText(service)} AND target_handler_name = ${sqlText(name)})`;
  });
  return conditions.length === 1 ? conditions[0] : `(${conditions.join(" OR ")})`;
}

/** Checks a `--where`: its parentheses and quotes must be closed within it, or it would absorb the conditions beside it. */
function whole(where: string): string {
  let depth = 0;
  let quote: string | undefined;
  for (let i = 0; i < where.length; i++) {
    const char = where[i]!;
    if (quote !== undefined) {
      if (char === quote) quote = undefined; // A doubled quote closes and opens again, with the same result.
    } else if (char === "'" || char === '"') quote = char;
    else if (char === "(") depth++;
    else if (char === ")" && --depth < 0) break;
    else if (char === ";" || where.startsWith("--", i) || where.startsWith("/*", i)) {
      throw new RangeError("a condition has neither comments nor several statements");
    }
  }
  if (quote !== undefined) throw new RangeError(`the condition has an open ${quote}`);
  if (depth !== 0) throw new RangeError("the parentheses of the condition do not match");
  return where.trim();
}
