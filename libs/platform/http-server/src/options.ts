/** Options of a port: its handler and its bounds. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { CertificateSource } from "./certificates.js";
import type { HttpExchange } from "./exchange.js";
import type { RequestGuard } from "./guard.js";
import type { Http2GuardOptions } from "./http2-guard.js";
import type { ErrorForm } from "./unreadable.js";

/** Handlers of requests. They must not throw, and must watch the `close` event while they wait. */
interface RequestHandlers {
  request(req: IncomingMessage, res: ServerResponse): void;
  /** One HTTP/2 stream. Unset: it is translated to `request`. `rawHeaders` has pseudo-headers too, names in lower case. */
  stream?(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]): void;
}

/** A handler of both HTTP versions that costs little per request. It must not throw. */
interface ExchangeHandler {
  exchange(exchange: HttpExchange): void;
}

export type HttpHandlers = RequestHandlers | ExchangeHandler;

/** Bounds of one port, all with a default from `limits.ts`; the names carry the unit. */
export interface HttpPortOptions {
  readonly headerBytesMax?: number;
  readonly headersTimeoutMs?: number;
  /** TLS; by default as long as the timeout of headers. */
  readonly handshakeTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly keepAliveTimeoutMs?: number;
  readonly sessionIdleTimeoutMs?: number;
  readonly concurrentStreamsMax?: number;
  readonly connectionsMax?: number;
  /** Requests of one HTTP/1.1 connection that wait for answers; a connection with more is closed. Unlimited by default. */
  readonly pipelinedMax?: number;
  /** Time for which a client that is still sending may read its answer. */
  readonly lingerMs?: number;
  /** Bytes of a body that are read and dropped after an early answer, to keep the connection; for exchanges. */
  readonly discardedBytesMax?: number;
  readonly http2?: Http2Options;
  /** Form of the answer to a request that cannot be parsed. Default: `code` and `message`. */
  readonly errorForm?: ErrorForm;
  /** Whether a request of HTTP/1.1 without `host` is refused before its handler; true by default. */
  readonly checksHost?: boolean;
  /** Checks each request before its handler. */
  readonly guard?: RequestGuard | undefined;
  /** Certificates with which the port accepts TLS alone (ALPN selects the HTTP version); new connections get the current one. */
  readonly certificates?: CertificateSource | undefined;
  /** Checks each new connection before anything is read from it; destroys the socket when it returns false. */
  readonly admit?: (socket: Socket) => boolean;
}

interface Http2Options {
  readonly sessionMemoryMiBMax?: number;
  readonly streamWindowBytes?: number;
  readonly connectionWindowBytes?: number;
  /** Bytes of a header list; by default `headerBytesMax`. */
  readonly headerListBytesMax?: number;
  readonly headerPairsMax?: number;
  /** Unset: frames are not counted, and no PINGs are sent. */
  readonly guard?: Http2GuardOptions;
}
