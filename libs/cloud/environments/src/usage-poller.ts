/**
 * Polls runtimes for their usage. They return totals that are as durable as what they count (`GET /internal/usage`), so polling twice, or
 * after a crash of either side, counts nothing twice and loses nothing.
 */
import { type Logger, PerdureError, type TimerHandle } from "@perdure/base";
import { type EnvironmentId, NO_USAGE, RUNTIME_SECRET_HEADER, type Upstream } from "@perdure/cloud";
import { z } from "zod";
import { upstreamOf } from "./facts.js";
import { USAGE_POLL_EVERY_MS, USAGE_POLL_TIMEOUT_MS } from "./limits.js";
import type { EnvironmentPorts } from "./ports.js";

interface RuntimeUsage {
  /** Id of the data that the totals belong to: new data begins at zero. */
  readonly source: string;
  readonly actions: number;
  readonly storedBytes: number;
}

/** Rejects when the runtime does not answer. */
export type ReadUsage = (upstream: Upstream) => Promise<RuntimeUsage>;

export interface UsagePollerPorts extends Pick<EnvironmentPorts, "database" | "keys" | "clock" | "logger"> {
  readonly readUsage: ReadUsage;
}

const usageShape = z.object({
  source: z.string().min(1).max(200),
  actions: z.number().int().min(0),
  storedBytes: z.number().int().min(0),
});

export const readUsageOverHttp: ReadUsage = async ({ admin, secret }) => {
  const headers = secret === undefined ? {} : { [RUNTIME_SECRET_HEADER]: secret.reveal() };
  const response = await fetch(`${admin}/internal/usage`, { headers, signal: AbortSignal.timeout(USAGE_POLL_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`the runtime answered ${response.status}`);
  return usageShape.parse(await response.json());
};

/** Polls until it is disposed of. */
export class UsagePoller implements AsyncDisposable {
  readonly #ports: UsagePollerPorts;
  readonly #logger: Logger;
  #timer: TimerHandle | undefined;
  #running: Promise<void>;
  #isClosed = false;

  constructor(ports: UsagePollerPorts) {
    this.#ports = ports;
    this.#logger = ports.logger;
    this.#running = this.#round();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    try {
      const living = await this.#ports.database.tables.environments.living();
      await Promise.all(
        living
          .filter(({ upstreamAdmin }) => upstreamAdmin !== undefined)
          .map(async (environment) => {
            try {
              const upstream = upstreamOf(this.#ports, environment);
              if (upstream !== undefined) await this.#read(environment.id, upstream);
            } catch (cause) {
              const reason = cause instanceof Error ? cause.message : String(cause);
              this.#logger.debug({ environmentId: environment.id, reason }, "a runtime did not report its usage; retrying");
            }
          }),
      );
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      this.#logger.warn({ code, reason: detail }, "usage could not be read; trying again");
    }
    if (this.#isClosed) return;
    this.#timer = this.#ports.clock.setTimer(USAGE_POLL_EVERY_MS, () => {
      this.#running = this.#round();
    });
  }

  async #read(id: EnvironmentId, upstream: Upstream): Promise<void> {
    const { database, clock, readUsage } = this.#ports;
    const { source, actions, storedBytes } = await readUsage(upstream);
    await database.tables.usage.report(id, `runtime ${source}`, clock.nowMs(), { ...NO_USAGE, actions }, storedBytes);
  }
}
