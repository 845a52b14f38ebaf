/** Why: when a request is over it is counted, measured and told of, in one place. */
import type { Logger } from "@perdure/base";
import type { EnvironmentOutcome, GatewayMetrics } from "./metrics.js";
import { endSpan } from "./request-span.js";
import { routeTemplate } from "./route.js";
import type { Visit } from "./visit.js";

export type Outcome = "answered" | "abandoned";

export interface SettlementPorts {
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

  settle(visit: Visit, outcome: Outcome, nowMs: number): void {
    const { door, environment, bytesIn, bytesOut, status, reason } = visit;
    if (environment !== undefined) {
      environment.state.totals.bytesIn += bytesIn;
      environment.state.totals.bytesOut += bytesOut;
    }
    const durationMs = nowMs - visit.startedAtMs;
    const { metrics } = this.#ports;
    if (metrics !== undefined) {
      if (outcome === "answered") metrics.answered(door, status, reason, durationMs);
      else metrics.abandoned(door, durationMs);
      if (environment !== undefined && door === "ingress") metrics.ofEnvironment(environment.facts.id, outcomeOf(visit, outcome));
      metrics.bytes(door, bytesIn, bytesOut);
    }
    endSpan(visit, outcome);
    if (this.#logsRequests) this.#log(visit, outcome, durationMs);
  }

  /** No query, no body, no token; of the path only what is ours (cloud.md §6.5). */
  #log(visit: Visit, outcome: Outcome, durationMs: number): void {
    const { door, environment, caller, head, status, reason, bytesIn, bytesOut, requestId } = visit;
    this.#ports.logger.info(
      {
        environmentId: environment?.facts.id,
        caller: caller?.id,
        door,
        method: head.method,
        route: routeTemplate(door, head.path),
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

/** Who was told to come again is no failure: the environment is being woken as it should be. */
function outcomeOf({ reason, status, isBroken }: Visit, outcome: Outcome): EnvironmentOutcome {
  if (outcome === "abandoned") return isBroken ? "failed" : "abandoned";
  return reason !== undefined && reason !== "waking" && status >= 500 ? "failed" : "answered";
}
