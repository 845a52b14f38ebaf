/** One port for runtimes with HTTP/2 and HTTP/1.1, distinguished by the first bytes, or by ALPN under TLS. */
import { createServer as createHttp1Server, type Server } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { boundHalfClose, type Clock, handleErrors, type Logger, PerdureError } from "@perdure/base";
import {
  boundHandshakes,
  boundRestOfBody,
  boundRestOfStream,
  FirstHeaders,
  httpLimits,
  sniffProtocol,
} from "@perdure/http-server";
import {
  CONNECTION_WINDOW_BYTES,
  HANDSHAKE_MS,
  HEADER_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  IDLE_CONNECTION_MS,
  LINGER_MS,
  SESSION_MEMORY_MEGABYTES,
  STREAM_WINDOW_BYTES,
  STREAMS_PER_CALLER_MAX,
} from "./limits.js";
import type { RelayListenOptions } from "./ports.js";
import { Http1ProxyRequest, Http2ProxyRequest, type ProxyRequest } from "./proxy-request.js";

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
  { clock, logger, headersTimeoutMs = HEADERS_TIMEOUT_MS }: ProxyPorts,
): Promise<ProxyPort> {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let isStopped = false;
  const isSecure = certificates !== undefined;
  const http1 = isSecure
    ? secureServer(certificates, headersTimeoutMs, clock)
    : createHttp1Server(http1Options(headersTimeoutMs));
  // The server listens itself, so that it enforces the timeout of headers; it gets a connection only after its first bytes were HTTP/1.1.
  const event = isSecure ? "secureConnection" : "connection";
  const acceptHttp1 = http1.listeners(event) as ((connection: Duplex) => void)[];
  http1.removeAllListeners(event);
  const firstHeaders = new FirstHeaders(clock, headersTimeoutMs, (socket) =>
    socket.end("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"),
  );
  http1.on("request", (request, response) => {
    firstHeaders.arrived(request.socket);
    if (isStopped) response.setHeader("connection", "close");
    response.once("finish", () => boundRestOfBody(request, clock, LINGER_MS));
    take(new Http1ProxyRequest(request, response));
  });
  const http2 = createHttp2Server({
    maxSessionMemory: SESSION_MEMORY_MEGABYTES,
    settings: {
      enablePush: false,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxConcurrentStreams: STREAMS_PER_CALLER_MAX,
      maxHeaderListSize: HEADER_BYTES_MAX,
    },
  });
  http2.on("session", (session) => {
    handleErrors(session, (cause) => logger.debug({ cause: cause.message }, "a runtime's connection failed"));
    sessions.add(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.once("close", () => sessions.delete(session));
  });
  http2.on("stream", (stream, headers) => {
    // A reset or a connection error that arrived with the request has ended this stream before Node emits `stream`.
    handleErrors(stream);
    if (stream.destroyed || stream.closed) return void stream.destroy();
    stream.once("finish", () => boundRestOfStream(stream, clock, LINGER_MS));
    take(new Http2ProxyRequest(stream, headers as Record<string, string | string[]>));
  });
  http2.on("sessionError", (cause: Error) => logger.debug({ cause: cause.message }, "a runtime's connection failed"));

  const accept = (socket: Socket): void => {
    handleErrors(socket, () => socket.destroy());
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    if (isSecure) return handOver(socket, (socket as TLSSocket).alpnProtocol === "h2");
    sniffProtocol(socket, headersTimeoutMs, (protocol) => handOver(socket, protocol === "h2c"));
  };
  const handOver = (socket: Socket, isHttp2: boolean): void => {
    if (isHttp2) {
      socket.allowHalfOpen = false; // HTTP/1.1 servers accept half-closed peers; an HTTP/2 peer that ends is gone.
      boundHalfClose(socket, clock, LINGER_MS);
      http2.emit("connection", socket);
    } else {
      firstHeaders.expect(socket);
      for (const each of acceptHttp1) each.call(http1, socket);
    }
  };
  http1.on(event, accept);
  await bind(http1, host, port);
  http1.on("error", (cause) => logger.warn({ cause: cause.message }, "the proxy's socket failed"));
  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    http1.close(); // Closes idle HTTP/1.1 connections too.
    for (const session of sessions) session.close();
    firstHeaders.close();
  };
  return {
    address: http1.address() as AddressInfo,
    stop,
    async close() {
      stop();
      for (const session of sessions) session.destroy();
      const gone = [...sockets].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())));
      for (const socket of sockets) socket.destroy();
      await Promise.all(gone);
    },
  };
}

function http1Options(headersTimeoutMs: number) {
  return {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: httpLimits.STALLED_FACTOR * headersTimeoutMs,
    requestTimeout: 0, // Attempts stream for as long as they run.
    connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
    keepAliveTimeout: IDLE_CONNECTION_MS,
    noDelay: true,
  };
}

function secureServer(
  certificates: NonNullable<RelayListenOptions["certificates"]>,
  headersTimeoutMs: number,
  clock: Clock,
): Server {
  const server = createHttpsServer({
    ...http1Options(headersTimeoutMs),
    ...contextOf(certificates.current),
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: httpLimits.STALLED_FACTOR * HANDSHAKE_MS,
  });
  boundHandshakes(server, clock, HANDSHAKE_MS);
  certificates.onChange((certificate) => server.setSecureContext(contextOf(certificate)));
  server.on("tlsClientError", (_cause, socket) => {
    handleErrors(socket);
    socket.destroy();
  });
  return server as unknown as Server;
}

/** Options for Node's TLS from PEM texts. */
export function contextOf({ certificate, privateKey }: { readonly certificate: string; readonly privateKey: string }) {
  return { cert: certificate, key: privateKey, minVersion: "TLSv1.2" } as const;
}

/** Rejects with RT0004. */
export function bind(server: NetServer, host: string | undefined, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error): void =>
      reject(new PerdureError("RT0004", `cannot listen on ${host ?? "*"}:${port}: ${cause.message}`, { cause }));
    server.once("error", failed);
    server.listen({ port, host, backlog: 1024 }, () => {
      server.off("error", failed);
      resolve();
    });
  });
}
