/** Turns rows of SQL into rules, their usage, and queues. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { isRecord } from "../../kit/problem-text.js";
import { countOf, numberOf, textOf } from "../rows.js";
import { QUEUES_SHOWN_MAX, USAGE_SHOWN_MAX } from "./limits.js";

export interface LimitRule {
  readonly pattern: string;
  readonly concurrency: number | undefined;
  readonly rate: { readonly limit: number; readonly perMs: number; readonly burst: number } | undefined;
  readonly weight: number | undefined;
  readonly priority: number | undefined;
  readonly description: string | undefined;
  readonly isDisabled: boolean;
  readonly version: number;
}

export const RULES_STATEMENT = "SELECT pattern, concurrency, description, disabled, version FROM sys_rules ORDER BY pattern";
export const RATES_STATEMENT = "SELECT DISTINCT pattern, rate_limit, rate_period, burst, weight, priority FROM sys_rate_limits";

/** Rules with their usage, which only `sys_rate_limits` has. */
export function rulesOf(rules: readonly SqlRow[], rates: readonly SqlRow[]): readonly LimitRule[] {
  const byPattern = new Map(rates.map((row) => [textOf(row, "pattern"), row]));
  return rules.map((row) => {
    const pattern = textOf(row, "pattern") ?? "";
    const more = byPattern.get(pattern) ?? {};
    const limit = countOf(more, "rate_limit");
    const perMs = msOf(textOf(more, "rate_period"));
    return {
      pattern,
      concurrency: countOf(row, "concurrency"),
      rate: limit === undefined || perMs === undefined ? undefined : { limit, perMs, burst: countOf(more, "burst") ?? limit },
      weight: countOf(more, "weight"),
      priority: countOf(more, "priority"),
      description: textOf(row, "description"),
      isDisabled: row["disabled"] === true,
      version: numberOf(row, "version"),
    };
  });
}

export interface LimitUsage {
  readonly scope: string;
  /** One or two parts with a slash between; empty: the whole scope. */
  readonly limitKey: string;
  readonly running: number;
  readonly limit: number | undefined;
  readonly pattern: string | undefined;
  /** Queues that wait for it. */
  readonly waiting: number;
}

export const USAGE_STATEMENT =
  "SELECT scope, l1, l2, usage, concurrency_limit, rule_pattern, num_waiters FROM sys_user_limits " +
  `ORDER BY num_waiters DESC, usage DESC, scope, l1, l2 LIMIT ${USAGE_SHOWN_MAX}`;

export function usageOf(row: SqlRow): LimitUsage {
  const parts = [textOf(row, "l1"), textOf(row, "l2")].filter((part) => part !== undefined);
  return {
    scope: textOf(row, "scope") ?? "",
    limitKey: parts.join("/"),
    running: numberOf(row, "usage"),
    limit: countOf(row, "concurrency_limit"),
    pattern: textOf(row, "rule_pattern"),
    waiting: numberOf(row, "num_waiters"),
  };
}

export interface WaitingQueue {
  readonly id: string;
  readonly service: string;
  /** `acme`, `acme/tenant1`, or the object whose lock it is; undefined for neither. */
  readonly what: string | undefined;
  readonly isPaused: boolean;
  readonly waiting: number;
  readonly running: number;
  readonly suspended: number;
  /** A clause of a sentence; undefined when nothing blocks the head. */
  readonly blockedOn: string | undefined;
  readonly head: string | undefined;
}

export const QUEUES_STATEMENT =
  "SELECT m.id, m.service_name, m.scope, m.limit_key, m.lock_name, m.queue_is_paused, m.num_inbox, m.num_running, m.num_suspended, " +
  "s.blocked_on, s.blocked_on_json, s.head_entry_id FROM sys_vqueue_meta m LEFT JOIN sys_scheduler s ON s.id = m.id " +
  "WHERE m.queue_is_paused OR m.num_inbox > 0 OR m.scope IS NOT NULL " +
  `ORDER BY m.queue_is_paused DESC, m.num_inbox DESC, m.id LIMIT ${QUEUES_SHOWN_MAX}`;

export function queueOf(row: SqlRow): WaitingQueue {
  const scope = textOf(row, "scope");
  const limitKey = textOf(row, "limit_key");
  return {
    id: textOf(row, "id") ?? "",
    service: textOf(row, "service_name") ?? "",
    what: textOf(row, "lock_name") ?? (scope === undefined ? undefined : [scope, limitKey].filter(Boolean).join("/")),
    isPaused: row["queue_is_paused"] === true,
    waiting: numberOf(row, "num_inbox"),
    running: numberOf(row, "num_running"),
    suspended: numberOf(row, "num_suspended"),
    blockedOn: blockText(textOf(row, "blocked_on"), textOf(row, "blocked_on_json")),
    head: textOf(row, "head_entry_id"),
  };
}

/** The list of invocations in a scope, under a limit key. */
export function scopeHref({ scope, limitKey }: { readonly scope: string; readonly limitKey: string }): string {
  return `/invocations?${new URLSearchParams(limitKey === "" ? { scope } : { scope, "limit-key": limitKey })}`;
}

/** The list of invocations of a queue. */
export function queueHref(id: string): string {
  return `/invocations?${new URLSearchParams({ where: `vqueue_id = '${id.replace(/[^\w-]/g, "")}'` })}`;
}

/** `PT90S` and `PT0.5S`, as SQL shows durations. */
function msOf(text: string | undefined): number | undefined {
  const match = /^PT(\d+(?:\.\d+)?)S$/.exec(text ?? "");
  return match === null ? undefined : Math.round(Number(match[1]) * 1_000);
}

const BLOCKS: Readonly<Record<string, string>> = {
  lock: "the object's lock",
  "limit-key-concurrency": "a limit",
  "limit-key-rate": "a rate",
};

function blockText(on: string | undefined, json: string | undefined): string | undefined {
  if (on === undefined) return undefined;
  const fields: unknown = JSON.parse(json ?? "{}");
  const rule = isRecord(fields) ? fields["blocked_rule"] : undefined;
  return `${BLOCKS[on] ?? on.replaceAll("-", " ")}${typeof rule === "string" ? ` (rule ${rule})` : ""}`;
}
