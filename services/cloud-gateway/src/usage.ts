/**
 * Counts the traffic of environments for billing. Totals only grow and carry the name of this run of the process, so a report that is
 * lost, late or sent twice changes nothing (libs/ports/cloud, UsageReport).
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { EnvironmentId, Tenancy, UsageReport } from "@perdure/cloud";
import { REPORT_MS, REPORTS_PER_MESSAGE } from "./limits.js";

/** One per environment with requests; small, and kept until the process ends, since totals must not fall. */
export class Totals {
  readonly environmentId: EnvironmentId;
  ingressRequests = 0;
  adminRequests = 0;
  bytesIn = 0;
  bytesOut = 0;
  /** Sum of the above when tenancy last accepted a report. */
  reportedSum = 0;

  constructor(environmentId: EnvironmentId) {
    this.environmentId = environmentId;
  }

  /** Rises with each of them. */
  get sum(): number {
    return this.ingressRequests + this.adminRequests + this.bytesIn + this.bytesOut;
  }
}

interface UsagePorts {
  readonly tenancy: Pick<Tenancy, "report">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class UsageBook {
  readonly #ports: UsagePorts;
  readonly #source: string;
  readonly #totals = new Map<EnvironmentId, Totals>();
  #timer: TimerHandle | undefined;
  #reporting: Promise<void> | undefined;
  #closed = false;

  /** `source`: name of this run of the process. */
  constructor(ports: UsagePorts, source: string) {
    this.#ports = ports;
    this.#source = source;
    this.#arm();
  }

  of(id: EnvironmentId): Totals {
    let totals = this.#totals.get(id);
    if (totals === undefined) {
      totals = new Totals(id);
      this.#totals.set(id, totals);
    }
    return totals;
  }

  /** Sends tenancy the totals that it has not received. Never rejects: what was not accepted is part of the next report. */
  report(): Promise<void> {
    this.#reporting ??= this.#report().finally(() => {
      this.#reporting = undefined;
    });
    return this.#reporting;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#reporting;
    await this.report();
  }

  #arm(): void {
    if (this.#closed) return;
    this.#timer = this.#ports.clock.setTimer(REPORT_MS, () => void this.report().then(() => this.#arm()));
  }

  async #report(): Promise<void> {
    const { tenancy, clock, logger } = this.#ports;
    const due = [...this.#totals.values()].filter((totals) => totals.sum !== totals.reportedSum);
    for (let at = 0; at < due.length; at += REPORTS_PER_MESSAGE) {
      const some = due.slice(at, at + REPORTS_PER_MESSAGE).map((totals) => ({ totals, sum: totals.sum }));
      const atMs = clock.nowMs();
      try {
        await tenancy.report(some.map(({ totals }) => this.#reportOf(totals, atMs)));
        for (const { totals, sum } of some) totals.reportedSum = sum;
      } catch (cause) {
        return logger.warn({ cause, environments: due.length - at }, "usage could not be reported; it will be reported later");
      }
    }
  }

  #reportOf({ environmentId, ingressRequests, adminRequests, bytesIn, bytesOut }: Totals, atMs: number): UsageReport {
    const totals = { ingressRequests, adminRequests, bytesIn, bytesOut, tunnelBytes: 0 };
    return { source: this.#source, environmentId, atMs, totals };
  }
}
