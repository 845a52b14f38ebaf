/**
 * Keeps an edge process running after an uncaught error of one connection. Normally an uncaught exception ends the process, since the state
 * of the program is then unknown; at an edge one client could so end the process for all tenants, wherever a listener for errors is
 * missing. The code that Node sets on the error shows whether it concerns one connection: those errors are logged and counted, and the
 * process continues (docs/decisions/0038).
 */
import { type Clock, causeCode, type Logger } from "@perdure/base";
import type { Counter, Metrics } from "@perdure/telemetry";
import { CONNECTION_ERRORS_LOGGED_MAX, CONNECTION_ERRORS_WINDOW_MS } from "./limits.js";

type ConnectionErrorKind = "http2" | "http1" | "tls" | "stream" | "socket";

/** How Node reports an error to the process: thrown (also an `error` event without a listener), or as an unhandled rejection. */
export type UncaughtOrigin = "uncaughtException" | "unhandledRejection";

/**
 * About one HTTP/2 connection or one of its streams. The first group is emitted for bytes that a peer sends; the second is thrown where an
 * answer is written to a stream that has ended, or contains something that HTTP/2 does not allow: a bug of this program, but in one answer.
 */
const HTTP2: ReadonlySet<string> = new Set([
  "ERR_HTTP2_ERROR",
  "ERR_HTTP2_FRAME_ERROR",
  "ERR_HTTP2_GOAWAY_SESSION",
  "ERR_HTTP2_MAX_PENDING_SETTINGS_ACK",
  "ERR_HTTP2_PING_CANCEL",
  "ERR_HTTP2_SESSION_ERROR",
  "ERR_HTTP2_SETTINGS_CANCEL",
  "ERR_HTTP2_STREAM_CANCEL",
  "ERR_HTTP2_STREAM_ERROR",
  "ERR_HTTP2_TOO_MANY_INVALID_FRAMES",

  "ERR_HTTP2_HEADERS_AFTER_RESPOND",
  "ERR_HTTP2_HEADERS_SENT",
  "ERR_HTTP2_HEADER_SINGLE_VALUE",
  "ERR_HTTP2_INFO_STATUS_NOT_ALLOWED",
  "ERR_HTTP2_INVALID_CONNECTION_HEADERS",
  "ERR_HTTP2_INVALID_HEADER_VALUE",
  "ERR_HTTP2_INVALID_INFO_STATUS",
  "ERR_HTTP2_INVALID_SESSION",
  "ERR_HTTP2_INVALID_STREAM",
  "ERR_HTTP2_PAYLOAD_FORBIDDEN",
  "ERR_HTTP2_SOCKET_UNBOUND",
  "ERR_HTTP2_STATUS_101",
  "ERR_HTTP2_STATUS_INVALID",
  "ERR_HTTP2_TRAILERS_ALREADY_SENT",
  "ERR_HTTP2_TRAILERS_NOT_READY",
]);

/** About one request or answer of HTTP/1.1. Codes that begin with `HPE_` are errors of the parser about the bytes of one connection. */
const HTTP1: ReadonlySet<string> = new Set([
  "ERR_HTTP_BODY_NOT_ALLOWED",
  "ERR_HTTP_CONTENT_LENGTH_MISMATCH",
  "ERR_HTTP_HEADERS_SENT",
  "ERR_HTTP_INVALID_HEADER_VALUE",
  "ERR_HTTP_INVALID_STATUS_CODE",
  "ERR_HTTP_REQUEST_TIMEOUT",
]);

/** About one TLS connection. Codes that begin with `ERR_SSL_` are errors of OpenSSL about the records of a peer. */
const TLS: ReadonlySet<string> = new Set(["EPROTO", "ERR_TLS_HANDSHAKE_TIMEOUT"]);

/** Files and pipes have these too, so the stack must show that the stream is one of the network. */
const STREAM: ReadonlySet<string> = new Set([
  "ERR_STREAM_ALREADY_FINISHED",
  "ERR_STREAM_CANNOT_PIPE",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_PUSH_AFTER_EOF",
  "ERR_STREAM_WRITE_AFTER_END",
]);
const OF_THE_NETWORK = /\((?:node:net|node:_http_\w+|node:_tls_wrap|node:internal\/http2\/\w+):/;

/** A socket that was open and broke. A connection that could not be made (`syscall` is `connect`) concerns a dependency of the process. */
const SOCKET: ReadonlySet<string> = new Set(["ECONNABORTED", "ECONNRESET", "ENOTCONN", "EPIPE", "ETIMEDOUT"]);
const OF_OPEN_SOCKETS: ReadonlySet<unknown> = new Set(["read", "write", "shutdown"]);

/** The kind of connection that the exception concerns; undefined when it does not belong to one connection for certain. */
export function connectionErrorKind(cause: unknown, origin: UncaughtOrigin): ConnectionErrorKind | undefined {
  const code = causeCode(cause);
  if (!(cause instanceof Error) || code === undefined) return undefined;
  const { stack = "" } = cause;
  const syscall = "syscall" in cause ? cause.syscall : undefined;
  if (HTTP2.has(code)) return "http2";
  if (HTTP1.has(code) || code.startsWith("HPE_")) return "http1";
  if (STREAM.has(code) && OF_THE_NETWORK.test(stack)) return "stream";
  // A rejection with these codes is a failed request of this process (to a database, to another role) that the code does not handle.
  if (origin === "unhandledRejection") return undefined;
  if (TLS.has(code) || code.startsWith("ERR_SSL_")) return "tls";
  if (SOCKET.has(code) && OF_OPEN_SOCKETS.has(syscall)) return "socket";
  return undefined;
}

/** Decides for an edge process which exceptions it survives. */
export class ConnectionErrors {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #counter: Counter;
  #windowAtMs: number;
  #logged = 0;
  #suppressed = 0;

  constructor({ clock, logger, metrics }: { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#windowAtMs = clock.monotonicMs();
    this.#counter = metrics.counter({
      name: "perdure_uncaught_connection_errors_total",
      help: "Uncaught exceptions of one connection, after which the process continued",
    });
  }

  /** Whether the process continues; if so, the exception has been counted, and logged unless too many were. */
  readonly survives = (cause: unknown, origin: UncaughtOrigin): boolean => {
    const kind = connectionErrorKind(cause, origin);
    if (kind === undefined) return false;
    this.#counter.inc();
    this.#log(cause, kind);
    return true;
  };

  /** A flood of such errors must not become a flood of lines. */
  #log(error: unknown, kind: ConnectionErrorKind): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowAtMs >= CONNECTION_ERRORS_WINDOW_MS) {
      this.#windowAtMs = nowMs;
      this.#logged = 0;
    }
    if (this.#logged >= CONNECTION_ERRORS_LOGGED_MAX) {
      this.#suppressed++;
      return;
    }
    this.#logged++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    this.#logger.error({ kind, error, suppressed }, "uncaught error of one connection; the process continues");
  }
}
