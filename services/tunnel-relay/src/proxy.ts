/**
 * Authorises requests of runtimes and forwards them into tunnels. A runtime reaches only tunnels of its own environment, only the
 * destination that its path names, and only with a request that its environment signed (cloud.md §2.6; T7, T8).
 */
import { type Clock, type Logger, PerdureError, type SummaryLog, TokenBucket } from "@perdure/base";
import { bareOf, type EnvironmentId, environmentOfBare, THROTTLED_BYTES_PER_SECOND } from "@perdure/cloud";
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
import type { RelayConnection } from "./connection.js";
import type { RelayEnvironment, RelayEnvironments } from "./environments.js";
import { RETRY_AFTER_SECONDS, STREAMS_PER_NAME_MAX, TARGET_CHARS_MAX, THROTTLED_BURST_MS, THROTTLED_MAX } from "./limits.js";
import type { RelayMetrics, RelayRefusalReason } from "./metrics.js";
import type { RelayPeers } from "./peers.js";
import type { ProxyRequest } from "./proxy-request.js";
import { type Carrier, pass } from "./tunneled-request.js";
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
const NOT_PASSED: ReadonlySet<string> = new Set(["host", RUNTIME_TOKEN_HEADER, HOP_HEADER]);
const NOT_PASSED_TO_PEERS: ReadonlySet<string> = new Set(["host"]);
const THROTTLED = {
  perSecond: THROTTLED_BYTES_PER_SECOND,
  burst: (THROTTLED_BYTES_PER_SECOND * THROTTLED_BURST_MS) / 1_000,
};
const RETRY_AFTER = { "retry-after": String(RETRY_AFTER_SECONDS) };

/** A request with its authenticated caller and its destination. */
interface ProxyRoute {
  readonly request: ProxyRequest;
  readonly environment: RelayEnvironment;
  readonly place: ProxyPath;
  readonly destination: Destination;
  /** Traceparent of the span here; undefined: the runtime's own is forwarded, if it sent one. */
  readonly traceparent: string | undefined;
}

export class ProxyHandler {
  readonly #parts: ProxyParts;
  /**
   * Bytes that environments may still transfer at once which have used up their transfer of the month, for all their requests together
   * (cloud.md §5.4).
   */
  readonly #throttled = new Map<EnvironmentId, TokenBucket>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
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
    const { id } = environment.facts;
    this.#slowDown(environment);
    if (this.#parts.tunnels.inFlight(id, place.name) >= STREAMS_PER_NAME_MAX) return this.#full(request, place);
    const carrier = this.#carrierHere(way, undefined);
    if (carrier === "full") return this.#full(request, place);
    if (carrier === "undeclared") {
      return this.#refuse(request, 502, "nobody", `tunnel '${place.name}' does not serve port ${way.destination.port}`);
    }
    if (carrier !== "unconnected") return this.#pass(way, carrier);
    const isHop = request.headers[HOP_HEADER] !== undefined;
    if (isHop || !this.#parts.peers.isSome) return this.#refuseUnconnected(request, place);
    void this.#carryElsewhere(way);
  }

  /** Applies the latest facts of the environment; streams in progress follow them too. */
  #slowDown({ facts: { id, isThrottled } }: RelayEnvironment): void {
    if (isThrottled !== true) this.#throttled.delete(id);
    else if (!this.#throttled.has(id) && this.#throttled.size < THROTTLED_MAX)
      this.#throttled.set(id, new TokenBucket(THROTTLED, this.#parts.clock.monotonicMs()));
  }

  /** Counts the bytes and returns how long (ms) the caller must wait before the next ones; 0: not at all. */
  #pauseMs(id: EnvironmentId, bytes: number): number {
    const bucket = this.#throttled.get(id);
    if (bucket === undefined) return 0;
    bucket.overdraw(this.#parts.clock.monotonicMs(), bytes);
    return bucket.msUntil(0);
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
    // The relay that holds the tunnel counts the bytes.
    const { clock } = this.#parts;
    pass(request, carrier, { another: () => undefined, clock, pace: () => 0, counted: NOTHING, retried: NOTHING });
  }

  #pass(way: ProxyRoute, carrier: Carrier): void {
    const { request, environment } = way;
    const { id } = environment.facts;
    const totals = this.#parts.usage.of(id);
    pass(request, carrier, {
      clock: this.#parts.clock,
      pace: (bytes) => this.#pauseMs(id, bytes),
      another: (declined) => {
        const another = this.#carrierHere(way, declined);
        return typeof another === "string" ? undefined : another;
      },
      counted: (bytes) => {
        totals.tunnelBytes += bytes;
        this.#parts.metrics?.bytes(bytes);
      },
      retried: () => this.#parts.metrics?.retried(),
    });
  }

  /** A carrier over the least busy connection, or the reason why there is none. */
  #carrierHere(way: ProxyRoute, but: Carrier | undefined): LocalCarrier | "unconnected" | "undeclared" | "full" {
    const { environment, place, destination } = way;
    // Official clients use `localhost` for their own machine, and so does `tunnel://`.
    const localPort = destination.host === "localhost" ? destination.port : undefined;
    const declined = but instanceof LocalCarrier ? but.connection : undefined;
    const choice = this.#parts.tunnels.choose(environment.facts.id, place.name, localPort, declined);
    if (choice.kind !== "connection") return choice.kind;
    return choice.connection.isFull ? "full" : new LocalCarrier(choice.connection, way);
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

class LocalCarrier implements Carrier {
  readonly connection: RelayConnection;
  readonly #way: ProxyRoute;

  constructor(connection: RelayConnection, way: ProxyRoute) {
    this.connection = connection;
    this.#way = way;
  }

  get mayDecline(): boolean {
    return this.connection.facts.supportsClientDrain;
  }

  declined(): void {
    this.connection.clientLeft();
  }

  open(endStream: boolean) {
    const { request, place, destination, traceparent } = this.#way;
    const headers: Record<string, string | string[]> = passedHeaders(request.headers, NOT_PASSED);
    if (request.isHttp1) headers[HTTP_VERSION_HEADER] ??= "HTTP/1.1";
    if (traceparent !== undefined) headers["traceparent"] = traceparent;
    headers[":method"] = request.method;
    headers[":scheme"] = destination.scheme;
    headers[":authority"] = `${destination.host}:${destination.port}`;
    headers[":path"] = place.rest;
    return this.connection.request(headers, endStream);
  }
}

/** The destination of requests between relays, which are not forwarded. */
const NO_DESTINATION: Destination = { scheme: "http", host: "", port: 0, target: "/" };

const NOTHING = (): void => undefined;
