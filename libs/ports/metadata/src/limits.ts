/** Every bound of this package, each with the reason for its value. */
import type { CheckBounds } from "./verification.js";

/** Number of values of `worker.incarnation` that are kept: one for each restore, and no restore goes back further than that. */
export const INCARNATIONS_KEPT = 64;
/** Number of accepted losses of data that are kept, for audits. */
export const ACCEPTED_LOSSES_KEPT = 64;

/** Longest key in UTF-16 units: the longest stored names (services, clusters, patterns) with their prefix. */
export const KEY_CHARS_MAX = 1024;

/** Largest document as JSON text, in characters: a deployment with a manifest at its own bound still fits, twice over. */
export const DOCUMENT_CHARS_MAX = 64 * 1024 * 1024;

/** Maximum number of documents of one atomic write. */
export const WRITES_MAX = 1024;

/** Maximum number of documents that one list returns. Metadata is small; more than this under one prefix is an error. */
export const LISTED_DOCUMENTS_MAX = 100_000;

/** Bounds of a check unless the request has its own: it should end while the user who deploys waits for it. */
export const CHECK_DEFAULTS: CheckBounds = {
  inFlightPerHandler: 20,
  completedPerHandler: 10,
  invocations: 200,
  timeoutMs: 30_000,
  replayTimeoutMs: 10_000,
  bytes: 64 * 1024 * 1024,
  concurrency: 8,
};

/**
 * Upper bounds of the options of a request. The time is below the timeout of requests between roles; concurrency is bounded because a
 * new deployment without traffic is often small; bytes by what one process can hold beside its work.
 */
export const CHECK_BOUNDS_MAX: CheckBounds = {
  inFlightPerHandler: 1_000,
  completedPerHandler: 1_000,
  invocations: 5_000,
  timeoutMs: 90_000,
  replayTimeoutMs: 60_000,
  bytes: 1024 * 1024 * 1024,
  concurrency: 64,
};
