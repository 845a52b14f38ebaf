/** Bounds of the Redis driver, each with the reason for its value. */

/** A payload up to this size is stored in its row: copying it holds Redis up for some 50 µs. Larger ones go to chunks of this size. */
export const INLINE_BYTES_MAX = 256 * 1024;
export const CHUNK_BYTES = 256 * 1024;
/** Bytes of one script above which even medium payloads (above `INLINE_BYTES_CROWDED`) go to chunks: some 5 ms of Redis. */
export const SCRIPT_BYTES_MAX = 4 * 1024 * 1024;
export const INLINE_BYTES_CROWDED = 16 * 1024;
/** Chunks written or read in one go: 4 MiB on the wire. */
export const CHUNKS_AT_ONCE = 16;
/** Time after which Redis deletes chunks whose commit never came; far longer than the timeout of any commit. */
export const STAGED_MS = 15 * 60_000;

/** Arguments of one command within a script: Lua's stack takes 8,000, and smaller pieces cost nothing more. */
export const SCRIPT_ARGS_MAX = 1_000;

/** Invocations of a partition whose status in the index is cached: more than run at a time, and half a MiB of ids. */
export const CACHED_STATUSES_MAX = 4_096;

/** Size of a stream's block above which the server check warns: as much as a journal of eight small entries needs. */
export const STREAM_NODE_BYTES_MAX = 512;

/** Calls folded into one script, and their bytes: together they hold Redis up for a millisecond or two. */
export const FOLDED_CALLS_MAX = 64;
export const FOLDED_BYTES_MAX = 256 * 1024;

/** Rows that a scan requests at a time. */
export const SCAN_ROWS = 256;
/** Objects whose rows a scan requests at a time. */
export const SCAN_OBJECTS = 32;
/** Journal entries read at a time: first so many, then as many as fill the bytes at the size of those before. */
export const JOURNAL_ROWS_FIRST = 128;
/** The same where the caller bounds the bytes: each entry can have as many as a message may. */
export const JOURNAL_BOUNDED_ROWS_FIRST = 4;
export const JOURNAL_ROWS_MAX = 2_048;
export const JOURNAL_PAGE_BYTES = 1024 * 1024;
/** A value that is replaced while its chunks are read is read again; that often only when its data are damaged. */
export const READ_ATTEMPTS_MAX = 8;

/** Jobs that wait for the connection, and their bytes, beyond which more are refused: seconds of work of a busy worker. */
export const QUEUED_JOBS_MAX = 20_000;
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024;
/** Commits of one partition that wait for the one before; a processor has one. */
export const COMMITS_QUEUED_MAX = 16;

/** Bounds of the random pauses between attempts to reach a Redis that does not answer: quick at first, because a restart takes a second. */
export const RETRY_BOUNDS = { firstMs: 10, longestMs: 250 } as const;
/** A connection that has not come about by then is tried anew. */
export const CONNECT_MS_MAX = 2_000;
/** A closing connection that has not ended after this time is left to the operating system. */
export const CLOSE_MS_MAX = 250;
/** A connection with pending replies that is silent for this long is closed: Redis or the network hangs. */
export const SILENCE_MS_MAX = 2_500;
/** One `WAIT` for replicas; well below the silence that ends a connection. */
export const REPLICA_WAIT_MS = 1_000;
/** Delay of TCP keep-alive probes on idle connections. */
export const KEEP_ALIVE_MS = 10_000;
/** Redirections followed within a cluster before a job is tried anew. */
export const REDIRECTIONS_MAX = 16;

/**
 * A lease that is not renewed ends after this time: since free leases are polled every quarter second, a partition has a new leader within
 * 3 s.
 */
export const LEASE_MS = 2_000;
/** The holder's own clock ends the lease this much earlier: the rates of clocks differ by less, and its last write takes a moment. */
export const LEASE_MARGIN_MS = 200;
/** A worker without a heartbeat for this long is no longer a member. */
export const MEMBER_MS = 3_000;

/**
 * Distance by which epochs jump when an environment is restored: more leaderships than a partition has in a hundred years at one a second.
 */
export const INSTANCE_EPOCHS = 2 ** 32;

/** Time limit of a probe of an external Redis, because the caller has others to probe. */
export const PROBE_MS_MAX = 3_000;

/** Time for which a commit of a readiness probe is sent again; a probe itself waits less and finds it under way. */
export const PROBE_COMMIT_MS = 2_000;
/** Time for which the key that the probe writes exists. */
export const PROBE_KEPT_MS = 60_000;
