/**
 * A local port that forwards to an environment's ingress or admin API and adds the credential to each request. Every caller of the port
 * has the permissions of the credential, so the port listens on loopback by default (cloud.md §2.9).
 */
import {
  createServer as createHttpServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { boundHalfClose, handleErrors, PerdureError, systemClock } from "@perdure/base";
import { errorBody, isFinalStatus, passedHeaders } from "../http-headers.js";
import { HEADERS_CHECK_MS, HEADERS_TIMEOUT_MS, LINGER_MS, LOCAL_SOCKETS_MAX } from "../limits.js";

export type RemotePortEvent =
  /** One request; `status` 0: it failed before an answer. `path` without query. */
  { readonly kind: "request"; readonly method: string; readonly path: string; readonly status: number };

export interface RemotePortOptions {
  /** 0 binds a free port. */
  readonly port: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Required for a host that other machines can reach. */
  readonly bindInsecure?: boolean | undefined;
  /** Origin of the environment's ingress or admin address. */
  readonly target: string;
  /** Called for each request; replaces the caller's `Authorization`. */
  readonly credential: () => Promise<string>;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  readonly onEvent?: ((event: RemotePortEvent) => void) | undefined;
  /** Shorter in tests. */
  readonly headersTimeoutMs?: number | undefined;
}

export interface RemotePort extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

type RemotePortRequest = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** First bytes of HTTP/2 connections; no method of HTTP/1.1 begins with them. */
const HTTP2_BEGIN = Buffer.from("PRI");
/** Headers that the forwarded request replaces. */
const NOT_PASSED: ReadonlySet<string> = new Set(["host", "authorization", "content-length"]);
const NOT_ANSWERED: ReadonlySet<string> = new Set();

/** Rejects with OPS0001 when other machines could reach the port, RT0004 when the address cannot be bound. */
export async function openRemotePort(options: RemotePortOptions): Promise<RemotePort> {
  const host = options.host ?? "127.0.0.1";
  if (!isLoopback(host) && options.bindInsecure !== true) {
    throw new PerdureError(
      "OPS0001",
      `${host} is reachable from other machines, which could act with your credential; allow it explicitly`,
    );
  }
  const target = new URL(options.target);
  const headersTimeout = options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS;
  const agent =
    target.protocol === "https:"
      ? new HttpsAgent({
          keepAlive: true,
          maxFreeSockets: LOCAL_SOCKETS_MAX,
          ...(options.ca === undefined ? {} : { ca: options.ca }),
        })
      : new HttpAgent({ keepAlive: true, maxFreeSockets: LOCAL_SOCKETS_MAX });
  const answer = (request: RemotePortRequest, response: Response): void => void pass(options, target, agent, request, response);
  const http1 = createHttpServer(
    { headersTimeout, requestTimeout: 0, connectionsCheckingInterval: Math.min(HEADERS_CHECK_MS, headersTimeout), noDelay: true },
    answer,
  );
  // The server listens itself, so that it enforces the timeout of headers; it gets a connection only after its first bytes were HTTP/1.1.
  const acceptHttp1 = http1.listeners("connection") as ((connection: Duplex) => void)[];
  http1.removeAllListeners("connection");
  const http2 = createHttp2Server(answer);
  // Without this listener Node sends status 100 by itself, and throws when the stream has ended already.
  http2.on("checkContinue", (request: Http2ServerRequest, response: Http2ServerResponse) => {
    if (!request.stream.destroyed && !request.stream.closed) response.writeContinue();
    answer(request, response);
  });
  const sockets = new Set<Socket>();
  http1.on("connection", (socket) => {
    handleErrors(socket, () => socket.destroy());
    sockets.add(socket);
    const silent = systemClock.setTimer(headersTimeout, () => socket.destroy());
    socket.on("close", () => {
      silent.cancel();
      sockets.delete(socket);
    });
    let head = Buffer.alloc(0);
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      head = Buffer.concat([head, chunk]);
      const isHttp2 = head.subarray(0, HTTP2_BEGIN.length).equals(HTTP2_BEGIN.subarray(0, head.length));
      if (isHttp2 && head.length < HTTP2_BEGIN.length) return; // A POST begins with P, too.
      silent.cancel();
      socket.off("readable", onReadable);
      socket.unshift(head);
      if (!isHttp2) {
        for (const accept of acceptHttp1) accept.call(http1, socket);
        return;
      }
      socket.allowHalfOpen = false; // HTTP/1.1 servers accept half-closed peers; an HTTP/2 peer that ends is gone.
      boundHalfClose(socket, systemClock, LINGER_MS);
      http2.emit("connection", socket);
    };
    socket.on("readable", onReadable);
  });
  await new Promise<void>((resolve, reject) => {
    http1.once("error", (cause) => reject(new PerdureError("RT0004", `cannot listen on ${host}:${options.port}`, { cause })));
    http1.listen(options.port, host, resolve);
  });
  const { port } = http1.address() as AddressInfo;
  return {
    port,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => http1.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      agent.destroy();
      await closed;
    },
  };
}

async function pass(
  { credential, onEvent }: RemotePortOptions,
  target: URL,
  agent: HttpAgent,
  request: RemotePortRequest,
  response: Response,
): Promise<void> {
  const method = request.method ?? "GET";
  const path = (request.url ?? "/").replace(/\?.*$/s, "");
  handleErrors(request); // `close` follows.
  handleErrors(response);
  const caller = new AbortController();
  response.on("close", () => {
    onEvent?.({ kind: "request", method, path, status: response.headersSent ? response.statusCode : 0 });
    caller.abort();
  });
  try {
    const authorization = `Bearer ${await credential()}`;
    if (caller.signal.aborted) return; // The caller disconnected meanwhile.
    const length = request.headers["content-length"];
    const send = target.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = send(target, {
      agent,
      method,
      path: request.url ?? "/",
      headers: {
        ...passedHeaders(request.headers, NOT_PASSED),
        host: target.host,
        authorization,
        ...(length === undefined ? {} : { "content-length": length }),
      },
    });
    handleErrors(outgoing, (cause) => refuse(response, `${target.origin} does not answer: ${cause.message}`));
    outgoing.on("response", (answer) => {
      handleErrors(answer, () => cut(response));
      if (request.httpVersionMajor === 2 && !isFinalStatus(answer.statusCode)) {
        refuse(response, `${target.origin} answers with a status that HTTP/2 does not have`);
        return void outgoing.destroy();
      }
      // The two response types have the same `writeHead`, but TypeScript cannot call a method of a union with overloads.
      (response as ServerResponse).writeHead(answer.statusCode ?? 502, passedHeaders(answer.headers, NOT_ANSWERED));
      answer.pipe(response as ServerResponse);
    });
    caller.signal.addEventListener("abort", () => outgoing.destroy());
    request.pipe(outgoing);
  } catch (cause) {
    refuse(response, cause instanceof Error ? cause.message : String(cause));
  }
}

function refuse(response: Response, message: string): void {
  if (response.headersSent) return cut(response);
  (response as ServerResponse).writeHead(502, { "content-type": "application/json" }).end(errorBody(502, message));
}

/** Aborts the answer. Without an error HTTP/2 streams are reset with NO_ERROR, and clients take the answer for complete. */
function cut(response: Response): void {
  (response as ServerResponse).destroy(new Error("the answer broke off"));
}

function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
