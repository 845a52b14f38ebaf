/**
 * How much of each limit is used. `sys_user_limits` counts running invocations, as in the reference; `sys_rate_limits` is an extension
 * and shows what rules set beyond concurrency, together with the buckets that are in use.
 */
import type { FlowBucketRow, FlowLimitRow } from "@perdure/flow-control";
import type { RuleRow } from "../ports.js";
import { isNeeded } from "../query/hints.js";
import { defineTable } from "../table.js";
import { partitionsOfScopes } from "./flow.js";

export const userLimits = defineTable<FlowLimitRow>({
  name: "sys_user_limits",
  readers: {
    partition_key: ({ partitionKey }) => partitionKey,
    scope: ({ scope }) => scope,
    l1: ({ l1 }) => l1,
    l2: ({ l2 }) => l2,
    level: ({ level }) => level,
    usage: ({ usage }) => usage,
    concurrency_limit: ({ limit }) => limit,
    rule_pattern: ({ rule }) => rule,
    available: ({ limit, usage }) => (limit === undefined ? undefined : Math.max(0, limit - usage)),
    num_waiters: ({ waiterCount }) => waiterCount,
  },
  async *rows(source, hints) {
    for await (const row of source.live.limits(partitionsOfScopes(source, hints))) {
      if (isNeeded(hints, "scope", row.scope)) yield row;
    }
  },
});

interface RateLimitRow {
  readonly rule: RuleRow;
  /** Undefined: no invocation uses the bucket at present. */
  readonly bucket: FlowBucketRow | undefined;
}

/** A row for each bucket in use; a row without a bucket for each other rule that sets a rate, a weight or a priority. */
export const rateLimits = defineTable<RateLimitRow>({
  name: "sys_rate_limits",
  readers: {
    pattern: ({ rule }) => rule.pattern,
    rate_limit: ({ rule }) => rule.rate?.limit,
    rate_period: ({ rule }) => rule.rate?.periodMs,
    burst: ({ rule }) => rule.rate?.burst,
    weight: ({ rule }) => rule.weight,
    priority: ({ rule }) => rule.priority,
    scope: ({ bucket }) => bucket?.scope,
    l1: ({ bucket }) => bucket?.l1,
    l2: ({ bucket }) => bucket?.l2,
    available: ({ bucket }) => (bucket === undefined ? undefined : Math.max(0, Math.floor(bucket.available))),
  },
  async *rows(source, hints) {
    const rules = new Map<string, RuleRow>();
    for await (const rule of source.live.rules()) {
      if (isBeyondConcurrency(rule)) rules.set(rule.pattern, rule);
    }
    const used = new Set<string>();
    for await (const bucket of source.live.buckets(partitionsOfScopes(source, hints))) {
      const rule = rules.get(bucket.rule);
      if (rule === undefined) continue; // The rule changed at this very moment.
      used.add(bucket.rule);
      yield { rule, bucket };
    }
    for (const rule of rules.values()) {
      if (!used.has(rule.pattern)) yield { rule, bucket: undefined };
    }
  },
});

function isBeyondConcurrency({ rate, weight, priority }: RuleRow): boolean {
  return rate !== undefined || weight !== 1 || priority !== undefined;
}
