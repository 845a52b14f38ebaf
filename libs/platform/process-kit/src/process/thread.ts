/**
 * Sets up a thread of a process as its main thread is: the same settings, log lines with the number of the thread, spans, and metrics that
 * the main thread adds to its own. A failure of the thread ends its lifecycle, and its main thread ends the process.
 */
import { systemClock, systemRandom } from "@perdure/base";
import { createLogging, Metrics, registerThreadMetrics, resourceAttributes, Sampler } from "@perdure/telemetry";
import type { z } from "zod";
import type { GroupSchema } from "../config/tree.js";
import { Health } from "../health.js";
import { keepHttp2Sessions } from "../http2-sessions.js";
import { collectWhenIdle } from "../idle-collection.js";
import { attachToProcess, Lifecycle } from "../lifecycle.js";
import {
  loggingOptions,
  type ProcessOrigin,
  type ProcessPorts,
  type ProcessSpec,
  processSettingsOf,
  startTracing,
} from "./run.js";

/** Plain data for the thread. */
export interface ThreadSetup extends Pick<ProcessOrigin, "inputs"> {
  /** Whether the process writes its log to a terminal; a thread cannot see that. */
  readonly isTerminal: boolean;
}

export interface OpenThread<S extends GroupSchema> extends Disposable {
  readonly settings: z.output<S>;
  readonly ports: ProcessPorts;
  /** Changes the levels of the log. */
  setLogFilter(filter: string): void;
}

/** Called in the main thread. */
export function threadSetup({ inputs: { file, environment, flags } }: ProcessOrigin): ThreadSetup {
  return { inputs: { file, environment: { ...environment }, flags: [...flags] }, isTerminal: process.stdout.isTTY === true };
}

/** Called in the thread, whose number is above 0. Disposing of it, when the lifecycle has ended, stops the rest. */
export async function openThread<S extends GroupSchema>(
  { service, load }: Pick<ProcessSpec<S>, "service" | "load">,
  { inputs, isTerminal }: ThreadSetup,
  thread: number,
): Promise<OpenThread<S>> {
  const { environment } = inputs;
  const settings = processSettingsOf(load(inputs));
  const logging = createLogging(loggingOptions(settings, service, environment, isTerminal));
  const logger = logging.logger.child({ thread });
  const metrics = new Metrics();
  const lifecycle = new Lifecycle({
    logger,
    clock: systemClock,
    health: new Health(),
    shutdownTimeoutMs: settings.shutdownTimeout,
  });
  const whileOpen = new DisposableStack();
  whileOpen.use(attachToProcess(lifecycle, process));
  whileOpen.use(registerThreadMetrics(metrics));
  whileOpen.use(collectWhenIdle());
  keepHttp2Sessions();
  const resource = resourceAttributes({ ...settings, service }, environment);
  const tracers = await startTracing(settings, lifecycle, logger, resource);
  const sampler = new Sampler({ ratio: settings.tracingSampleRatio }, systemRandom);
  return {
    settings,
    ports: { lifecycle, metrics, ...tracers, sampler, clock: systemClock, random: systemRandom, logger },
    setLogFilter: logging.setFilter,
    [Symbol.dispose]: () => whileOpen.dispose(),
  };
}
