/**
 * The transport of a runtime for endpoints behind tunnels: sends their requests to the proxy of a relay, with the runtime's token, and all
 * others to the plain transport.
 */
import { BoundedCache } from "@perdure/base";
import type {
  EndpointStream,
  EndpointTransport,
  StreamListener,
  StreamRequest,
  TransportFailure,
} from "@perdure/endpoint-transport";
import { proxyPath } from "./address.js";
import { HTTP_VERSION_HEADER, RUNTIME_TOKEN_HEADER } from "./handshake.js";
import { ROUTES_MAX } from "./limits.js";
import { type TunnelAccess, type TunnelRoute, TunnelRoutes } from "./routes.js";

interface TunnelTransports {
  /** Transport to addresses that are not behind a tunnel. */
  readonly plain: EndpointTransport;
  /** Transport to the proxy alone: it bypasses the egress guard, because users do not choose the proxy's address. */
  readonly toProxy: EndpointTransport;
}

/** Serves addresses behind tunnels itself and delegates all others to `plain`. Disposing it disposes of both. */
export function createTunnelTransport({ plain, toProxy }: TunnelTransports, access: TunnelAccess): EndpointTransport {
  return new TunnelTransport(plain, toProxy, access);
}

/** Destination of requests to an address: the proxy at this URI, or a destination as the route defines. */
type TransportRoute = { readonly kind: "proxy"; readonly uri: string } | Exclude<TunnelRoute, { kind: "own" }>;

class TunnelTransport implements EndpointTransport {
  readonly #plain: EndpointTransport;
  readonly #toProxy: EndpointTransport;
  readonly #access: TunnelAccess;
  readonly #routes: TunnelRoutes;
  readonly #ways = new BoundedCache<string, TransportRoute>({ entriesMax: ROUTES_MAX });

  constructor(plain: EndpointTransport, toProxy: EndpointTransport, access: TunnelAccess) {
    this.#plain = plain;
    this.#toProxy = toProxy;
    this.#access = access;
    this.#routes = new TunnelRoutes(access);
  }

  open(request: StreamRequest, listener: StreamListener): EndpointStream {
    const { address } = request;
    if (address.kind !== "http") return this.#plain.open(request, listener);
    const way = this.#wayOf(address.uri);
    if (way.kind === "none") return this.#plain.open(withoutToken(request), listener);
    if (way.kind !== "proxy") {
      queueMicrotask(() => listener.failed(failureOf(way)));
      return nowhere;
    }
    const headers: Record<string, string> = Object.assign({}, request.headers);
    headers[RUNTIME_TOKEN_HEADER] = this.#access.token.reveal();
    // The connection to the relay is HTTP/2 in any case; this header has the version for the service behind the tunnel.
    if (address.httpVersion === "HTTP/1.1") headers[HTTP_VERSION_HEADER] = "HTTP/1.1";
    const { method, path, requestResponse, isLarge } = request;
    return this.#toProxy.open(
      { address: { kind: "http", uri: way.uri, httpVersion: "HTTP/2.0" }, method, path, headers, requestResponse, isLarge },
      listener,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plain[Symbol.asyncDispose]();
    await this.#toProxy[Symbol.asyncDispose]();
  }

  #wayOf(uri: string): TransportRoute {
    const cached = this.#ways.peek(uri);
    if (cached !== undefined) return cached;
    const route = this.#routes.routeOf(uri);
    const way: TransportRoute =
      route.kind === "own"
        ? { kind: "proxy", uri: new URL(this.#access.proxyUrl).origin + proxyPath(this.#access.bare, route.address) }
        : route;
    this.#ways.set(uri, way);
    return way;
  }
}

/** Removes the token's header, which only a relay may receive, also when a deployment's own headers have it. */
function withoutToken(request: StreamRequest): StreamRequest {
  if (request.headers[RUNTIME_TOKEN_HEADER] === undefined) return request;
  const { [RUNTIME_TOKEN_HEADER]: _hidden, ...headers } = request.headers;
  return { ...request, headers };
}

function failureOf({ kind }: Exclude<TunnelRoute, { kind: "own" | "none" }>): TransportFailure {
  return kind === "foreign"
    ? { kind: "denied", message: "tunnel belongs to another environment" }
    : { kind: "client", message: "the address names no tunnel that can be used here" };
}

/** The stream of a request that was not sent. */
const nowhere: EndpointStream = {
  write: () => true,
  end() {},
  abort() {},
  pauseReading() {},
  resumeReading() {},
};
