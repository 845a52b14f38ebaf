/**
 * Authorises requests of runtimes and forwards them into tunnels. A runtime reaches only tunnels of its own environment, only the
 * destination that its path names, and only with a request that its environment signed (cloud.md §2.6; T7, T8).
 */
import { type Clock, type Logger, PerdureError, type SummaryLog } from "@perdure/base";
import { bareOf, type EnvironmentId, environmentOfBare } from "@perdure/cloud";
import { type Edge, httpServerSpan } from "@perdure/telemetry";
import {
  type Destination,
  HOP_HEADER,
  HTTP_VERSION_HEADER,
  type ProxyPath,
  parseDestination,
  parseProxyPath,
  passedHeaders,
  RUNTIME_TOKEN_HEADER,
  withoutQuery,
} from "@perdure/tunnel";
import type { RelayEnvironment, RelayEnvironments } from "./environments.js";
import { RETRY_AFTER_SECONDS, STREAMS_PER_NAME_MAX, TARGET_CHARS_MAX } from "./limits.js";
import { LocalForwarding, type ProxyRoute } from "./local-forwarding.js";
import type { RelayMetrics, RelayRefusalReason } from "./metrics.js";
import type { RelayPeers } from "./peers.js";
import type { ProxyRequest } from "./proxy-request.js";
import { TransferThrottle } from "./throttle.js";
import { type Carrier, type ForwardingPolicy, pass } from "./tunneled-request.js";
import type { OpenTunnels } from "./tunnels.js";
import type { TunnelUsageBook } from "./usage.js";

interface ProxyParts {
  readonly environments: RelayEnvironments;
  readonly tunnels: OpenTunnels;
  readonly peers: RelayPeers;
  readonly usage: TunnelUsageBook;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Summarises warnings that each request would repeat while tenancy is unavailable. */
  readonly failures: SummaryLog;
  readonly metrics: RelayMetrics | undefined;
  /** Undefined: tracing is off. */
  readonly edge?: Edge | undefined;
}

/** Path of the request between relays whether one has a name: `HEAD /_/held/<bare>/<name>`, answered with 204 or 404. */
const HELD = /^\/_\/held(\/[^/?]+\/[^/?]+)$/;
const NOT_PASSED_TO_PEERS: ReadonlySet<string> = new Set(["host"]);
const RETRY_AFTER = { "retry-after": String(RETRY_AFTER_SECONDS) };

export class ProxyHandler {
  readonly #parts: ProxyParts;
  readonly #throttle: TransferThrottle;

  constructor(parts: ProxyParts) {
    this.#parts = parts;
    this.#throttle = new TransferThrottle(parts.clock);
  }

  /** Must not throw. */
  take(request: ProxyRequest): void {
    const startedAtMs = this.#parts.clock.monotonicMs();
    request.onEnd(() => this.#parts.metrics?.passed(this.#parts.clock.monotonicMs() - startedAtMs));
    const { path } = request;
    const held = HELD.exec(path)?.[1];
    const place = path.length > TARGET_CHARS_MAX ? undefined : parseProxyPath(held === undefined ? path : `${held}/`);
    if (place === undefined) return this.#refuse(request, 400, "path", "the path names no tunnel");
    const destination = held === undefined ? parseDestination(place.rest) : NO_DESTINATION;
    if (destination === undefined) return this.#refuse(request, 400, "path", "the path names no destination behind a tunnel");
    const token = request.headers[RUNTIME_TOKEN_HEADER];
    const caller = this.#parts.environments.runtimeOf(typeof token === "string" ? token : "");
    const goOn = (result: EnvironmentId | "unknown"): void => this.#called(request, place, destination, result);
    if (caller instanceof Promise) void this.#later(request, caller, goOn);
    else goOn(caller);
  }

  /** Never rejects. */
  async #later<T>(request: ProxyRequest, lookUp: Promise<T>, goOn: (result: T) => void): Promise<void> {
    try {
      const result = await lookUp;
      if (!request.isOver) goOn(result);
    } catch (cause) {
      const { code, message } = PerdureError.from(cause);
      const { failures, logger } = this.#parts;
      failures.warn(logger, { service: "tunnel-relay", code }, { code, cause: message }, "a caller could not be authenticated");
      this.#refuse(request, 503, "unknown", "callers cannot be authenticated at the moment; retry later", RETRY_AFTER);
    }
  }

  /** An environment is looked up only after its runtime was authenticated. */
  #called(request: ProxyRequest, place: ProxyPath, destination: Destination, caller: EnvironmentId | "unknown"): void {
    if (caller === "unknown") return this.#refuse(request, 401, "caller", "the runtime token is missing or not valid");
    if (bareOf(caller) !== place.bare) return this.#refuseForeign(request);
    const environment = this.#parts.environments.find(place.bare);
    const goOn = (result: RelayEnvironment | "unknown"): void => this.#verifyAndCarry(request, place, destination, result);
    if (environment instanceof Promise) void this.#later(request, environment, goOn);
    else goOn(environment);
  }

  #refuseForeign(request: ProxyRequest): void {
    this.#refuse(request, 403, "foreign", "tunnel belongs to another environment");
  }

  #verifyAndCarry(
    request: ProxyRequest,
    place: ProxyPath,
    destination: Destination,
    environment: RelayEnvironment | "unknown",
  ): void {
    if (environment === "unknown") return this.#refuseForeign(request);
    if (destination === NO_DESTINATION) return this.#answerHeld(request, place);
    const check = environment.verifier.check(request.headers, withoutQuery(destination.target));
    if (check.kind === "bad") return this.#refuse(request, 401, "signature", check.reason);
    const traceparent = this.#trace(request, environment);
    this.#carry({ request, environment, place, destination, traceparent });
  }

  /** Begins a span when the request has a traceparent; a relay begins no trace of its own. */
  #trace(request: ProxyRequest, { facts }: RelayEnvironment): string | undefined {
    const caller = request.headers["traceparent"];
    const { edge } = this.#parts;
    if (edge === undefined || typeof caller !== "string") return undefined;
    const span = edge.begin(caller, false);
    request.onEnd(() => {
      const { method, isHttp1, status } = request;
      const authority = request.headers["host"] ?? request.headers[":authority"];
      const host = typeof authority === "string" ? authority : undefined;
      const httpVersion = isHttp1 ? "1.1" : "2";
      const route = "/{environment}/{tunnel}/{destination}";
      const shape = httpServerSpan({ method, route, scheme: "http", httpVersion, host, userAgent: undefined, status });
      span.note({ ...shape, attributes: { ...shape.attributes, "perdure.environment.id": facts.id } });
      span.end(status === undefined || status >= 500 ? String(status ?? "abandoned") : undefined);
    });
    return span.traceparent;
  }

  #answerHeld(request: ProxyRequest, { bare, name }: ProxyPath): void {
    const has = this.#parts.tunnels.has(environmentOfBare(bare), name);
    request.send(has ? 204 : 404);
  }

  // ── choice of the connection ───────────────────────────────────────────────────────────────────

  #carry(way: ProxyRoute): void {
    const { request, place, environment } = way;
    this.#throttle.update(environment.facts);
    if (this.#parts.tunnels.inFlight(environment.facts.id, place.name) >= STREAMS_PER_NAME_MAX) return this.#full(request, place);
    const forwarding = new LocalForwarding(way, this.#parts, this.#throttle);
    const carrier = forwarding.carrier();
    if (carrier === "full") return this.#full(request, place);
    if (carrier === "undeclared") {
      return this.#refuse(request, 502, "nobody", `tunnel '${place.name}' does not serve port ${way.destination.port}`);
    }
    if (carrier !== "unconnected") return pass(request, carrier, forwarding, this.#parts.clock);
    const isHop = request.headers[HOP_HEADER] !== undefined;
    if (isHop || !this.#parts.peers.isSome) return this.#refuseUnconnected(request, place);
    void this.#carryElsewhere(way);
  }

  /** Never rejects. */
  async #carryElsewhere(way: ProxyRoute): Promise<void> {
    const { request, place } = way;
    const token = String(request.headers[RUNTIME_TOKEN_HEADER]);
    const peer = await this.#parts.peers.whoHolds(place, token);
    if (request.isOver) return;
    if (peer === undefined) return this.#refuseUnconnected(request, place);
    const headers = passedHeaders(request.headers, NOT_PASSED_TO_PEERS);
    headers[HOP_HEADER] = "1";
    if (way.traceparent !== undefined) headers["traceparent"] = way.traceparent;
    if (request.isHttp1) headers[HTTP_VERSION_HEADER] ??= "HTTP/1.1";
    const carrier: Carrier = {
      mayDecline: false,
      declined: () => this.#parts.peers.evict(place),
      open: (endStream) => peer.request({ ...headers, ":method": request.method, ":path": request.path }, endStream),
    };
    this.#parts.metrics?.hopped();
    pass(request, carrier, ELSEWHERE, this.#parts.clock);
  }

  #refuseUnconnected(request: ProxyRequest, { name }: ProxyPath): void {
    this.#refuse(request, 502, "nobody", `tunnel '${name}' has no connected client`);
  }

  #full(request: ProxyRequest, { name }: ProxyPath): void {
    this.#refuse(request, 503, "full", `tunnel '${name}' has reached its limit of concurrent requests`, RETRY_AFTER);
  }

  #refuse(
    request: ProxyRequest,
    status: number,
    reason: RelayRefusalReason,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.#parts.metrics?.refused(reason);
    request.refuse(status, message, headers);
  }
}

/** The destination of requests between relays, which are not forwarded. */
const NO_DESTINATION: Destination = { scheme: "http", host: "", port: 0, target: "/" };

/** The relay that holds the tunnel tries its connections, counts the bytes and slows them. */
const ELSEWHERE: ForwardingPolicy = {
  another: () => undefined,
  retried: () => undefined,
  pauseMs: () => 0,
  ended: () => undefined,
};
