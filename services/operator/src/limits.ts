/** Bounds of the operator, each with the reason for its value. */

/** Reconciles at one time: each waits for the API server most of its time. */
export const WORKERS = 8;
/**
 * Of these, this many skip objects that are new or due for a resync: many new objects, or one webhook that does not respond, cannot occupy
 * all workers.
 */
export const WORKERS_FOR_CHANGES = 2;
/** A worker drains for as long as its environment allows, and then has this long to exit (seconds). */
export const GRACE_AFTER_DRAIN_S = 30;
/** Redis writes its log when it receives SIGTERM (seconds, kubernetes.md §2). */
export const REDIS_GRACE_S = 120;
/** Interval of checks while waiting for another component; watched changes wake the controller earlier. */
export const WAIT_SOON_MS = 2_000;
export const WAIT_REFERENCE_MS = 300_000;
export const WAIT_FORBIDDEN_MS = 300_000;
export const WAIT_CONFLICT_MS = 60_000;
/** A namespace that is going takes seconds, when controllers are well. */
export const WAIT_TERMINATING_MS = 1_000;
/** Failures of transport and of the API server become a condition only after this many in a row, so that conditions do not flap. */
export const QUIET_FAILURES = 6;
/**
 * After this many reverts of the same change within the window another writer is fighting the operator, which then gives way for a while.
 */
export const FIGHT_REVERTS = 3;
export const FIGHT_WITHIN_MS = 600_000;
export const FIGHT_PAUSE_MS = 300_000;
/** Objects of unwatched kinds are written again after this time, in case they were removed: two small writes for an environment. */
export const UNSEEN_TRUST_MS = 600_000;
/**
 * Secrets in namespaces of environments are read again after this time, and at once when the environment changes: most passes within a
 * minute are about its pods.
 */
export const SECRET_TRUST_MS = 60_000;
/**
 * Secrets that the operator created itself are trusted for this long while their environment starts for the first time: images are pulled
 * and volumes are provisioned for minutes, and each pass meanwhile is about pods.
 */
export const START_SECRET_TRUST_MS = 300_000;
/**
 * A new namespace counts as empty for this long: for the pass that created it, and one more when its rights took effect late. After that an
 * operator may have restored a Secret.
 */
export const NEW_NAMESPACE_MS = 5_000;
/** Cached Secrets: five of each of 800 environments, more than are created within that time; the oldest entry is dropped. */
export const SECRET_COPIES_MAX = 4_096;
/** Changes of parts come in bursts (a StatefulSet, its pods, its quota): one pass and one status write for a burst. */
export const PARTS_DEBOUNCE_MS = 300;
/**
 * Pauses between status writes about the progress of a first start, the last one repeated: nothing waits for it. The first is longer than
 * most starts, which then cost no such write.
 */
export const PROGRESS_STATUS_MS = [90_000, 180_000, 540_000] as const;
/**
 * A write without a response for this long is reported while it continues: an API server waits up to 30 s for a webhook, and users check
 * the object after 5.
 */
export const SLOW_ANSWER_MS = 3_000;
export const SLOW_WRITE_POLL_MS = 1_000;
/** Longest message of a condition, as in the definition. */
export const MESSAGE_CHARS_MAX = 1_024;
/** Interval of checks for missing definitions: users who install them wait for the operator. */
export const DEFINITION_POLL_MS = 1_000;
/** Kinds in metrics: our own and those that environments consist of. */
export const KIND_SERIES_MAX = 40;
/** Series of phases with reasons in metrics; an environment has one of each, and most are rare. */
export const ENVIRONMENT_SERIES_MAX = 100;
/** Environments of a cell with a series of their own, more than a cell is sized for; further ones are only counted. */
export const ENVIRONMENTS_SHOWN_MAX = 2_000;
/** Environments becoming ready whose start time is stored: all of a cell, twice. */
export const READINESS_REMEMBERED_MAX = 4_000;
/** Names in one message: enough to start with, and still one line. */
export const NAMES_IN_MESSAGE_MAX = 10;
/** Interval of checks whether superseded versions of services still have invocations. */
export const DRAIN_POLL_MS = 10_000;
/** The same for versions without pods: only a restart of an old invocation brings them back. */
export const RETIRED_POLL_MS = 60_000;
/** A registration is trusted for this long: only a manual removal makes it outdated. */
export const REGISTRATION_CACHE_MS = 60_000;
/** Timeout of the management API; a registration first discovers the endpoint, with several requests. */
export const ADMIN_ANSWER_MS = 10_000;
export const REGISTER_ANSWER_MS = 60_000;
/** One that did not answer is left alone for this long, doubled each time. */
export const CIRCUIT_BOUNDS = { firstMs: 2_000, longestMs: 30_000 } as const;
/** Stored failures of management APIs: more than a cell has environments. */
export const CIRCUITS_MAX = 4_096;
/** Services whose last version check is cached; the oldest entry is dropped and requested again. */
export const CACHED_ANSWERS_MAX = 4_096;
/** Versions in a status, as in the definition. */
export const STATUS_VERSIONS_MAX = 20;
/** Certificates between processes of an environment: short enough that one that leaks is soon worthless, renewed a month before their end. */
export const CERTIFICATE_DAYS = 90;
export const CERTIFICATE_RENEWAL_MS = 30 * 86_400_000;
/** Lifetime of the authority: renewed while it is still valid for several certificates. */
export const AUTHORITY_DAYS = 3_650;
export const AUTHORITY_RENEWAL_MS = 365 * 86_400_000;
/** Certificates begin so much earlier: clocks of machines differ. */
export const CLOCK_SKEW_MS = 3_600_000;
/** Timeout of a worker's report, which comes from memory and one read of its store. */
export const WORKER_ANSWER_MS_MAX = 5_000;
/** Timeout of a connection to a ready front, which accepts at once unless nodes do not route to it yet. */
export const FRONT_CONNECT_MS_MAX = 2_000;
export const WAIT_FRONT_MS = 500;
/** Nodes learn of ready pods within seconds. A Service that accepts no connection for longer may be unreachable for the operator alone. */
export const FRONT_TRY_MS_MAX = 10_000;
/** Largest report of a worker, which is one line. */
export const WORKER_ANSWER_BYTES_MAX = 16_384;
/** Interval of checks of failing pods, which change without a change of the StatefulSet. */
export const WAIT_PROBLEM_MS = 10_000;
/** Interval of checks while a worker drains: a hand-over takes moments. */
export const WAIT_DRAIN_MS = 1_000;
/** A hibernated environment is woken this long before its first timer or schedule is due (kubernetes.md §6). */
export const WAKE_AHEAD_MS = 30_000;
/** Shortest hibernation: stopping and starting takes a good part of it. */
export const NAP_MS_MIN = 180_000;
/** Interval at which workers are polled for activity: idleness is counted in minutes. */
export const REST_POLL_MS_MIN = 30_000;
export const REST_POLL_MS_MAX = 300_000;
/** The front closes within the grace period of its pods; one that does not close in this time is opened again. */
export const CLOSING_MS_MAX = 300_000;
/** Longest interval between checks of a hibernated environment: timers of processes have bounds. */
export const WAKE_POLL_MS_MAX = 3_600_000;
/** Interval of checks of installed definitions: they change with releases. */
export const DEFINITION_AGAIN_MS = 30_000;
/** Interval of checks of a snapshot, which takes seconds to minutes; its completion is not watched. */
export const WAIT_SNAPSHOT_MS = 2_000;
/** Fire times without a snapshot after which the backup is reported as stale. */
export const SNAPSHOT_STALE_INTERVALS = 2;
/** A deletion that takes this long is reported as stuck: it waits for a component that does not respond. */
export const DELETION_STUCK_MS = 1_800_000;
/** Interval of checks of an external Redis while it responds, and while it does not. */
export const REDIS_CHECK_MS = 60_000;
export const REDIS_RECHECK_MS = 10_000;
/** Volumes fill up over hours. */
export const VOLUME_POLL_MS = 300_000;
/** Ratio from which a volume is reported as filling: a log that is rewritten needs its space twice for a while. */
export const VOLUME_FULL_RATIO = 0.8;
/** Steps in which the usage of a volume is reported. */
export const VOLUME_STEPS = 100;
/** Interval of checks while an environment waits for its turn to change the release: updates take minutes. */
export const WAIT_RELEASE_MS = 30_000;
/** A change that takes longer is reported as stuck (kubernetes.md §1.1). */
export const PROGRESS_MS_MAX = 900_000;
/** Interval of checks of worker pods that are not ready yet, without any change: long, for a cell may create hundreds at once. */
export const WAIT_UNREADY_MS = 60_000;
/** A working kubelet confirms within seconds that a pod has ended; after this time past the grace period its node is gone or cut off. */
export const NODE_LOST_MS = 60_000;
/** Pods of a first start are listed only after this time, in which images are pulled and volumes are provisioned. */
export const START_CHECK_MS = 30_000;
/** A loss of data that no worker could accept, or that all refuse, is tried again after this: data may come back, or a worker. */
export const WAIT_LOSS_MS = 10_000;
/** A database that refuses or does not answer is tried again after this, doubled each time: few environments wait for it, and those that run continue. */
export const DATABASE_BACKOFF = { firstMs: 1_000, longestMs: 60_000 } as const;
/** Interval of checks of three Redis while one of them is missing: short against the time after which a replica is promoted. */
export const FAILOVER_CHECK_MS = 5_000;
/** Interval after a promotion: a primary that was only cut off comes back without any change of its pod. */
export const PROMOTED_CHECK_MS = 60_000;
/** Steps of a promotion within one pass: fence, record, lead, follow, and one more reading. */
export const FAILOVER_STEPS_MAX = 6;
