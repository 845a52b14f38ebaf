/**
 * The HTTP listener. Turns a request into one request to the partitions and waits for the result; decides nothing about invocations
 * itself. Contract: ingress.md. `node:http` and `node:http2` are used directly: a web framework costs more per request than all the rest
 * of an invocation.
 */
import type { AddressInfo } from "node:net";
import { PerdureError, SummaryLog, TokenBucket, unreachable } from "@perdure/base";
import { BodyGate, createHttpPort, type HttpPortOptions } from "@perdure/http-server";
import { answerJson, answerPreflight, answerRefusal } from "./answer.js";
import { handleAwakeable } from "./awakeable.js";
import type { IngressContext, IngressMetrics, IngressPorts } from "./context.js";
import { type ExchangeOwner, IngressExchange } from "./exchange.js";
import { handleInvoke } from "./invoke.js";
import * as limits from "./limits.js";
import { parseRequestTarget, type RequestPath } from "./path.js";
import * as refusal from "./refusal.js";
import { beginSpan, endSpan } from "./request-span.js";
import { handleResult, handleResultByBody } from "./result.js";
import { type IngressRoute, routeOf } from "./route.js";
import { RouteRefresher } from "./route-refresher.js";

export interface IngressOptions {
  /** `ingress.request-size-limit`, bytes. */
  readonly requestBytesMax?: number;
  /** `ingress.concurrent-api-requests-limit`; unlimited when undefined. Health checks and preflights do not count. */
  readonly concurrentRequestsMax?: number | undefined;
  /**
   * `ingress.requests-per-second-limit`: sustained rate and burst; unlimited when undefined. Health checks and preflights do not count.
   */
  readonly requestsPerSecondMax?: number | undefined;
  /** Bytes of all bodies being read together. */
  readonly bufferedBodyBytesMax?: number;
  readonly bodyTimeoutMs?: number;
  readonly drainMs?: number;
  /** `experimental-enable-vqueues`: scoped calls are accepted; true by default. */
  readonly scopesEnabled?: boolean;
  /** Origins of web pages that may read responses; `*` is any, which is the default. */
  readonly corsOrigins?: readonly string[];
  readonly http?: HttpPortOptions;
}

export interface Ingress extends AsyncDisposable {
  /** Binds and serves. Rejects with RT0004 when the address cannot be bound. */
  listen(address: { readonly host?: string; readonly port: number }): Promise<AddressInfo>;
  /** Stops accepting, lets running requests finish for `drainMs`, drops the rest. Invocations continue. */
  close(): Promise<void>;
  /** Requests neither answered nor abandoned yet, including those that wait for an outcome. */
  readonly inFlight: number;
}

/** Only routes that name a service have a look-up. */
function noteLookup(route: ReturnType<typeof routeOf>, metrics: IngressMetrics): void {
  if (route.kind === "invoke") metrics.countLookup(true);
  else if (route.kind === "refused" && route.status === 404) metrics.countLookup(false);
}

export function createIngress(ports: IngressPorts, options: IngressOptions = {}): Ingress {
  const { registry, clock, logger, metrics, edge } = ports;
  const requestBytesMax = options.requestBytesMax ?? limits.requestBytesMaxDefault;
  const concurrentRequestsMax = options.concurrentRequestsMax ?? Number.POSITIVE_INFINITY;
  const { requestsPerSecondMax } = options;
  const limit = requestsPerSecondMax === undefined ? undefined : { perSecond: requestsPerSecondMax, burst: requestsPerSecondMax };
  const rate = limit === undefined ? undefined : new TokenBucket(limit, clock.monotonicMs());
  const routeRefresher = ports.readRegistries === undefined ? undefined : new RouteRefresher(ports.readRegistries, clock);
  let inFlight = 0;
  const failures = new SummaryLog(logger, clock);

  const context: IngressContext = {
    ports,
    bodies: new BodyGate(clock, {
      requestBytesMax,
      bufferedBodyBytesMax: options.bufferedBodyBytesMax ?? limits.bufferedBodyBytesMaxDefault,
      bodyTimeoutMs: options.bodyTimeoutMs ?? limits.bodyTimeoutMsDefault,
    }),
    routeRefresher,
    scopesEnabled: options.scopesEnabled ?? true,
    refuse(exchange, refused) {
      exchange.refusedWith = refused.code;
      answerRefusal(exchange, refused);
    },
    fail(exchange, cause, advice) {
      const error = PerdureError.from(cause);
      // An expected refusal occurs once for each waiting client, and its stack is of no use.
      const reason = error.code === "OPS0003" ? { cause: error } : { reason: error.detail };
      const fields = { code: error.code, kind: exchange.kind, ...reason };
      failures.warn(logger, { service: "ingress", code: error.code }, fields, "partition did not answer");
      context.refuse(exchange, refusal.unavailable(error.detail, advice));
    },
    crash(exchange, cause) {
      logger.error({ cause, kind: exchange.kind }, "request handling failed");
      context.refuse(exchange, refusal.internalError);
    },
  };

  const owner: ExchangeOwner = {
    completed(exchange, status) {
      inFlight--;
      if (exchange.span !== undefined) endSpan(exchange, exchange.span, status);
      if (metrics === undefined) return;
      if (exchange.bytesOut > 0) metrics.bytes("out", exchange.bytesOut);
      const durationMs = clock.monotonicMs() - exchange.startedAtMs;
      if (status === undefined) metrics.abandoned(exchange.kind, durationMs);
      else metrics.answered(exchange.kind, status, exchange.refusedWith, durationMs);
    },
    broke(exchange, cause) {
      logger.error({ cause, kind: exchange.kind }, "answer could not be written");
    },
  };

  const corsOrigins =
    options.corsOrigins === undefined || options.corsOrigins.includes("*") ? undefined : new Set(options.corsOrigins);
  function handle(exchange: IngressExchange): void {
    // Without an origin no response has the header with which a browser shows it to the page.
    if (corsOrigins?.has(exchange.origin ?? "") === false) exchange.origin = undefined;
    inFlight++;
    if (metrics !== undefined) exchange.startedAtMs = clock.monotonicMs();
    if (edge !== undefined) beginSpan(exchange, edge);
    try {
      dispatch(exchange);
    } catch (cause) {
      context.crash(exchange, cause);
    }
  }

  function dispatch(exchange: IngressExchange): void {
    if (exchange.contentLength !== undefined && exchange.contentLength > requestBytesMax) {
      return context.refuse(exchange, refusal.announcedTooLarge(exchange.contentLength, requestBytesMax));
    }
    if (exchange.method === "OPTIONS") return answerPreflight(exchange);
    if (exchange.rawHeaders.length > limits.headerLinesMax * 2) return context.refuse(exchange, refusal.headersTooMany);
    const path = parseRequestTarget(exchange.requestTarget);
    const route = routeOf(path.path, registry.current());
    if (route.kind !== "health") {
      if (inFlight > concurrentRequestsMax) return context.refuse(exchange, refusal.overloaded);
      if (rate?.take(clock.monotonicMs()) === false) return context.refuse(exchange, refusal.overloaded);
    }
    if (route.kind !== "refused" || routeRefresher === undefined || route.isOfRegistry !== true)
      return follow(exchange, route, path);
    routeRefresher.routeOf(path.path).then(
      (refreshedRoute) => {
        if (!exchange.isCompleted) follow(exchange, refreshedRoute ?? route, path);
      },
      (cause: unknown) => context.crash(exchange, cause),
    );
  }

  function follow(exchange: IngressExchange, route: IngressRoute | refusal.IngressRefusal, path: RequestPath): void {
    if (metrics !== undefined) noteLookup(route, metrics);
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
        return handleHealth(exchange);
      default:
        return unreachable(route);
    }
  }

  function handleHealth(exchange: IngressExchange): void {
    exchange.kind = "health";
    if (exchange.method !== "GET") return context.refuse(exchange, refusal.methodNotAllowed);
    answerJson(exchange, 200, JSON.stringify({ services: [...registry.current().services.keys()] }), undefined);
  }

  const port = createHttpPort(
    { exchange: (exchange) => handle(new IngressExchange(owner, exchange)) },
    { clock, logger },
    {
      headerBytesMax: limits.headerBytesMax,
      errorForm: (code, message) => ({
        body: { code, message, source: "ingress" },
        headerLines: ["x-restate-error-source: ingress"],
      }),
      ...options.http,
    },
  );
  async function close(): Promise<void> {
    await port.close(options.drainMs ?? limits.drainMsDefault);
    context.bodies.stop();
    failures[Symbol.dispose]();
  }

  return {
    listen: (address) => port.listen(address),
    close,
    [Symbol.asyncDispose]: close,
    get inFlight() {
      return inFlight;
    },
  };
}
