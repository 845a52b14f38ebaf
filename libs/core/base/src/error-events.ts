/**
 * Listeners for `error` events. Node throws an `error` event without a listener as an uncaught exception, which ends the process. A socket,
 * session or stream can fail before its handler runs (a protocol error in the same TCP segment as the request), so its listener must be
 * attached first.
 */

/** An object of Node that emits `error`: a socket, a stream, an HTTP/2 session, a server, a child process. */
interface ErrorSource {
  on(event: "error", listener: (cause: Error) => void): unknown;
}

/**
 * Attaches a listener for `error`. The call is the first statement of every handler that receives a socket, session or stream, and directly
 * follows every expression that creates one (the tidy tests check it). Without `onError` the error is ignored: `close` always follows, and
 * owners clean up on `close`.
 */
export function handleErrors(source: ErrorSource, onError: (cause: Error) => void = ignore): void {
  source.on("error", onError);
}

/** Shared by all sources, because a closure for each stream would cost memory on the hot path. */
function ignore(): void {}
