/** Bounds of the traffic between roles, each with its reason. */

/** A batch is written when it holds this much; a single larger command travels alone. */
export const BATCH_BYTES_MAX = 256 * 1024;
/** Requests and answers in one batch: keeps one message from occupying a receiver's turn. */
export const BATCH_ITEMS_MAX = 1_024;
/** Bytes that may wait for a slow connection before new requests are refused. */
export const LINK_QUEUED_BYTES_MAX = 64 * 1024 * 1024;
/** The largest message that a process accepts: the largest legal payload (32 MiB by default) with its envelope. */
export const MESSAGE_BYTES_MAX = 128 * 1024 * 1024;
/** Management commands that wait for a worker to announce which forms it reads: one round trip after a stream opens. */
export const UNANNOUNCED_COMMANDS_MAX = 1_024;
/** Time that a request waits for a partition to have a leader again before it fails as unavailable. */
export const LEADER_WAIT_MS = 15_000;
/** Requests that wait for a leader, all partitions together. */
export const LEADERLESS_MAX = 100_000;
/** Delay of the next try when a worker answers that it does not lead a partition and the directory still names that worker. */
export const REROUTE_MS = 50;
/** First and longest pause between attempts to reach a worker that does not answer. */
export const RECONNECT_FIRST_MS = 50;
export const RECONNECT_LONGEST_MS = 2_000;
export const RECONNECT_BOUNDS = { firstMs: RECONNECT_FIRST_MS, longestMs: RECONNECT_LONGEST_MS } as const;
/** Workers that are watched for leaders at the same time: while one is frozen, the other still reports. */
export const DIRECTORY_WATCHES = 2;
/** A silent connection is probed after this long and given up after the second. Below a lease, so that a cut cable is noticed. */
export const KEEPALIVE_MS = 2_000;
export const KEEPALIVE_TIMEOUT_MS = 2_000;
/** A registration discovers an endpoint first, which has its own time limit well below this. */
export const CHANGE_DEADLINE_MS = 120_000;
/** Time that a durable change waits for this process to receive the state that shows it; after that the change resolves all the same. */
export const STATE_WAIT_MS = 3_000;
/**
 * Time for one state of a registry. A caller of a gateway waits for it; when it does not arrive, the request is decided by the last state.
 */
export const SNAPSHOT_DEADLINE_MS = 5_000;
/** Rows in one page of a long answer: some hundred kilobytes at most, but for schedules with large payloads. */
export const ROWS_PER_PAGE = 100;
/** Timeout for all pages of one answer: longer than a statement may take, so that only a call that hangs is cut. */
export const ROWS_DEADLINE_MS = 120_000;
/** A partition that moves has a leader again within this many tries, with random pauses of these bounds between them: five seconds on average. */
export const COUNT_TRIES_MAX = 10;
export const COUNT_AGAIN_BOUNDS = { firstMs: 1_000, longestMs: 1_000 } as const;
/** A gateway holds a request of a tenant that long; then it uses its cached decision, or answers that the tenant should retry. */
export const TENANCY_REQUEST_DEADLINE_MS = 3_000;
/** Bytes of one direction of a stream between threads that the receiver has not consumed; the last message may exceed it. */
export const PORT_CREDIT_BYTES = 1024 * 1024;
/** A receiver reports so many consumed bytes even when it has nothing else to send: the sender continues before its credit is used up. */
export const PORT_REPORT_BYTES = PORT_CREDIT_BYTES / 2;
/** A report of at least this many bytes travels with the next message: less is not worth a frame. */
export const PORT_RIDING_REPORT_BYTES = PORT_CREDIT_BYTES / 8;
/** What a message between threads costs besides its bytes, so that empty messages use up credit too. */
export const PORT_MESSAGE_OVERHEAD_BYTES = 64;
/** Larger messages move to the other thread with their memory; smaller ones are copied, which costs no more than moving them. */
export const PORT_COPIED_BYTES_MAX = 16 * 1024;
/** Open calls of one channel to another thread, most of them unary: more would wait for a thread that does not answer. */
export const PORT_CALLS_MAX = 10_000;
