/**
 * Checks that the Service of an environment accepts connections, which is required for Running besides ready pods. The operator connects
 * until it succeeds once.
 */
import type { Clock } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { PORTS } from "../desired/network-policies.js";
import type { FrontProber } from "../front-prober.js";
import { FRONT_TRY_MS_MAX, WAIT_FRONT_MS } from "../limits.js";
import { bad, good, type StepOutcome } from "./outcome.js";

interface FrontChecksPorts {
  readonly clock: Clock;
  readonly prober: FrontProber;
  readonly cell: Cell;
}

export class FrontChecks {
  readonly #ports: FrontChecksPorts;
  /** Monotonic time since which connections to an environment fail, by its name. */
  readonly #triedSinceMs = new Map<string, number>();

  constructor(ports: FrontChecksPorts) {
    this.#ports = ports;
  }

  /** Checks an environment whose front is ready. Never rejects. */
  async check(environment: EnvironmentResource, signal: AbortSignal): Promise<StepOutcome> {
    const { clock, prober, cell } = this.#ports;
    const { name } = environment.metadata;
    const previous = environment.status?.conditions?.find(({ type }) => type === "Routable");
    if (previous?.status === "True") {
      this.discard(name);
      return good("Routable", previous.reason, previous.message);
    }
    const host = `runtime.${objectNameOf(environment.spec.environmentId)}.svc.${cell.clusterDns}`;
    const ports = [PORTS.ingress, PORTS.admin];
    const answers = await Promise.all(ports.map((port) => prober.connect(host, port, signal)));
    const refusing = ports.filter((_port, index) => answers[index] !== "accepted");
    if (refusing.length === 0) {
      this.discard(name);
      return good("Routable", "Ready");
    }
    // Clients may reach what the operator does not: it may be outside of the cluster, or kept out by policies of others.
    if (answers.includes("unknown"))
      return good("Routable", "Unverified", `its pods are ready; the operator cannot resolve ${host}`);
    const sinceMs = this.#triedSinceMs.get(name) ?? clock.monotonicMs();
    this.#triedSinceMs.set(name, sinceMs);
    const message = `${host} accepts no connection from the operator at port ${refusing.join(" and ")}`;
    if (clock.monotonicMs() - sinceMs < FRONT_TRY_MS_MAX) return bad("Routable", "FrontUnreachable", message, WAIT_FRONT_MS);
    return good("Routable", "Unverified", `its pods are ready, but ${message}`);
  }

  discard(environment: string): void {
    this.#triedSinceMs.delete(environment);
  }
}
