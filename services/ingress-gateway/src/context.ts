/** Why: what every feature of the ingress needs, in one object made once. */
import type { Clock, ErrorCode, Logger, Random } from "@perdure/base";
import type { Partitions, RegistryView } from "@perdure/control";
import type { Edge } from "@perdure/role";
import type { StartSpan } from "@perdure/role/tracing";
import type { BodyGate } from "./body-reading.js";
import type { ExchangeKind, IngressExchange } from "./exchange.js";
import type { IngressRefusal, RefusalAdvice } from "./refusal.js";
import type { ReadRegistries, RouteRefresher } from "./route-refresher.js";

/** Told about exchanges; must not throw. */
export interface IngressMetrics {
  /** `code` when the ingress itself refused. `durationMs` from the request's headers to the answer. */
  answered(kind: ExchangeKind, status: number, code: ErrorCode | undefined, durationMs: number): void;
  /** An invocation is durable, so long after all of its request was here. */
  accepted(kind: ExchangeKind, durationMs: number): void;
  /** A path named a service that there is, or none. */
  countLookup(isHit: boolean): void;
  /** Of bodies. */
  bytes(direction: "in" | "out", count: number): void;
  /** The client left before it was answered. */
  abandoned(kind: ExchangeKind, durationMs: number): void;
}

export interface IngressPorts {
  readonly registry: RegistryView;
  /** Where `registry` is a copy that follows: reads the registries now. Undefined where it is the registry itself. */
  readonly readRegistries?: ReadRegistries | undefined;
  readonly partitions: Partitions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: IngressMetrics | undefined;
  /** Starts the span of an invocation. `caller` is the request's own trace context if it has a valid one. Undefined: it is kept. */
  readonly startSpan?: StartSpan | undefined;
  /** Starts the span of a request. Undefined: nobody traces. */
  readonly edge?: Edge | undefined;
}

export interface IngressContext {
  readonly ports: IngressPorts;
  readonly bodies: BodyGate;
  /** Undefined where the registry is not a copy that follows. */
  readonly routeRefresher: RouteRefresher | undefined;
  /** Whether flow control is offered. */
  readonly scopesEnabled: boolean;
  /** Answers with the refusal and notes its code. */
  refuse(exchange: IngressExchange, refusal: IngressRefusal): void;
  /** Answers for a rejected promise of the partitions; `advice` tells the caller what a retry would mean. */
  fail(exchange: IngressExchange, cause: unknown, advice: RefusalAdvice): void;
  /** Something was thrown that nobody expected: logs it and answers 500. */
  crash(exchange: IngressExchange, cause: unknown): void;
}
