/** One TCP port of the gateway (cloud.md §1.8), with its bounds and its answers to bytes that are not a request. */
import type { Clock, Logger } from "@perdure/base";
import {
  type CertificateSource,
  createHttpPort,
  type HttpExchange,
  type HttpPort,
  type HttpPortOptions,
  type UnreadableKind,
} from "@perdure/http-server";
import type { ConnectionCount } from "./connection-count.js";
import * as limits from "./limits.js";
import { type GatewayRefusal, headersTooLarge, malformed, slowRequest } from "./refusal.js";

interface ListenerHandlers {
  /** A request. Must not throw. */
  request(exchange: HttpExchange): void;
  /** Received bytes are not a valid request: returns the body of the answer, JSON. */
  unreadable(refused: GatewayRefusal): string;
  /** An HTTP/2 connection was closed because of the frames it sent. */
  flooded(): void;
}

interface ListenerPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts the connections of all ports of the gateway. */
  readonly connections: ConnectionCount;
}

export function createListener(
  handlers: ListenerHandlers,
  certificates: CertificateSource | undefined,
  { clock, logger, connections }: ListenerPorts,
): HttpPort {
  const options: HttpPortOptions = {
    ...PORT_OPTIONS,
    certificates,
    admit: (socket) => connections.admit(socket),
    errorForm: (_status, _message, kind) => {
      const refused = refusalOf(kind);
      return { status: refused.status, body: handlers.unreadable(refused) };
    },
    http2: { ...HTTP2_OPTIONS, guard: { ...FRAME_LIMITS, flooded: () => handlers.flooded() } },
  };
  return createHttpPort({ exchange: (exchange) => handlers.request(exchange) }, { clock, logger }, options);
}

function refusalOf(kind: UnreadableKind): GatewayRefusal {
  switch (kind) {
    case "headersTooLarge":
      return headersTooLarge;
    case "tooSlow":
      return slowRequest;
    default:
      return UNREADABLE;
  }
}

const UNREADABLE = malformed("This is not a request that can be read in one way only");

const PORT_OPTIONS: HttpPortOptions = {
  headerBytesMax: limits.HEADER_BYTES_MAX,
  headersTimeoutMs: limits.HEADERS_TIMEOUT_MS,
  handshakeTimeoutMs: limits.HANDSHAKE_TIMEOUT_MS,
  requestTimeoutMs: 0, // Bodies have a least rate instead: a whole body may take its time.
  keepAliveTimeoutMs: limits.IDLE_CONNECTION_MS,
  sessionIdleTimeoutMs: limits.IDLE_CONNECTION_MS,
  concurrentStreamsMax: limits.STREAMS_MAX,
  connectionsMax: limits.CONNECTIONS_MAX,
  pipelinedMax: limits.PIPELINED_MAX,
  lingerMs: limits.LINGER_MS,
  discardedBytesMax: limits.GATHERED_BODY_BYTES_MAX,
  checksHost: false, // The gateway refuses it itself, and counts the refusal.
};

const HTTP2_OPTIONS = {
  sessionMemoryMiBMax: limits.SESSION_MEMORY_MIB_MAX,
  streamWindowBytes: limits.STREAM_WINDOW_BYTES,
  connectionWindowBytes: limits.CONNECTION_WINDOW_BYTES,
  headerListBytesMax: limits.HTTP2_HEADER_BYTES_MAX,
  headerPairsMax: limits.HTTP2_HEADER_PAIRS_MAX,
};

const FRAME_LIMITS = {
  controlFramesMax: limits.CONTROL_FRAMES_MAX,
  controlWindowMs: limits.CONTROL_WINDOW_MS,
  keepAliveMs: limits.KEEP_ALIVE_MS,
  pingTimeoutMs: limits.PING_TIMEOUT_MS,
};
