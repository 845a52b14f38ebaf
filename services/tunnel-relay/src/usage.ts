/** Reports to tenancy the bytes through tunnels, for billing, and the open connections, which are shown beside the environment. */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import { type EnvironmentId, NO_USAGE, type Tenancy, type TunnelsReport } from "@perdure/cloud";
import { REPORT_MS, REPORT_SOON_MS, REPORTS_PER_MESSAGE } from "./limits.js";

/** Counters of one environment since the process started; they only grow. */
class TunnelTotals {
  tunnelBytes = 0;
  /** Bytes that tenancy has stored. */
  reportedBytes = 0;
}

interface TunnelUsagePorts {
  readonly tenancy: Pick<Tenancy, "report" | "reportTunnels">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The connections that are open now. */
  readonly tunnels: () => TunnelsReport;
  /** Called after tenancy stored the report. */
  readonly onReported: (report: TunnelsReport) => void;
}

export class TunnelUsageBook {
  readonly #ports: TunnelUsagePorts;
  readonly #source: string;
  readonly #totals = new Map<EnvironmentId, TunnelTotals>();
  #timer: TimerHandle | undefined;
  #isSoon = false;
  #closed = false;
  #running: Promise<void> | undefined;

  /** `source`: unique for each start of this process. */
  constructor(ports: TunnelUsagePorts, source: string) {
    this.#ports = ports;
    this.#source = source;
    this.#arm(REPORT_MS);
  }

  of(id: EnvironmentId): TunnelTotals {
    let totals = this.#totals.get(id);
    if (totals === undefined) {
      totals = new TunnelTotals();
      this.#totals.set(id, totals);
    }
    return totals;
  }

  /** Schedules a report soon, after a connection opened or closed. */
  soon(): void {
    if (this.#isSoon || this.#closed) return;
    this.#isSoon = true;
    this.#timer?.cancel();
    this.#arm(REPORT_SOON_MS);
  }

  /** Never rejects: the next report includes what this one could not deliver. */
  report(): Promise<void> {
    this.#running ??= this.#report().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#running;
    await this.report();
  }

  #arm(delayMs: number): void {
    if (this.#closed) return;
    this.#timer = this.#ports.clock.setTimer(delayMs, () => {
      this.#isSoon = false;
      void this.report().then(() => {
        if (!this.#isSoon) this.#arm(REPORT_MS);
      });
    });
  }

  async #report(): Promise<void> {
    const { tenancy, clock, logger, tunnels, onReported } = this.#ports;
    const due = [...this.#totals].filter(([, totals]) => totals.tunnelBytes !== totals.reportedBytes);
    try {
      const report = tunnels();
      await tenancy.reportTunnels(report);
      onReported(report);
      for (let at = 0; at < due.length; at += REPORTS_PER_MESSAGE) {
        const some = due.slice(at, at + REPORTS_PER_MESSAGE).map(([environmentId, totals]) => ({
          environmentId,
          totals,
          tunnelBytes: totals.tunnelBytes,
        }));
        const atMs = clock.nowMs();
        await tenancy.report(
          some.map(({ environmentId, tunnelBytes }) => ({
            source: this.#source,
            environmentId,
            atMs,
            totals: { ...NO_USAGE, tunnelBytes },
          })),
        );
        for (const { totals, tunnelBytes } of some) totals.reportedBytes = tunnelBytes;
      }
    } catch (cause) {
      logger.warn({ cause }, "tunnels could not be reported; the next report includes them");
    }
  }
}
