/** Bounds of the operator, each with the reason for its value. */

/** Reconciles at one time: each waits for the API server most of its time. */
export const WORKERS = 8;
/** Of these, so many do nothing for objects that are new or only looked at from time to time: a crowd of them, or one webhook that does not answer, does not keep all. */
export const WORKERS_FOR_CHANGES = 2;
/** A worker is drained for as long as its environment says, and then has this long to end (seconds). */
export const GRACE_AFTER_DRAIN_S = 30;
/** Redis writes its log when it is told to end (seconds, kubernetes.md §2). */
export const REDIS_GRACE_S = 120;
/** Looking again at what waits for somebody else; changes we watch wake us earlier. */
export const WAIT_SOON_MS = 2_000;
export const WAIT_REFERENCE_MS = 300_000;
export const WAIT_FORBIDDEN_MS = 300_000;
export const WAIT_CONFLICT_MS = 60_000;
/** A namespace that is going takes seconds, when controllers are well. */
export const WAIT_TERMINATING_MS = 1_000;
/** Failures of transport and of the API server are nobody's condition until they lasted for this long: no flapping. */
export const QUIET_FAILURES = 6;
/** The same thing reverted so often within so long: somebody fights us, and we give way for a while. */
export const FIGHT_REVERTS = 3;
export const FIGHT_WITHIN_MS = 600_000;
export const FIGHT_PAUSE_MS = 300_000;
/** Objects of kinds that are not watched are written again after this, in case somebody removed them: two small writes for an environment. */
export const UNSEEN_TRUST_MS = 600_000;
/** Secrets in namespaces of environments are read again after this, and at once when somebody changes the environment: most passes of a minute are about its pods. */
export const SECRET_TRUST_MS = 60_000;
/** A namespace is empty for so long after it was made: the pass that made it, and one more when its rights were late. Then somebody may have restored a Secret. */
export const NEW_NAMESPACE_MS = 5_000;
/** Secrets that are remembered: five of each of 800 environments, more than are made within that time; the oldest one is read again. */
export const SECRET_COPIES_MAX = 4_096;
/** Changes of parts come in bursts (a StatefulSet, its pods, its quota): one look at all of a burst instead of one, and a status, for each. */
export const PARTS_DEBOUNCE_MS = 300;
/** Progress of a first start is written into the status after such pauses, the last one again and again: nothing waits for it. */
export const PROGRESS_STATUS_MS = [60_000, 180_000, 540_000] as const;
/** A write that has no answer for so long is reported while it goes on: an API server waits up to 30 s for a webhook, and people look at the object after 5. */
export const SLOW_ANSWER_MS = 3_000;
export const SLOW_WRITE_POLL_MS = 1_000;
/** Longest message of a condition, as the definition says. */
export const MESSAGE_CHARS_MAX = 1_024;
/** How often it is looked whether our definitions are there by now: people who install them wait for us. */
export const DEFINITION_POLL_MS = 1_000;
/** Kinds that metrics may name: ours and what environments are made of. */
export const KIND_SERIES_MAX = 40;
/** Phases with their reasons that metrics tell; an environment has one of either, and most of them are rare. */
export const ENVIRONMENT_SERIES_MAX = 100;
/** Environments of one cell that have a series of their own: more than a cell is made for; of a fuller one the rest are only counted. */
export const ENVIRONMENTS_SHOWN_MAX = 2_000;
/** Environments on their way to readiness whose beginning is remembered: all of a cell, and again as many. */
export const READINESS_REMEMBERED_MAX = 4_000;
/** Names in one message for people: enough to begin with, and a line still. */
export const NAMES_IN_MESSAGE_MAX = 10;
/** How often it is asked whether anything still runs on versions of services that another one took over from. */
export const DRAIN_POLL_MS = 10_000;
/** The same for versions that have no pods any more: only somebody who restarts an old invocation brings them back. */
export const RETIRED_POLL_MS = 60_000;
/** That a deployment is registered is believed for so long: only somebody who removes it by hand makes that untrue. */
export const REGISTRATION_CACHE_MS = 60_000;
/** A management API has this long for an answer; a registration discovers the endpoint first, and asks it several times. */
export const ADMIN_ANSWER_MS = 10_000;
export const REGISTER_ANSWER_MS = 60_000;
/** One that did not answer is left alone for this long, doubled each time. */
export const CIRCUIT_BOUNDS = { firstMs: 2_000, longestMs: 30_000 } as const;
/** Management APIs that do not answer now and are remembered: more than a cell has environments. */
export const CIRCUITS_MAX = 4_096;
/** Services whose last look at their versions is remembered; the oldest is asked for again. */
export const CACHED_ANSWERS_MAX = 4_096;
/** Of the versions in a status, as the definition says. */
export const STATUS_VERSIONS_MAX = 20;
/** Certificates between processes of an environment: short enough that one that leaks is soon worthless, renewed a month before their end. */
export const CERTIFICATE_DAYS = 90;
export const CERTIFICATE_RENEWAL_MS = 30 * 86_400_000;
/** Their authority: renewed while it is still good for several certificates. */
export const AUTHORITY_DAYS = 3_650;
export const AUTHORITY_RENEWAL_MS = 365 * 86_400_000;
/** Certificates begin so much earlier: clocks of machines differ. */
export const CLOCK_SKEW_MS = 3_600_000;
/** A worker answers from memory, but for one look into its store. */
export const WORKER_ANSWER_MS_MAX = 5_000;
/** A front that is ready accepts a connection at once, unless nodes do not know of it yet. */
export const FRONT_CONNECT_MS_MAX = 2_000;
export const WAIT_FRONT_MS = 500;
/** Nodes learn of ready pods within seconds. A Service that accepts no connection for longer may be unreachable for the operator alone. */
export const FRONT_TRY_MS_MAX = 10_000;
/** Its answer is one line. */
export const WORKER_ANSWER_BYTES_MAX = 16_384;
/** Pods in trouble change without the StatefulSet saying so. */
export const WAIT_PROBLEM_MS = 10_000;
/** Hand-overs are moments: who drains is asked again soon. */
export const WAIT_DRAIN_MS = 1_000;
/** A sleeper is awake so long before anything of it is due (kubernetes.md §6). */
export const WAKE_AHEAD_MS = 30_000;
/** For less nobody is put to sleep: going and coming takes a good part of it. */
export const NAP_MS_MIN = 180_000;
/** How often workers are asked whether anything happens: idleness is counted in minutes. */
export const REST_POLL_MS_MIN = 30_000;
export const REST_POLL_MS_MAX = 300_000;
/** Doors close within the grace of their pods; who cannot be closed in this time is opened again. */
export const CLOSING_MS_MAX = 300_000;
/** A sleeper is looked at this often, besides when it is due: timers of processes have bounds. */
export const WAKE_POLL_MS_MAX = 3_600_000;
/** How often definitions are looked at once they are there: they change with releases. */
export const DEFINITION_AGAIN_MS = 30_000;
/** Snapshots take seconds to minutes, and nothing wakes us when they are done. */
export const WAIT_SNAPSHOT_MS = 2_000;
/** So many fire times without a snapshot, and people should know. */
export const SNAPSHOT_STALE_INTERVALS = 2;
/** A deletion that has waited for so long waits for somebody who does not come. */
export const DELETION_STUCK_MS = 1_800_000;
/** A Redis that somebody else runs is looked at this often while it answers, and while it does not. */
export const REDIS_CHECK_MS = 60_000;
export const REDIS_RECHECK_MS = 10_000;
/** Volumes fill up over hours. */
export const VOLUME_POLL_MS = 300_000;
/** So full, somebody should let it grow: a log that is rewritten needs its room twice for a while. */
export const VOLUME_FULL_RATIO = 0.8;
/** Steps of a volume in which its use is told. */
export const VOLUME_STEPS = 100;
/** Who waits for its turn to get another release: updates take minutes. */
export const WAIT_RELEASE_MS = 30_000;
/** A change that takes longer has a reason that somebody should look at (kubernetes.md §1.1). */
export const PROGRESS_MS_MAX = 900_000;
/** How often pods of workers that are not ready yet are looked at without any change: seldom, for a cell may make hundreds at once. */
export const WAIT_UNREADY_MS = 60_000;
/** A kubelet that works confirms within seconds that a pod has ended; later than this after its grace period, its node is gone or cut off. */
export const NODE_LOST_MS = 60_000;
/** Pods of a first start are not listed before: images are pulled and volumes made in that time. */
export const START_CHECK_MS = 30_000;
/** A loss of data that no worker could accept, or that all refuse, is tried again after this: data may come back, or a worker. */
export const WAIT_LOSS_MS = 10_000;
/** A database that refuses or does not answer is tried again after this, doubled each time: few environments wait for it, and those that run go on. */
export const DATABASE_BACKOFF = { firstMs: 1_000, longestMs: 60_000 } as const;
