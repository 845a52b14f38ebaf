/** Dependencies of every feature of the ingress, in one object created once. */
import type { Clock, ErrorCode, Logger, Random } from "@perdure/base";
import type { Partitions, RegistryView } from "@perdure/control";
import type { BodyGate } from "@perdure/http-server";
import type { Edge } from "@perdure/telemetry";
import type { StartSpan } from "@perdure/telemetry/tracing";
import type { ExchangeKind, IngressExchange } from "./exchange.js";
import type { IngressRefusal, RefusalAdvice } from "./refusal.js";
import type { ReadRegistries, RouteRefresher } from "./route-refresher.js";

/** Receives exchanges; must not throw. */
export interface IngressMetrics {
  /** `code` when the ingress itself refused. `durationMs` from the request's headers to the response. */
  answered(kind: ExchangeKind, status: number, code: ErrorCode | undefined, durationMs: number): void;
  /** An invocation is durable, this long after its whole request arrived. */
  accepted(kind: ExchangeKind, durationMs: number): void;
  /** Whether a path named an existing service. */
  countLookup(isHit: boolean): void;
  /** Of bodies. */
  bytes(direction: "in" | "out", count: number): void;
  /** The client disconnected before the response. */
  abandoned(kind: ExchangeKind, durationMs: number): void;
}

export interface IngressPorts {
  readonly registry: RegistryView;
  /** When `registry` is a replicated copy: reads the registries now. Undefined when it is the registry itself. */
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

export interface IngressContext {
  readonly ports: IngressPorts;
  readonly bodies: BodyGate;
  /** Undefined when the registry is not a replicated copy. */
  readonly routeRefresher: RouteRefresher | undefined;
  /** Whether flow control is enabled. */
  readonly scopesEnabled: boolean;
  /** Responds with the refusal and records its code. */
  refuse(exchange: IngressExchange, refusal: IngressRefusal): void;
  /** Responds for a rejected promise of the partitions; `advice` states what a retry would mean. */
  fail(exchange: IngressExchange, cause: unknown, advice: RefusalAdvice): void;
  /** An unexpected error was thrown: logs it and responds with 500. */
  crash(exchange: IngressExchange, cause: unknown): void;
}
