/** Bounds of environments, with their reasons. */

/** `last used` is written at most this often (cloud.md §4.3). */
export const LAST_USED_EVERY_MS = 300_000;
/** A gateway that does not report for this long loses its share of rates; it reports every second. */
export const GATEWAY_EXPIRY_MS = 5_000;
/** Attempts to create a runtime before its environment has failed (cloud.md §5.2). */
export const PROVISION_TRIES_MAX = 3;
/** A runtime that does not answer within this is a failed attempt: the p99 that cloud.md §5.2 allows. */
export const PROVISION_MS_MAX = 120_000;
/** Interval at which everything is reconciled without a change event: events can be lost. */
export const RECONCILE_EVERY_MS = 5_000;
/** Bounds of the random pauses between attempts to restart a runtime that worked before. */
export const RECOVER_FIRST_MS = 2_000;
export const RECOVER_LONGEST_MS = 120_000;
/** Failures of a runtime that worked before, about half an hour, after which its environment has failed and an operator must act. */
export const RECOVER_TRIES_MAX = 30;
/** Environments that are changed at the same time: each may start a process. */
export const RECONCILE_AT_ONCE = 8;
/** Interval at which runtimes are polled for their usage: it must be visible within 60 s. */
export const USAGE_POLL_EVERY_MS = 10_000;
/** A runtime that does not answer within this time is polled again next time. */
export const USAGE_POLL_TIMEOUT_MS = 3_000;
/** Sources without a report for this long are deleted; a source is a run of a process, and ends. */
export const USAGE_SOURCE_MS = 90 * 86_400_000;
/** Interval at which quotas and idleness are checked. */
export const QUOTAS_EVERY_MS = 60_000;
/** Part of the monthly actions above which environments are suspended (cloud.md §5.4). */
export const SUSPEND_ABOVE = 1.2;
/** Part of a month's quota at which owners get a mail (cloud.md §5.4). */
export const WARN_ABOVE = 0.8;
/** Part of the idle period after which owners get a mail: at 10 of 14 days (cloud.md §5.4). */
export const IDLE_WARNED_SHARE = 10 / 14;
