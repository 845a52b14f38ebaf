/**
 * The HTTP listener. Turns a request into one request to the partitions and waits for the result; decides nothing about invocations
 * itself. Contract: ingress.md. `node:http` and `node:http2` are used directly: a web framework costs more per request than all the rest
 * of an invocation.
 */
import type { AddressInfo } from "node:net";
import { TokenBucket, unreachable } from "@perdure/base";
import { createHttpPort, type HttpExchange, type HttpPort, type ListenAddress } from "@perdure/http-server";
import { answerJson, answerPreflight } from "./answer.js";
import { handleAwakeable } from "./awakeable.js";
import { IngressContext, type IngressMetrics, type IngressPorts } from "./context.js";
import { type ExchangeOwner, IngressExchange } from "./exchange.js";
import { handleInvoke } from "./invoke.js";
import * as limits from "./limits.js";
import type { IngressOptions } from "./options.js";
import { parseRequestTarget, type RequestPath } from "./path.js";
import * as refusal from "./refusal.js";
import { beginSpan, endSpan } from "./request-span.js";
import { handleResult, handleResultByBody } from "./result.js";
import { type IngressRoute, routeOf } from "./route.js";
import type { RouteRefresher } from "./route-refresher.js";

export interface Ingress extends AsyncDisposable {
  /** Binds and serves. Rejects with RT0004 when the address cannot be bound. */
  listen(address: ListenAddress): Promise<AddressInfo>;
  /** Stops accepting, lets running requests finish for `drainMs`, drops the rest. Invocations continue. */
  close(): Promise<void>;
  /** The bound port; undefined before `listen` has resolved. */
  readonly port: number | undefined;
  /** Requests neither answered nor abandoned yet, including those that wait for an outcome. */
  readonly inFlight: number;
}

export function createIngress(ports: IngressPorts, options: IngressOptions = {}): Ingress {
  return new IngressServer(ports, options);
}

/** The methods stand in the order in which a request passes them. */
class IngressServer implements Ingress, ExchangeOwner {
  readonly #ports: IngressPorts;
  readonly #context: IngressContext;
  readonly #requestBytesMax: number;
  readonly #concurrentRequestsMax: number;
  /** Undefined: the rate is unlimited. */
  readonly #rate: TokenBucket | undefined;
  /** Undefined: pages of any origin may read responses. */
  readonly #corsOrigins: ReadonlySet<string> | undefined;
  readonly #drainMs: number;
  readonly #port: HttpPort;
  #boundPort: number | undefined = undefined;
  #inFlight = 0;

  constructor(ports: IngressPorts, options: IngressOptions) {
    const { clock, logger } = ports;
    this.#ports = ports;
    this.#context = new IngressContext(ports, options);
    this.#requestBytesMax = options.requestBytesMax ?? limits.requestBytesMaxDefault;
    this.#concurrentRequestsMax = options.concurrentRequestsMax ?? Number.POSITIVE_INFINITY;
    this.#rate = rateOf(options.requestsPerSecondMax, clock.monotonicMs());
    this.#corsOrigins = allowedOrigins(options.corsOrigins);
    this.#drainMs = options.drainMs ?? limits.drainMsDefault;
    const portOptions = { headerBytesMax: limits.headerBytesMax, errorForm, ...options.http };
    this.#port = createHttpPort(this, { clock, logger }, portOptions);
  }

  async listen(address: ListenAddress): Promise<AddressInfo> {
    const bound = await this.#port.listen(address);
    this.#boundPort = bound.port;
    return bound;
  }

  get port(): number | undefined {
    return this.#boundPort;
  }

  async close(): Promise<void> {
    await this.#port.close(this.#drainMs);
    this.#context.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** A request has arrived with its headers; the port calls this once for each. */
  exchange(http: HttpExchange): void {
    const { clock, metrics, edge } = this.#ports;
    const exchange = new IngressExchange(this, http);
    // Without an origin no response has the header with which a browser shows it to the page.
    if (this.#corsOrigins?.has(exchange.origin ?? "") === false) exchange.origin = undefined;
    this.#inFlight++;
    if (metrics !== undefined) exchange.startedAtMs = clock.monotonicMs();
    if (edge !== undefined) beginSpan(exchange, edge);
    try {
      this.#route(exchange);
    } catch (cause) {
      this.#context.crash(exchange, cause);
    }
  }

  /** Checks all that needs neither route nor body, and finds the route. */
  #route(exchange: IngressExchange): void {
    const context = this.#context;
    if (exchange.contentLength !== undefined && exchange.contentLength > this.#requestBytesMax) {
      return context.refuse(exchange, refusal.announcedTooLarge(exchange.contentLength, this.#requestBytesMax));
    }
    if (exchange.method === "OPTIONS") return answerPreflight(exchange);
    if (exchange.rawHeaders.length > limits.headerLinesMax * 2) return context.refuse(exchange, refusal.headersTooMany);
    const path = parseRequestTarget(exchange.requestTarget);
    const route = routeOf(path.path, this.#ports.registry.current());
    if (route.kind !== "health" && this.#isOverloaded()) return context.refuse(exchange, refusal.overloaded);
    const { routeRefresher } = context;
    if (route.kind !== "refused" || routeRefresher === undefined || route.isOfRegistry !== true) {
      return this.#serve(exchange, route, path);
    }
    this.#refreshRoute(exchange, route, path, routeRefresher);
  }

  #isOverloaded(): boolean {
    return this.#inFlight > this.#concurrentRequestsMax || this.#rate?.take(this.#ports.clock.monotonicMs()) === false;
  }

  /** The local copy of the registry has no such service or handler: the registries may have it already. */
  #refreshRoute(
    exchange: IngressExchange,
    refused: refusal.IngressRefusal,
    path: RequestPath,
    routeRefresher: RouteRefresher,
  ): void {
    routeRefresher.routeOf(path.path).then(
      (refreshedRoute) => {
        if (!exchange.isCompleted) this.#serve(exchange, refreshedRoute ?? refused, path);
      },
      (cause: unknown) => this.#context.crash(exchange, cause),
    );
  }

  #serve(exchange: IngressExchange, route: IngressRoute | refusal.IngressRefusal, path: RequestPath): void {
    const context = this.#context;
    const { metrics } = this.#ports;
    if (metrics !== undefined) countLookup(route, metrics);
    switch (route.kind) {
      case "refused":
        return context.refuse(exchange, route);
      case "invoke":
        return handleInvoke(context, exchange, route, path);
      case "result":
        return handleResult(context, exchange, route.verb, route.target);
      case "resultByBody":
        return handleResultByBody(context, exchange, route.verb);
      case "awakeable":
        return handleAwakeable(context, exchange, route.id, route.verb);
      case "health":
        return this.#serveHealth(exchange);
      default:
        return unreachable(route);
    }
  }

  #serveHealth(exchange: IngressExchange): void {
    exchange.kind = "health";
    if (exchange.method !== "GET") return this.#context.refuse(exchange, refusal.methodNotAllowed);
    const services = [...this.#ports.registry.current().services.keys()];
    answerJson(exchange, 200, JSON.stringify({ services }), undefined);
  }

  completed(exchange: IngressExchange, status: number | undefined): void {
    const { clock, metrics } = this.#ports;
    this.#inFlight--;
    if (exchange.span !== undefined) endSpan(exchange, exchange.span, status);
    if (metrics === undefined) return;
    if (exchange.bytesOut > 0) metrics.bytes("out", exchange.bytesOut);
    const durationMs = clock.monotonicMs() - exchange.startedAtMs;
    if (status === undefined) metrics.abandoned(exchange.kind, durationMs);
    else metrics.answered(exchange.kind, status, exchange.refusedWith, durationMs);
  }

  broke(exchange: IngressExchange, cause: unknown): void {
    this.#ports.logger.error({ cause, kind: exchange.kind }, "answer could not be written");
  }
}

function rateOf(perSecond: number | undefined, nowMs: number): TokenBucket | undefined {
  return perSecond === undefined ? undefined : new TokenBucket({ perSecond, burst: perSecond }, nowMs);
}

function allowedOrigins(origins: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return origins === undefined || origins.includes("*") ? undefined : new Set(origins);
}

/** Form of the answer to a request that cannot be parsed. */
function errorForm(code: number, message: string): { readonly body: object; readonly headerLines: readonly string[] } {
  return { body: { code, message, source: "ingress" }, headerLines: ["x-restate-error-source: ingress"] };
}

/** Only routes that name a service have a lookup. */
function countLookup(route: IngressRoute | refusal.IngressRefusal, metrics: IngressMetrics): void {
  if (route.kind === "invoke") metrics.countLookup(true);
  else if (route.kind === "refused" && route.status === 404) metrics.countLookup(false);
}
