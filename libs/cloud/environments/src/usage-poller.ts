/**
 * Polls runtimes for their usage. They return totals that are as durable as what they count (`GET /internal/usage`), so polling twice, or
 * after a crash of either side, counts nothing twice and loses nothing.
 */
import { causeMessage, RepeatedTask } from "@perdure/base";
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
type ReadUsage = (upstream: Upstream) => Promise<RuntimeUsage>;

interface UsagePollerPorts extends Pick<EnvironmentPorts, "database" | "keys" | "clock" | "logger"> {
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

/** Polls all runtimes at intervals until it is disposed of. */
export function openUsagePoller(ports: UsagePollerPorts): AsyncDisposable {
  const { clock, logger } = ports;
  const failed = "usage could not be read; trying again";
  return new RepeatedTask({ clock, logger, pauseMs: USAGE_POLL_EVERY_MS, run: () => pollAll(ports), failed });
}

async function pollAll(ports: UsagePollerPorts): Promise<void> {
  const living = await ports.database.tables.environments.living();
  const answering = living.filter(({ upstreamAdmin }) => upstreamAdmin !== undefined);
  await Promise.all(
    answering.map(async (environment) => {
      try {
        const upstream = upstreamOf(ports, environment);
        if (upstream !== undefined) await poll(ports, environment.id, upstream);
      } catch (cause) {
        const reason = causeMessage(cause);
        ports.logger.debug({ environmentId: environment.id, reason }, "a runtime did not report its usage; retrying");
      }
    }),
  );
}

async function poll({ database, clock, readUsage }: UsagePollerPorts, id: EnvironmentId, upstream: Upstream): Promise<void> {
  const { source, actions, storedBytes } = await readUsage(upstream);
  await database.tables.usage.report(id, `runtime ${source}`, clock.nowMs(), { ...NO_USAGE, actions }, storedBytes);
}
