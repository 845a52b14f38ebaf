/** Bounds and timings of attempts, with the reason for each value. Settings users may change are in `options.ts`. */
import type { ShareLimits } from "./fair-shares.js";

/** How long a response may go on after the handler's last message until its stream is reset (service-protocol §6.4). */
export const DRAIN_MS = 5_000;

/**
 * Replayed and live frames are gathered into writes of up to this many bytes: four HTTP/2 frames, past which a bigger write
 * saves nothing. A body that alone is longer is written without being copied.
 */
export const GATHER_BYTES = 64 * 1024;

/** Writes up to this length share a slab; a longer one would leave too much of it unused. */
export const SLAB_SLICE_BYTES_MAX = 4 * 1024;

/**
 * Bytes of notifications and acks that wait for a slow endpoint, beside one frame that is always taken. Beyond, the request is
 * half-closed: the handler suspends when it blocks, and its next attempt replays from the store what was not delivered.
 */
export const OUTGOING_BYTES_MAX = 2 * 1024 * 1024;

/**
 * Shares of frames are counted in units of some 25 µs of processor time: a message is one, and one more for each of so many bytes of it.
 * A state of 1 MiB costs 20 to 40 ms to store.
 */
export const UNIT_BYTES = 1024;

/** What attempts may submit between two commits. */
export const FRAME_SHARES: ShareLimits = {
  // A batch of about 5 ms, of which a call waits for two or three.
  sharedUnits: 192,
  // About 50 ms: sockets and timers stay lively.
  aloneUnits: 2_048,
  // One attempt of a few messages.
  serviceUnitsMin: 16,
  serviceTurnUnits: 64,
  memberTurnUnits: 16,
  epochsAtWork: 32,
};
/** Units of one attempt between two commits without taking turns: honest fan-outs of some dozen calls go at once. */
export const ATTEMPT_UNITS = 64;

/** Seconds of its rates that an attempt may do at once. Fan-outs of thousands of messages are honest. */
export const PACE_MESSAGES_RESERVE_SECONDS = 5;
/** Bytes cost more of the store than messages do. A message that is larger passes too, and is paid for afterwards. */
export const PACE_BYTES_RESERVE_SECONDS = 2;
/** An attempt that is too fast is not read for so long at least: one timer for some dozen messages. */
export const PACE_DELAY_MS_MIN = 20;

/** From here on a message is large: handling it takes milliseconds, and it delays others on its connection. */
export const LARGE_MESSAGE_BYTES = 1024 * 1024;
/** Large messages that may arrive and be stored at the same time, one at least: each is in memory some five times until it is durable. */
export const LARGE_MESSAGES_BYTES_MAX = 32 * 1024 * 1024;
/** The largest message arrives within this at 250 Mbit/s; slower ones must not hold up the others. */
export const LARGE_TURN_MS_MAX = 1_000;

/** Services whose shares are remembered; beyond it those of which nothing waits are forgotten. Deployments rarely have so many together. */
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
 * Times in a row that an invocation whose stream was refused unprocessed is tried again without counting an attempt: the connection is
 * retired, and the next one usually takes it. The delay before the n-th is random, up to this long times 2^n: 1.3 s in all at most.
 */
export const REFUSALS_MAX = 6;
export const REFUSAL_BOUNDS = { firstMs: 10, longestMs: 1_000 } as const;

/** Random increase of a policy's delay, as a share of it (service-protocol §8.2): what failed together must not return together. */
export const RETRY_JITTER = 1 / 3;

/** Characters of text from an endpoint that we repeat in an error message. */
export const QUOTED_CHARS_MAX = 200;

/** A run that must wait for a slot keeps the journal it was handed only up to this many bytes; a longer one is read again. */
export const HELD_JOURNAL_BYTES_MAX = 4 * 1024;

/** Share of the slots that only continuations use: callees of waiting callers, and invocations that go on after a suspension. */
export const SLOT_RESERVE_SHARE = 1 / 8;
/** Continuations that get a slot before a beginning gets one, when both wait: work in progress ends first, but new work goes on. */
export const CONTINUATIONS_IN_A_ROW = 4;

/** While attempts may still end before their partition is handed over, they are checked this often. */
export const FINISH_INTERVAL_MS = 10;

/** While runs wait for a slot, attempts are checked this often for blocked handlers. */
export const SLOT_PRESSURE_INTERVAL_MS = 20;
/** A wait for a slot that lasts this long is stored, so that timelines show it later; shorter ones are not worth the room in the row. */
export const SLOT_WAIT_STORED_MS = 1_000;

/** At most one warning in so long that runs wait for a slot: the first one comes at once, and metrics show the rest. */
export const SLOT_WARNING_INTERVAL_MS = 60_000;
/** SDKs suspend within a few milliseconds; a handler that takes longer works, and suspends when it waits for something. */
export const SUSPENSION_ANSWER_MS = 500;

/**
 * Silence after which a handler counts as blocked while runs wait for a slot, by what is known about it. `declared`: it said what it waits
 * for (protocol 7). `evident`: a sleep, a call, a promise or an invocation of its journal has no completion yet, and nothing else is under
 * way. `possible`: neither; it waits for an awakeable, or it computes and its endpoint is slow: to suspend it in vain costs a replay.
 */
export const BLOCKED_AFTER_MS = { declared: 10, evident: 50, possible: 1_000 } as const;

/**
 * Attempts of a service whose handler has not sent its first message yet: what waits at the endpoint before a call of another service that
 * shares it, some 0.1 s. The head of a response does not count: endpoints send it long before they get to the handler.
 */
export const UNANSWERED_PER_SERVICE_MAX = 256;
/** Attempts of a service whose stream waits for a connection: what one connection takes when it is there. The rest of a burst waits without a slot. */
export const STREAMLESS_PER_SERVICE_MAX = 128;
/** A stream that waits longer is not just waiting for a handshake: its endpoint takes no more. */
export const STREAM_WAIT_MS = 200;
/** An attempt without a message counts for so long: handlers that are silent at first still get 512 attempts a second of each service. */
export const UNANSWERED_MS = 500;

/**
 * Memory of one attempt with an open stream, in the process: 25 to 35 KiB were measured for a handler that sleeps, and its journal comes
 * on top. A quarter of the memory is for attempts.
 */
export const SLOT_BYTES = 64 * 1024;
export const SLOT_MEMORY_SHARE = 1 / 4;
/** What the reference runs at least; a process that is too small for it suspends handlers soon enough. */
export const SLOTS_DEFAULT_MIN = 1_000;
/** What 64 connections of 128 streams carry to one endpoint: more attempts would hold slots and wait for a stream. */
export const SLOTS_DEFAULT_MAX = 8_192;

/** Of a failure's message, which a handler may make as long as it likes, this much is in the log; SQL has it whole. */
export const LOGGED_REASON_CHARS_MAX = 500;
