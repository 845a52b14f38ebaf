/**
 * The transport to endpoints that answer HTTP: HTTP/2 over pooled connections, HTTP/1.1 over kept-alive sockets. It moves bytes,
 * independent of invocations.
 */
import type { Agent } from "node:http";
import type { Clock, Random } from "@perdure/base";
import { invariant } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import type { EndpointStream, EndpointTransport, StreamListener, StreamRequest } from "@perdure/endpoint-transport";
import { agentsOf } from "./admit.js";
import { type EndpointBase, endpointBase } from "./endpoint-base.js";
import { clientFailure, deniedFailure } from "./failures.js";
import { Http1EndpointStream } from "./http1-stream.js";
import { Http2Pool } from "./http2-pool.js";
import type { SessionDeps } from "./http2-session.js";
import { Http2EndpointStream } from "./http2-stream.js";
import { IDLE_CLOSE_MS, IDLE_SOCKETS_MAX, STREAMS_PER_SESSION_LIFETIME } from "./limits.js";

export interface HttpTransportDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Decides where connections may go; without a guard they may go anywhere. */
  readonly guard?: EgressGuard | undefined;
}

interface HttpTransportOptions {
  /** PEM certificates to trust instead of the system's, for endpoints with a private authority. */
  readonly trustedCertificates?: string;
  /** Streams after which a connection is replaced; smaller in tests. */
  readonly streamsPerSessionLifetime?: number;
  /** True by default. False: connections stay open while the peer is stopped, in a debugger for example. */
  readonly sendsPings?: boolean;
}

/** HTTP/2 connections by state, and sockets for HTTP/1.1. */
export interface TransportConnectionCounts {
  readonly connecting: number;
  readonly open: number;
  /** They take no more streams, and end with those they have. */
  readonly draining: number;
  readonly http11: number;
}

export interface CountingTransport extends EndpointTransport {
  connections(): TransportConnectionCounts;
}

/** Serves addresses of kind `http`. Disposing breaks every connection. */
export function createHttpTransport(deps: HttpTransportDeps, options: HttpTransportOptions = {}): CountingTransport {
  return new HttpTransport(deps, options);
}

class HttpTransport implements CountingTransport {
  readonly #deps: SessionDeps;
  readonly #pools = new Map<string, Http2Pool>();
  readonly #httpAgent: Agent;
  readonly #httpsAgent: Agent;
  #closed = false;

  constructor(deps: HttpTransportDeps, options: HttpTransportOptions) {
    const agentOptions = { keepAlive: true, maxFreeSockets: IDLE_SOCKETS_MAX, timeout: IDLE_CLOSE_MS, noDelay: true };
    this.#deps = {
      clock: deps.clock,
      random: deps.random,
      guard: deps.guard,
      trustedCertificates: options.trustedCertificates,
      streamsPerSessionLifetime: options.streamsPerSessionLifetime ?? STREAMS_PER_SESSION_LIFETIME,
      sendsPings: options.sendsPings ?? true,
    };
    const agents = agentsOf(agentOptions, options.trustedCertificates, deps.guard);
    this.#httpAgent = agents.http;
    this.#httpsAgent = agents.https;
  }

  open(request: StreamRequest, listener: StreamListener): EndpointStream {
    const { address } = request;
    invariant(address.kind === "http", "the HTTP transport is for HTTP addresses only");
    const base = endpointBase(address.uri);
    if (this.#closed || base === undefined) {
      const why = this.#closed ? "the transport is closed" : "the address is not an http or https one";
      queueMicrotask(() => listener.failed(clientFailure(why)));
      return nowhere;
    }
    const { guard } = this.#deps;
    if (guard !== undefined && !guard.allows(address.uri)) {
      queueMicrotask(() => listener.failed(deniedFailure()));
      return nowhere;
    }
    if (address.httpVersion === "HTTP/1.1") {
      return new Http1EndpointStream(base, request, listener, base.secure ? this.#httpsAgent : this.#httpAgent, this.#deps.clock);
    }
    const stream = new Http2EndpointStream(base, request, listener);
    this.#pool(base).open(stream);
    return stream;
  }

  connections(): TransportConnectionCounts {
    const counts = { connecting: 0, open: 0, draining: 0, http11: socketsOf(this.#httpAgent) + socketsOf(this.#httpsAgent) };
    for (const pool of this.#pools.values()) pool.addCounts(counts);
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const pool of this.#pools.values()) pool.destroy();
    this.#pools.clear();
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  #pool(base: EndpointBase): Http2Pool {
    let pool = this.#pools.get(base.origin);
    if (pool === undefined) {
      pool = new Http2Pool(base, this.#deps, () => this.#pools.delete(base.origin));
      this.#pools.set(base.origin, pool);
    }
    return pool;
  }
}

function socketsOf({ sockets, freeSockets }: Agent): number {
  let count = 0;
  for (const list of [...Object.values(sockets), ...Object.values(freeSockets)]) count += list?.length ?? 0;
  return count;
}

/** The stream of a request that was never sent. */
const nowhere: EndpointStream = {
  write: () => true,
  end() {},
  abort() {},
  pauseReading() {},
  resumeReading() {},
};
