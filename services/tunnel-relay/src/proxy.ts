/**
 * Why: the door behind which tunnels are: only runtimes of the same environment come in, only to what their path plainly names, and only
 * with a request that their environment signed for it (cloud.md §2.6; T7, T8).
 */
import { type Clock, type Logger, PerdureError, type SummaryLog } from "@perdure/base";
import { bareOf, type EnvironmentId, environmentOfBare } from "@perdure/cloud";
import { type Edge, httpServerSpan } from "@perdure/role";
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
import type { TunnelConnection } from "./connection.js";
import type { Environment, Environments } from "./environments.js";
import { RETRY_AFTER_SECONDS, STREAMS_PER_NAME_MAX, TARGET_CHARS_MAX, THROTTLED_MAX } from "./limits.js";
import type { RefusalReason, RelayMetrics } from "./metrics.js";
import { Pace } from "./pace.js";
import { type Carrier, pass } from "./passage.js";
import type { Peers } from "./peers.js";
import type { Tunnels } from "./tunnels.js";
import type { UsageBook } from "./usage.js";
import { refuse, type Visit } from "./visit.js";

export interface ProxyParts {
  readonly environments: Environments;
  readonly tunnels: Tunnels;
  readonly peers: Peers;
  readonly usage: UsageBook;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of what fails for each request alike while tenancy is away. */
  readonly failures: SummaryLog;
  readonly metrics: RelayMetrics | undefined;
  /** Undefined: nobody traces. */
  readonly edge?: Edge | undefined;
}

/** How relays ask each other whether somebody has a name: `HEAD /_/held/<bare>/<name>`, 204 or 404. */
const HELD = /^\/_\/held(\/[^/?]+\/[^/?]+)$/;
const NOT_PASSED: ReadonlySet<string> = new Set(["host", RUNTIME_TOKEN_HEADER, HOP_HEADER]);
const NOT_PASSED_TO_PEERS: ReadonlySet<string> = new Set(["host"]);
const RETRY_AFTER = { "retry-after": String(RETRY_AFTER_SECONDS) };

/** A request whose caller and place are known. */
interface Way {
  readonly visit: Visit;
  readonly environment: Environment;
  readonly place: ProxyPath;
  readonly destination: Destination;
  /** Of the span here; undefined: the runtime's passes, if it has one. */
  readonly traceparent: string | undefined;
}

export class ProxyDoor {
  readonly #parts: ProxyParts;
  /** Of environments that must go slowly. */
  readonly #paces = new Map<EnvironmentId, Pace>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
  }

  /** Must not throw. */
  take(visit: Visit): void {
    const startedAtMs = this.#parts.clock.monotonicMs();
    visit.onClose(() => this.#parts.metrics?.passed(this.#parts.clock.monotonicMs() - startedAtMs));
    const { path } = visit;
    const held = HELD.exec(path)?.[1];
    const place = path.length > TARGET_CHARS_MAX ? undefined : parseProxyPath(held === undefined ? path : `${held}/`);
    if (place === undefined) return this.#refuse(visit, 400, "path", "the path names no tunnel");
    const destination = held === undefined ? parseDestination(place.rest) : NO_DESTINATION;
    if (destination === undefined) return this.#refuse(visit, 400, "path", "the path names no destination behind a tunnel");
    const token = visit.headers[RUNTIME_TOKEN_HEADER];
    const caller = this.#parts.environments.runtimeOf(typeof token === "string" ? token : "");
    const goOn = (known: EnvironmentId | "nobody"): void => this.#called(visit, place, destination, known);
    if (caller instanceof Promise) void this.#later(visit, caller, goOn);
    else goOn(caller);
  }

  /** Never rejects. */
  async #later<T>(visit: Visit, lookUp: Promise<T>, goOn: (found: T) => void): Promise<void> {
    try {
      const found = await lookUp;
      if (!visit.isClosed) goOn(found);
    } catch (cause) {
      const { code, message } = PerdureError.from(cause);
      const { failures, logger } = this.#parts;
      failures.warn(logger, { service: "tunnel-relay", code }, { code, cause: message }, "a caller cannot be known");
      this.#refuse(visit, 503, "unknown", "callers cannot be known at the moment", RETRY_AFTER);
    }
  }

  /** Only environments with a runtime that calls are looked up. */
  #called(visit: Visit, place: ProxyPath, destination: Destination, caller: EnvironmentId | "nobody"): void {
    if (caller === "nobody") return this.#refuse(visit, 401, "caller", "only runtimes of environments are answered here");
    if (bareOf(caller) !== place.bare) return this.#refuseForeign(visit);
    const environment = this.#parts.environments.find(place.bare);
    const goOn = (known: Environment | "nobody"): void => this.#known(visit, place, destination, known);
    if (environment instanceof Promise) void this.#later(visit, environment, goOn);
    else goOn(environment);
  }

  #refuseForeign(visit: Visit): void {
    this.#refuse(visit, 403, "foreign", "tunnel belongs to another environment");
  }

  #known(visit: Visit, place: ProxyPath, destination: Destination, environment: Environment | "nobody"): void {
    if (environment === "nobody") return this.#refuseForeign(visit);
    if (destination === NO_DESTINATION) return this.#answerHeld(visit, place);
    const check = environment.verifier.check(visit.headers, withoutQuery(destination.target));
    if (check.kind === "bad") return this.#refuse(visit, 401, "signature", check.reason);
    const traceparent = this.#trace(visit, environment);
    this.#carry({ visit, environment, place, destination, traceparent });
  }

  /** Of runtimes that trace; a relay begins no trace of its own. */
  #trace(visit: Visit, { facts }: Environment): string | undefined {
    const caller = visit.headers["traceparent"];
    const { edge } = this.#parts;
    if (edge === undefined || typeof caller !== "string") return undefined;
    const span = edge.begin(caller, false);
    visit.onClose(() => {
      const { method, isHttp1, status } = visit;
      const authority = visit.headers["host"] ?? visit.headers[":authority"];
      const host = typeof authority === "string" ? authority : undefined;
      const httpVersion = isHttp1 ? "1.1" : "2";
      const route = "/{environment}/{tunnel}/{destination}";
      const shape = httpServerSpan({ method, route, scheme: "http", httpVersion, host, userAgent: undefined, status });
      span.note({ ...shape, attributes: { ...shape.attributes, "perdure.environment.id": facts.id } });
      span.end(status === undefined || status >= 500 ? String(status ?? "abandoned") : undefined);
    });
    return span.traceparent;
  }

  #answerHeld(visit: Visit, { bare, name }: ProxyPath): void {
    const has = this.#parts.tunnels.has(environmentOfBare(bare), name);
    visit.respond(has ? 204 : 404, {});
    visit.answer.end();
    visit.body.resume();
  }

  // ── who takes it ───────────────────────────────────────────────────────────────────────────────

  #carry(way: Way): void {
    const { visit, place, environment } = way;
    const { id } = environment.facts;
    this.#slowDown(environment);
    if (this.#parts.tunnels.inFlight(id, place.name) >= STREAMS_PER_NAME_MAX) return this.#full(visit, place);
    const carrier = this.#carrierHere(way, undefined);
    if (carrier === "full") return this.#full(visit, place);
    if (carrier === "undeclared") {
      return this.#refuse(visit, 502, "nobody", `tunnel '${place.name}' does not serve port ${way.destination.port}`);
    }
    if (carrier !== "nobody") return this.#pass(way, carrier);
    const isHop = visit.headers[HOP_HEADER] !== undefined;
    if (isHop || !this.#parts.peers.isSome) return this.#nobody(visit, place);
    void this.#carryElsewhere(way);
  }

  /** As its latest facts say; what streams already hears of it too. */
  #slowDown({ facts: { id, isThrottled } }: Environment): void {
    if (isThrottled !== true) this.#paces.delete(id);
    else if (!this.#paces.has(id) && this.#paces.size < THROTTLED_MAX) this.#paces.set(id, new Pace(this.#parts.clock));
  }

  /** Never rejects. */
  async #carryElsewhere(way: Way): Promise<void> {
    const { visit, place } = way;
    const token = String(visit.headers[RUNTIME_TOKEN_HEADER]);
    const peer = await this.#parts.peers.whoHolds(place, token);
    if (visit.isClosed) return;
    if (peer === undefined) return this.#nobody(visit, place);
    const headers = passedHeaders(visit.headers, NOT_PASSED_TO_PEERS);
    headers[HOP_HEADER] = "1";
    if (way.traceparent !== undefined) headers["traceparent"] = way.traceparent;
    if (visit.isHttp1) headers[HTTP_VERSION_HEADER] ??= "HTTP/1.1";
    const carrier: Carrier = {
      mayDecline: false,
      declined: () => this.#parts.peers.forget(place),
      open: (endStream) => peer.request({ ...headers, ":method": visit.method, ":path": visit.path }, endStream),
    };
    this.#parts.metrics?.hopped();
    // Who holds the tunnel counts what passes it.
    const { clock } = this.#parts;
    pass(visit, carrier, { another: () => undefined, clock, pace: () => 0, counted: NOTHING, retried: NOTHING });
  }

  #pass(way: Way, carrier: Carrier): void {
    const { visit, environment } = way;
    const { id } = environment.facts;
    const totals = this.#parts.usage.of(id);
    pass(visit, carrier, {
      clock: this.#parts.clock,
      pace: (bytes) => this.#paces.get(id)?.take(bytes) ?? 0,
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

  /** The least busy connection, as somebody who takes this request. */
  #carrierHere(way: Way, but: Carrier | undefined): LocalCarrier | "nobody" | "undeclared" | "full" {
    const { environment, place, destination } = way;
    // Official clients write `localhost` for their machine, and so does `tunnel://`.
    const localPort = destination.host === "localhost" ? destination.port : undefined;
    const declined = but instanceof LocalCarrier ? but.connection : undefined;
    const choice = this.#parts.tunnels.choose(environment.facts.id, place.name, localPort, declined);
    if (choice.kind !== "connection") return choice.kind;
    return choice.connection.isFull ? "full" : new LocalCarrier(choice.connection, way);
  }

  #nobody(visit: Visit, { name }: ProxyPath): void {
    this.#refuse(visit, 502, "nobody", `tunnel '${name}' has no connected client`);
  }

  #full(visit: Visit, { name }: ProxyPath): void {
    this.#refuse(visit, 503, "full", `tunnel '${name}' has as many requests as it may have`, RETRY_AFTER);
  }

  #refuse(
    visit: Visit,
    status: number,
    reason: RefusalReason,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.#parts.metrics?.refused(reason);
    refuse(visit, status, message, headers);
  }
}

class LocalCarrier implements Carrier {
  readonly connection: TunnelConnection;
  readonly #way: Way;

  constructor(connection: TunnelConnection, way: Way) {
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
    const { visit, place, destination, traceparent } = this.#way;
    const headers: Record<string, string | string[]> = passedHeaders(visit.headers, NOT_PASSED);
    if (visit.isHttp1) headers[HTTP_VERSION_HEADER] ??= "HTTP/1.1";
    if (traceparent !== undefined) headers["traceparent"] = traceparent;
    headers[":method"] = visit.method;
    headers[":scheme"] = destination.scheme;
    headers[":authority"] = `${destination.host}:${destination.port}`;
    headers[":path"] = place.rest;
    return this.connection.request(headers, endStream);
  }
}

/** Of questions between relays, which go nowhere. */
const NO_DESTINATION: Destination = { scheme: "http", host: "", port: 0, target: "/" };

const NOTHING = (): void => undefined;
