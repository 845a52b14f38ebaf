/** Why: one port for runtimes: HTTP/2 and HTTP/1.1, told apart by the first bytes, or by ALPN where TLS is. */
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { boundHalfClose, type Clock, handleErrors, type Logger, PerdureError } from "@perdure/base";
import { boundRestOfBody, boundRestOfStream, FirstHeaders, httpLimits, sniffProtocol } from "@perdure/role/http";
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
import { Http1Visit, Http2Visit, type Visit } from "./visit.js";

export interface ProxyPort {
  readonly address: AddressInfo;
  /** No new connections and requests. */
  stop(): void;
  /** Breaks what is left; resolves when nothing is. */
  close(): Promise<void>;
}

/** Rejects with RT0004. */
export async function openProxyPort(
  take: (visit: Visit) => void,
  { host, port, certificates }: RelayListenOptions,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<ProxyPort> {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let isStopped = false;
  const http1 = createHttp1Server({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: httpLimits.STALLED_FACTOR * HEADERS_TIMEOUT_MS,
    requestTimeout: 0, // Attempts stream for as long as they run.
    keepAliveTimeout: IDLE_CONNECTION_MS,
    noDelay: true,
  });
  const firstHeaders = new FirstHeaders(clock, HEADERS_TIMEOUT_MS);
  http1.on("request", (request, response) => {
    firstHeaders.arrived(request.socket);
    if (isStopped) response.setHeader("connection", "close");
    response.once("finish", () => boundRestOfBody(request, clock, LINGER_MS));
    take(new Http1Visit(request, response));
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
    take(new Http2Visit(stream, headers as Record<string, string | string[]>));
  });
  http2.on("sessionError", (cause: Error) => logger.debug({ cause: cause.message }, "a runtime's connection failed"));

  const accept = (socket: Socket): void => {
    handleErrors(socket, () => socket.destroy());
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    if (certificates !== undefined) return handOver(socket, (socket as TLSSocket).alpnProtocol === "h2");
    sniffProtocol(socket, HEADERS_TIMEOUT_MS, (protocol) => handOver(socket, protocol === "h2c"));
  };
  const handOver = (socket: Socket, isHttp2: boolean): void => {
    if (isHttp2) boundHalfClose(socket, clock, LINGER_MS);
    else firstHeaders.expect(socket);
    (isHttp2 ? http2 : http1).emit("connection", socket);
  };
  const server =
    certificates === undefined
      ? createServer({ noDelay: true }, accept)
      : createTlsServer(
          { ...contextOf(certificates.current), ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: HANDSHAKE_MS },
          accept,
        );
  if (certificates !== undefined && "setSecureContext" in server) {
    certificates.onChange((certificate) => server.setSecureContext(contextOf(certificate)));
    server.on("tlsClientError", (_cause, socket) => {
      handleErrors(socket);
      socket.destroy();
    });
  }
  await bind(server, host, port);
  server.on("error", (cause) => logger.warn({ cause: cause.message }, "the proxy's socket failed"));
  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    server.close();
    for (const session of sessions) session.close();
    http1.closeIdleConnections();
    firstHeaders.close();
  };
  return {
    address: server.address() as AddressInfo,
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

/** PEM texts as Node's TLS wants them. */
export function contextOf({ certificate, privateKey }: { readonly certificate: string; readonly privateKey: string }) {
  return { cert: certificate, key: privateKey, minVersion: "TLSv1.2" } as const;
}

/** Rejects with RT0004. */
export function bind(server: ReturnType<typeof createServer>, host: string | undefined, port: number): Promise<void> {
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
