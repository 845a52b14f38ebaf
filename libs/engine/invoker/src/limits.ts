/** Bounds and timings of attempts, with the reason for each value. Settings that users may change are in `options.ts`. */
import type { ShareLimits } from "./fair-shares.js";

/** Time for which a response may continue after the handler's final message until its stream is reset (service-protocol §6.4). */
export const DRAIN_MS = 5_000;

/**
 * Replayed and live frames are gathered into writes of up to this many bytes: four HTTP/2 frames, past which a bigger write
 * saves nothing. A body that alone is longer is written without being copied.
 */
export const GATHER_BYTES = 64 * 1024;

/** Writes up to this length share a slab; a longer one would leave too much of it unused. */
export const SLAB_SLICE_BYTES_MAX = 4 * 1024;

/**
 * Bytes of notifications and acks that wait for a slow endpoint, beside one frame that is always accepted. Beyond, the request is
 * half-closed: the handler suspends when it blocks, and its next attempt replays from the store what was not delivered.
 */
export const OUTGOING_BYTES_MAX = 2 * 1024 * 1024;

/**
 * Shares of frames are counted in units of some 25 µs of processor time: a message is one, and one more for each of so many bytes of it.
 * A state of 1 MiB costs 20 to 40 ms to store.
 */
export const UNIT_BYTES = 1024;

/** Units that attempts may submit between two commits. */
export const FRAME_SHARES: ShareLimits = {
  // A batch of about 5 ms; a call waits for two or three of them.
  sharedUnits: 192,
  // About 50 ms: sockets and timers remain responsive.
  aloneUnits: 2_048,
  // One attempt of a few messages.
  serviceUnitsMin: 16,
  serviceTurnUnits: 64,
  memberTurnUnits: 16,
  epochsAtWork: 32,
};
/** Units that one attempt may spend between two commits without taking turns: legitimate fan-outs of some dozen calls are not delayed. */
export const ATTEMPT_UNITS = 64;

/** Seconds of its rates that an attempt may use at once. Legitimate fan-outs have thousands of messages. */
export const PACE_MESSAGES_RESERVE_SECONDS = 5;
/** Bytes cost the store more than messages do. A message above the reserve passes too, and is paid for afterwards. */
export const PACE_BYTES_RESERVE_SECONDS = 2;
/** Minimum pause of reading for an attempt that exceeds its rates: one timer for some dozen messages. */
export const PACE_DELAY_MS_MIN = 20;

/** A message of this length or more is large: handling it takes milliseconds, and it delays others on its connection. */
export const LARGE_MESSAGE_BYTES = 1024 * 1024;

/**
 * An Output of this length or more is staged. Its value is stored with the entry and, often in a later commit, as the outcome; stores
 * write bytes of this length separately, once for both when they are staged.
 */
export const STAGED_OUTPUT_BYTES = 256 * 1024;
/** Large messages that may arrive and be stored at the same time, at least one: each is in memory some five times until it is durable. */
export const LARGE_MESSAGES_BYTES_MAX = 32 * 1024 * 1024;
/** The largest message arrives within this time at 250 Mbit/s; slower ones must not delay the others. */
export const LARGE_TURN_MS_MAX = 1_000;

/**
 * Services whose shares are kept; beyond it, shares of services without waiting attempts are dropped. Deployments rarely have so many
 * services together.
 */
export const SERVICE_SHARES_MAX = 4_096;

/**
 * Attempts that may start between two commits, some 100 µs each. With 48 shared units a burst of 3,600 starts a second never used its share up,
 * and a neighbour's calls took 20 ms in place of 13 (docs/benchmarks.md, "Noisy neighbours").
 */
export const START_SHARES: ShareLimits = {
  sharedUnits: 16,
  aloneUnits: 256,
  serviceUnitsMin: 4,
  serviceTurnUnits: 4,
  memberTurnUnits: 1,
  epochsAtWork: 32,
};

/** Longest delay between two attempts, a year: policies multiply without end, clocks do not. */
export const RETRY_DELAY_MS_MAX = 365 * 24 * 3_600_000;

/**
 * Number of consecutive times that an invocation whose stream was refused unprocessed is retried without counting an attempt: the
 * connection is retired, and the next one usually accepts the stream. The delay before the n-th retry is random, up to this long times
 * 2^n: 1.3 s in all at most.
 */
export const REFUSALS_MAX = 6;
export const REFUSAL_BOUNDS = { firstMs: 10, longestMs: 1_000 } as const;

/**
 * Random increase of a policy's delay, as a share of the delay (service-protocol §8.2): invocations that failed together must not retry
 * together.
 */
export const RETRY_JITTER = 1 / 3;

/** Characters of text from an endpoint that an error message quotes. */
export const QUOTED_CHARS_MAX = 200;

/** A run that must wait for a slot keeps the journal it was handed only up to this many bytes; a longer journal is read again. */
export const HELD_JOURNAL_BYTES_MAX = 4 * 1024;

/** Share of the slots that only continuations use: callees of waiting callers, and invocations that continue after a suspension. */
export const SLOT_RESERVE_SHARE = 1 / 8;
/** Continuations that get a slot before a beginning gets one, when both wait: running work ends first, but new work still starts. */
export const CONTINUATIONS_IN_A_ROW = 4;

/** Interval at which attempts are checked for their end while a partition is being handed over. */
export const FINISH_INTERVAL_MS = 10;

/** Interval at which attempts are checked for blocked handlers while runs wait for a slot. */
export const SLOT_PRESSURE_INTERVAL_MS = 20;
/**
 * A wait for a slot that lasts at least this long is stored, so that timelines show it later; shorter waits are not worth the space in
 * the row.
 */
export const SLOT_WAIT_STORED_MS = 1_000;

/** Minimum interval of warnings that runs wait for a slot: the first one is logged at once, and metrics show the rest. */
export const SLOT_WARNING_INTERVAL_MS = 60_000;
/** SDKs suspend within a few milliseconds; a handler that takes longer works, and suspends when it waits for something. */
export const SUSPENSION_ANSWER_MS = 500;

/**
 * Silence after which a handler counts as blocked while runs wait for a slot, by the evidence. `declared`: the handler reported what it
 * waits for (protocol 7). `evident`: a sleep, a call, a promise or an invocation of its journal has no completion yet, and nothing else
 * is in progress. `possible`: neither; the handler waits for an awakeable, or it computes and its endpoint is slow: suspending it then
 * costs a replay.
 */
export const BLOCKED_AFTER_MS = { declared: 10, evident: 50, possible: 1_000 } as const;

/**
 * Attempts of a service whose handler has not sent its first message yet: the work that queues at the endpoint before a call of another
 * service that shares it, some 0.1 s. The head of a response does not count: endpoints send it long before they run the handler.
 */
export const UNANSWERED_PER_SERVICE_MAX = 256;
/**
 * Attempts of a service whose stream waits for a connection: as many as one connection carries. The rest of a burst waits without a slot.
 */
export const STREAMLESS_PER_SERVICE_MAX = 128;
/** A stream that waits longer does not just wait for a handshake: its endpoint accepts no more streams. */
export const STREAM_WAIT_MS = 200;
/**
 * Time for which an attempt without a message counts: handlers that are silent at first still get 512 attempts a second of each service.
 */
export const UNANSWERED_MS = 500;

/**
 * Memory of one attempt with an open stream, in this process: 25 to 35 KiB were measured for a handler that sleeps, and its journal comes
 * on top. A quarter of the memory is for attempts.
 */
export const SLOT_BYTES = 64 * 1024;
export const SLOT_MEMORY_SHARE = 1 / 4;
/** Minimum of the reference; a process that is too small for it suspends handlers early enough. */
export const SLOTS_DEFAULT_MIN = 1_000;
/** Streams that 64 connections of 128 streams carry to one endpoint: more attempts would hold slots and wait for a stream. */
export const SLOTS_DEFAULT_MAX = 8_192;

/** Characters of a failure's message that are logged; a handler may make the message as long as it likes, and SQL has all of it. */
export const LOGGED_REASON_CHARS_MAX = 500;
