/** The port for runtimes, with HTTP/2 and HTTP/1.1. */
import type { AddressInfo } from "node:net";
import type { Clock, Logger } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import * as limits from "./limits.js";
import type { RelayListenOptions } from "./ports.js";
import { ProxyRequest } from "./proxy-request.js";

export interface ProxyPort {
  readonly address: AddressInfo;
  /** Accepts no new connections and requests. */
  stop(): void;
  /** Destroys open connections; resolves when all are closed. */
  close(): Promise<void>;
}

interface ProxyPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Shorter in tests. */
  readonly headersTimeoutMs?: number;
}

/** Rejects with RT0004. */
export async function openProxyPort(
  take: (request: ProxyRequest) => void,
  { host, port, certificates }: RelayListenOptions,
  { clock, logger, headersTimeoutMs = limits.HEADERS_TIMEOUT_MS }: ProxyPorts,
): Promise<ProxyPort> {
  const http = createHttpPort(
    { exchange: (exchange) => take(new ProxyRequest(exchange)) },
    { clock, logger },
    {
      certificates,
      headersTimeoutMs,
      headerBytesMax: limits.HEADER_BYTES_MAX,
      handshakeTimeoutMs: limits.HANDSHAKE_MS,
      requestTimeoutMs: 0, // Attempts stream for as long as they run.
      keepAliveTimeoutMs: limits.IDLE_CONNECTION_MS,
      concurrentStreamsMax: limits.STREAMS_PER_CALLER_MAX,
      lingerMs: limits.LINGER_MS,
      http2: {
        sessionMemoryMiBMax: limits.SESSION_MEMORY_MEGABYTES,
        streamWindowBytes: limits.STREAM_WINDOW_BYTES,
        connectionWindowBytes: limits.CONNECTION_WINDOW_BYTES,
      },
    },
  );
  const address = await http.listen(host === undefined ? { port } : { host, port });
  return { address, stop: () => http.stop(), close: () => http.close(0) };
}
