/** Dependencies of every feature of the ingress, in one object created once. */
import {
  type Clock,
  type ErrorCode,
  type Logger,
  PerdureError,
  type PreferredPartitions,
  type Random,
  SummaryLog,
} from "@perdure/base";
import type { Partitions, RegistryView } from "@perdure/control";
import { BodyGate } from "@perdure/http-server";
import type { Edge } from "@perdure/telemetry";
import type { StartSpan } from "@perdure/telemetry/tracing";
import { answerRefusal } from "./answer.js";
import type { ExchangeKind, IngressExchange } from "./exchange.js";
import * as limits from "./limits.js";
import type { IngressOptions } from "./options.js";
import type { IngressRefusal } from "./refusal.js";
import * as refusal from "./refusal.js";
import { type ReadRegistries, RouteRefresher } from "./route-refresher.js";

/** Receives exchanges; must not throw. */
export interface IngressMetrics {
  /** `code` when the ingress itself refused. `durationMs` from the request's headers to the response. */
  answered(kind: ExchangeKind, status: number, code: ErrorCode | undefined, durationMs: number): void;
  /** An invocation is durable, this long after its whole request arrived. */
  accepted(kind: ExchangeKind, durationMs: number): void;
  /** A request did not become an invocation of its own: it was debounced into an earlier one, or the throttle of its key refused it. */
  paced(kind: ExchangeKind, by: "debounce" | "throttle"): void;
  /** Whether a path named an existing service. */
  countLookup(isHit: boolean): void;
  /** Counts bytes of bodies. */
  bytes(direction: "in" | "out", count: number): void;
  /** The client disconnected before the response. */
  abandoned(kind: ExchangeKind, durationMs: number): void;
}

export interface IngressPorts {
  readonly registry: RegistryView;
  /** Reads the registries now when `registry` is a replicated copy. Undefined when it is the registry itself. */
  readonly readRegistries?: ReadRegistries | undefined;
  readonly partitions: Partitions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: IngressMetrics | undefined;
  /** Starts the span of an invocation. `caller` is the request's own trace context if it is valid. Undefined: `caller` is passed on. */
  readonly startSpan?: StartSpan | undefined;
  /** Starts the span of a request. Undefined: tracing is off. */
  readonly edge?: Edge | undefined;
}

/** What every feature of the ingress needs, and the ways in which a request fails. */
export class IngressContext {
  readonly ports: IngressPorts;
  readonly bodies: BodyGate;
  /** Undefined when the registry is not a replicated copy. */
  readonly routeRefresher: RouteRefresher | undefined;
  /** Whether flow control is enabled. */
  readonly scopesEnabled: boolean;
  /** See `IngressOptions`. */
  readonly preferredPartitions: PreferredPartitions | undefined;
  readonly #failures: SummaryLog;

  constructor(ports: IngressPorts, options: IngressOptions) {
    const { clock, logger, readRegistries } = ports;
    this.ports = ports;
    this.bodies = new BodyGate(clock, {
      requestBytesMax: options.requestBytesMax ?? limits.requestBytesMaxDefault,
      bufferedBodyBytesMax: options.bufferedBodyBytesMax ?? limits.bufferedBodyBytesMaxDefault,
      bodyTimeoutMs: options.bodyTimeoutMs ?? limits.bodyTimeoutMsDefault,
    });
    this.routeRefresher = readRegistries === undefined ? undefined : new RouteRefresher(readRegistries, clock);
    this.scopesEnabled = options.scopesEnabled ?? true;
    this.preferredPartitions = options.preferredPartitions;
    this.#failures = new SummaryLog(logger, clock);
  }

  /** Responds with the refusal and records its code. */
  refuse(exchange: IngressExchange, refused: IngressRefusal): void {
    exchange.refusedWith = refused.code;
    answerRefusal(exchange, refused);
  }

  /** Responds for a rejected promise of the partitions; `advice` states what a retry would mean. */
  fail(exchange: IngressExchange, cause: unknown, advice: refusal.RefusalAdvice): void {
    const error = PerdureError.from(cause);
    // An expected refusal occurs once for each waiting client, and its stack is of no use.
    const reason = error.code === "OPS0003" ? { cause: error } : { reason: error.detail };
    const fields = { code: error.code, kind: exchange.kind, ...reason };
    this.#failures.warn(this.ports.logger, { service: "ingress", code: error.code }, fields, "partition did not answer");
    this.refuse(exchange, refusal.unavailable(error.detail, advice));
  }

  /** An unexpected error was thrown: logs it and responds with 500. */
  crash(exchange: IngressExchange, cause: unknown): void {
    this.ports.logger.error({ cause, kind: exchange.kind }, "request handling failed");
    this.refuse(exchange, refusal.internalError);
  }

  /** Stops the timers of bodies and of the log. No request is open any more. */
  stop(): void {
    this.bodies.stop();
    this.#failures[Symbol.dispose]();
  }
}
