/** Counts, measures and reports a request when it is over. */
import type { Logger } from "@perdure/base";
import type { GatewayRequest } from "./gateway-request.js";
import type { EnvironmentOutcome, GatewayMetrics } from "./metrics.js";
import { endSpan } from "./request-span.js";
import { routeTemplate } from "./route.js";

export type RequestOutcome = "answered" | "abandoned";

interface SettlementPorts {
  readonly logger: Logger;
  readonly metrics: GatewayMetrics | undefined;
}

export class Settlement {
  readonly #ports: SettlementPorts;
  readonly #logsRequests: boolean;

  constructor(ports: SettlementPorts, logsRequests: boolean) {
    this.#ports = ports;
    this.#logsRequests = logsRequests;
  }

  record(request: GatewayRequest, outcome: RequestOutcome, nowMs: number): void {
    const { endpoint, environment, bytesIn, bytesOut, status, reason } = request;
    if (environment !== undefined) {
      environment.state.totals.bytesIn += bytesIn;
      environment.state.totals.bytesOut += bytesOut;
    }
    const durationMs = nowMs - request.startedAtMs;
    const { metrics } = this.#ports;
    if (metrics !== undefined) {
      if (outcome === "answered") metrics.answered(endpoint, status, reason, durationMs);
      else metrics.abandoned(endpoint, durationMs);
      if (environment !== undefined && endpoint === "ingress")
        metrics.ofEnvironment(environment.facts.id, outcomeOf(request, outcome));
      metrics.bytes(endpoint, bytesIn, bytesOut);
    }
    endSpan(request, outcome);
    if (this.#logsRequests) this.#log(request, outcome, durationMs);
  }

  /** Logs a request without query, body or token; of the path only the route (cloud.md §6.5). */
  #log(request: GatewayRequest, outcome: RequestOutcome, durationMs: number): void {
    const { endpoint, environment, caller, head, status, reason, bytesIn, bytesOut, requestId } = request;
    this.#ports.logger.info(
      {
        environmentId: environment?.facts.id,
        caller: caller?.id,
        door: endpoint,
        method: head.method,
        route: routeTemplate(endpoint, head.path),
        status: outcome === "answered" ? status : undefined,
        reason,
        bytesIn,
        bytesOut,
        durationMs: Math.round(durationMs * 100) / 100,
        requestId,
      },
      outcome === "answered" ? "answered" : "abandoned",
    );
  }
}

/** A request that was refused with `Retry-After` because its environment is waking up is not a failure. */
function outcomeOf({ reason, status, isBroken }: GatewayRequest, outcome: RequestOutcome): EnvironmentOutcome {
  if (outcome === "abandoned") return isBroken ? "failed" : "abandoned";
  return reason !== undefined && reason !== "waking" && status >= 500 ? "failed" : "answered";
}
