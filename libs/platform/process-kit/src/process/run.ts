/**
 * Runs a program: reads settings, runs until a signal or a failure, and returns an exit code. The same for every program of the project.
 */
import { flushCompileCache } from "node:module";
import { type Clock, type Logger, PerdureError, type Random, systemClock, systemRandom } from "@perdure/base";
import {
  bothTracers,
  createLogging,
  currentTraceIds,
  type Logging,
  Metrics,
  noTracer,
  registerProcessMetrics,
  resourceAttributes,
  Sampler,
  startTelemetry,
  type Tracer,
  VERSION,
} from "@perdure/telemetry";
import type { z } from "zod";
import type { ConfigInputs, LoadedConfig } from "../config/load.js";
import { printConfig } from "../config/print.js";
import type { GroupSchema } from "../config/tree.js";
import { ConnectionErrors } from "../connection-errors.js";
import { Health } from "../health.js";
import { keepHttp2Sessions } from "../http2-sessions.js";
import { collectWhenIdle } from "../idle-collection.js";
import { attachToProcess, Lifecycle } from "../lifecycle.js";
import type { ProcessSettings } from "../settings/process.js";
import { isHelp, isVersion, type ProcessCommand, processCommand } from "./command.js";
import { type ErrorAdvice, explain } from "./explain.js";
import { followLogFilter } from "./log-levels.js";

/** Dependencies of the parts of a process. */
export interface ProcessPorts {
  readonly lifecycle: Lifecycle;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** For spans of invocations, which their owners may get, too. */
  readonly invocationTracer: Tracer;
  /** Which traces are kept. */
  readonly sampler: Sampler;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Facts that are printed once the process runs: addresses and the like, by a short name. */
export type ReadyFacts = Readonly<Record<string, string | undefined>>;

export interface ProcessSpec<S extends GroupSchema> {
  /** The command that its user typed, e.g. "perdure server". */
  readonly program: string;
  /** Field `service` of its log lines. */
  readonly service: string;
  readonly schema: S;
  readonly load: (inputs: SettingInputs) => LoadedConfig<S>;
  readonly advice?: ErrorAdvice;
  /**
   * Its listeners serve clients of many tenants, and it leads no partitions: an uncaught exception that belongs to one connection for certain
   * is logged and counted, and the process continues. Unset: every uncaught exception ends the process.
   */
  readonly isEdge?: boolean;
  /** Starts everything as parts of the lifecycle; resolves when it serves. */
  readonly start: (settings: z.output<S>, ports: ProcessPorts, origin: ProcessOrigin) => Promise<ReadyFacts>;
}

/** The sources of the settings, from which a thread of the process reads them again: secrets are not copied between threads. */
export type SettingInputs = Pick<ConfigInputs, "file" | "environment" | "flags">;

/** What the threads of a process need to be set up as their process is. */
export interface ProcessOrigin {
  readonly inputs: SettingInputs;
  /** Calls back when the levels of the log change while the process runs. */
  onLogFilter(listener: (filter: string) => void): void;
}

export const OK = 0;
const FAILED = 1;

/** For programs without further commands: `--help` and `--version` are answered, all else are settings. Resolves with the exit code. */
export async function runProgram<S extends GroupSchema>(
  spec: ProcessSpec<S>,
  purpose: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  if (args.some(isHelp)) {
    process.stdout.write(helpText(spec.program, purpose));
    return OK;
  }
  if (args.some(isVersion)) {
    process.stdout.write(`${spec.program} ${VERSION}\n`);
    return OK;
  }
  return await runProcess(spec, processCommand(args, environment), environment);
}

function helpText(program: string, purpose: string): string {
  return `${program}: ${purpose}

Usage: ${program} [--config-file FILE] [--print-config] [--SETTING VALUE …]
       ${program} --help | --version

  --config-file FILE   settings in TOML; also PERDURE_CONFIG
  --print-config       show every setting with its meaning and value, and exit
  --SETTING VALUE      any setting by its name

The environment sets any of them too: PERDURE_ followed by the name, two underscores between levels.
`;
}

/** Resolves with the exit code once the process has let go of everything (at once for `--print-config`). */
export async function runProcess<S extends GroupSchema>(
  spec: ProcessSpec<S>,
  command: ProcessCommand,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  outliveReaders();
  try {
    const inputs = { file: command.file, environment, flags: command.flags };
    const loaded = spec.load(inputs);
    if (command.printConfig) {
      process.stdout.write(printConfig(spec.schema, loaded));
      return OK;
    }
    const own = processSettingsOf(loaded);
    const logging = createLogging(loggingOptions(own, spec.service, environment));
    const read = () => processSettingsOf(spec.load(inputs)).logFilter;
    if (loaded.ignoredVariables.length > 0) {
      const variables = loaded.ignoredVariables.join(", ");
      logging.logger.warn({ variables }, "environment variables of Restate without a setting here are ignored");
    }
    const listeners: ((filter: string) => void)[] = [];
    using _levels = followLogFilter(command.file, read, announcedLevels(logging, listeners), process);
    const origin: ProcessOrigin = { inputs, onLogFilter: (listener) => void listeners.push(listener) };
    return await serve(spec, own, logging, origin);
  } catch (cause) {
    return refuse(spec, cause, environment);
  }
}

/** Every program has the settings of a process among its own. */
export function processSettingsOf<S extends GroupSchema>({ values }: LoadedConfig<S>): ProcessSettings & z.output<S> {
  return values as ProcessSettings & z.output<S>;
}

function announcedLevels({ logger, setFilter }: Logging, listeners: readonly ((filter: string) => void)[]): Logging {
  return {
    logger,
    setFilter(filter) {
      setFilter(filter);
      for (const listener of listeners) listener(filter);
    },
  };
}

/** Writes the reason to stderr; returns the exit code. */
export function refuse(
  { program, advice }: Pick<ProcessSpec<GroupSchema>, "program" | "advice">,
  cause: unknown,
  environment: NodeJS.ProcessEnv,
  headline = "perdure cannot start.",
): number {
  const error = PerdureError.from(cause);
  process.stderr.write(`${headline}\n\n${explain(error, program, environment, advice)}\n`);
  if (error !== cause) process.stderr.write(`\n${cause instanceof Error ? cause.stack : String(cause)}\n`);
  return FAILED;
}

/** Ignores errors of stdout and stderr after their reader has gone: that is not a reason to fail. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

export function loggingOptions(
  {
    logFilter,
    logFormat,
    logDisableAnsiCodes,
    environmentName,
  }: ProcessSettings & { readonly environmentName?: string | undefined },
  service: string,
  environment: NodeJS.ProcessEnv,
  isTerminal: boolean = process.stdout.isTTY === true,
) {
  const noColor = environment["NO_COLOR"] !== undefined && environment["NO_COLOR"] !== "";
  return {
    filter: logFilter,
    format: logFormat === "auto" ? (isTerminal ? ("pretty" as const) : ("json" as const)) : logFormat,
    colors: isTerminal && !logDisableAnsiCodes && !noColor,
    service,
    environment: environmentName,
    traceIds: currentTraceIds,
    sink: (line: string) => void process.stdout.write(line),
  };
}

async function serve<S extends GroupSchema>(
  spec: ProcessSpec<S>,
  settings: ProcessSettings & z.output<S>,
  { logger, setFilter }: Logging,
  origin: ProcessOrigin,
): Promise<number> {
  const { program, advice, start } = spec;
  const { environment } = origin.inputs;
  const metrics = new Metrics();
  const lifecycle = new Lifecycle({
    logger,
    clock: systemClock,
    health: new Health(),
    shutdownTimeoutMs: settings.shutdownTimeout,
  });
  const errors = spec.isEdge === true ? new ConnectionErrors({ clock: systemClock, logger, metrics }) : undefined;
  using _attached = attachToProcess(lifecycle, process, errors?.survives);
  using _sampling = registerProcessMetrics(metrics, spec.service);
  using _collection = collectWhenIdle();
  keepHttp2Sessions();
  try {
    const tracers = await startTracing(
      settings,
      lifecycle,
      logger,
      resourceAttributes({ ...settings, service: spec.service }, environment),
    );
    const sampler = new Sampler({ ratio: settings.tracingSampleRatio }, systemRandom);
    const ports = { lifecycle, metrics, ...tracers, sampler, clock: systemClock, random: systemRandom, logger };
    // One part around all others: between two of them none is pending, and a readiness probe at that moment would send requests to ports that are not open yet.
    announce(settings, await lifecycle.awaitPart("start-up", () => start(settings, ports, origin)), logger);
    flushCompileCache(); // Now that all code is compiled: a process that is killed later would not have stored the cache.
  } catch (cause) {
    // A stop during the start is not a failure, and the lifecycle is handling it.
    if (!(cause instanceof PerdureError && cause.code === "OPS0004")) throw cause;
  }
  const ending = await lifecycle.untilEnded();
  setFilter("off"); // The remaining output is written below.
  switch (ending.kind) {
    case "stopped":
    case "abandoned":
      return OK;
    case "failed":
      process.stderr.write(
        `perdure stopped because of an error that it cannot recover from.\n\n${explain(ending.error, program, environment, advice)}\n`,
      );
      return FAILED;
  }
}

export async function startTracing(
  settings: ProcessSettings,
  lifecycle: Lifecycle,
  logger: Logger,
  resource: Readonly<Record<string, string>>,
): Promise<Pick<ProcessPorts, "tracer" | "invocationTracer">> {
  const open = async (part: string, endpoint: string | undefined, headers: Readonly<Record<string, string>>): Promise<Tracer> => {
    if (endpoint === undefined) return noTracer;
    const options = { endpoint, headers, resource, logger };
    return (await lifecycle.start(part, () => startTelemetry(options))).tracer;
  };
  const tracer = await open("tracing", settings.tracingEndpoint, settings.tracingHeaders);
  const owners = await open("tracing of services", settings.tracingServicesEndpoint, settings.tracingServicesHeaders);
  return { tracer, invocationTracer: bothTracers(tracer, owners) };
}

/** Some lines at a terminal; otherwise a log line with the same facts. */
function announce({ logFormat }: ProcessSettings, readyFacts: ReadyFacts, logger: Logger): void {
  const facts = Object.fromEntries(Object.entries(readyFacts).filter(([, value]) => value !== undefined));
  const seconds = performance.now() / 1000;
  if (process.stdout.isTTY === true && logFormat !== "json") {
    const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(8)} ${value}`);
    process.stdout.write(`Perdure ${VERSION} is ready after ${seconds.toFixed(2)} s\n${lines.join("\n")}\n`);
  } else {
    logger.info({ version: VERSION, ...facts, startupSeconds: Number(seconds.toFixed(3)) }, "ready");
  }
}
