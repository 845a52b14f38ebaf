/** The command `server`: settings in, a running process until a signal or a failure, an exit code out. */
import { flushCompileCache } from "node:module";
import { PerdureError, systemClock, systemRandom } from "@perdure/base";
import {
  attachToProcess,
  createLogging,
  Health,
  Lifecycle,
  type Logging,
  Metrics,
  noTracer,
  printConfig,
  registerProcessMetrics,
  startTelemetry,
  type Tracer,
  VERSION,
} from "@perdure/role";
import { explain } from "./advice.js";
import { type Doors, startStandalone } from "./composition.js";
import { directoriesOf, type LoadedSettings, loadSettings, type Settings, settings as schema } from "./config.js";

const OK = 0;
const FAILED = 1;

export interface ServerCommand {
  /** `--config-file`. */
  readonly file: string | undefined;
  readonly printConfig: boolean;
  /** Every other flag. */
  readonly flags: readonly string[];
}

/** Resolves with the exit code once the server has stopped (at once for `--print-config`). */
export async function runServer(command: ServerCommand, environment: NodeJS.ProcessEnv): Promise<number> {
  outliveReaders();
  let loaded: LoadedSettings;
  try {
    loaded = loadSettings({ file: command.file, environment, flags: command.flags });
    if (command.printConfig) {
      process.stdout.write(printConfig(schema, loaded));
      return OK;
    }
    return await serve(loaded.values, createLogging(loggingOptions(loaded.values, environment)));
  } catch (cause) {
    return refuse(cause);
  }
}

function refuse(cause: unknown): number {
  const error = PerdureError.from(cause);
  process.stderr.write(`perdure cannot start.\n\n${explain(error)}\n`);
  if (error !== cause) process.stderr.write(`\n${cause instanceof Error ? cause.stack : String(cause)}\n`);
  return FAILED;
}

/** When whoever read our output is gone there is nobody to tell, and that is no reason to fail. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

function loggingOptions({ logFilter, logFormat, logDisableAnsiCodes }: Settings, environment: NodeJS.ProcessEnv) {
  const isTerminal = process.stdout.isTTY === true;
  const noColor = environment["NO_COLOR"] !== undefined && environment["NO_COLOR"] !== "";
  return {
    filter: logFilter,
    format: logFormat === "auto" ? (isTerminal ? ("pretty" as const) : ("json" as const)) : logFormat,
    colors: isTerminal && !logDisableAnsiCodes && !noColor,
    service: "standalone",
    sink: (line: string) => void process.stdout.write(line),
  };
}

async function serve(settings: Settings, { logger, setFilter }: Logging): Promise<number> {
  const lifecycle = new Lifecycle({
    logger,
    clock: systemClock,
    health: new Health(),
    shutdownTimeoutMs: settings.shutdownTimeout,
  });
  using _attached = attachToProcess(lifecycle, process);
  const metrics = new Metrics();
  using _sampling = registerProcessMetrics(metrics);
  try {
    const tracer = await startTracing(settings, lifecycle, logger);
    const doors = await startStandalone(settings, {
      lifecycle,
      metrics,
      tracer,
      clock: systemClock,
      random: systemRandom,
      logger,
    });
    greet(settings, doors, logger);
    flushCompileCache(); // Now that all of it is compiled: a process that is killed later would not have kept it.
  } catch (cause) {
    // Told to stop while starting: that is no failure, and the lifecycle is already at it.
    if (!(cause instanceof PerdureError && cause.code === "OPS0004")) throw cause;
  }
  const ending = await lifecycle.untilEnded();
  setFilter("off"); // What is left to say is said below.
  switch (ending.kind) {
    case "stopped":
    case "abandoned":
      return OK;
    case "failed":
      process.stderr.write(`perdure stopped because it could not go on.\n\n${explain(ending.error)}\n`);
      return FAILED;
  }
}

async function startTracing(settings: Settings, lifecycle: Lifecycle, logger: Logging["logger"]): Promise<Tracer> {
  const { tracingEndpoint: endpoint, tracingHeaders: headers, nodeName: instance } = settings;
  if (endpoint === undefined) return noTracer;
  const options = { endpoint, headers, service: "perdure", instance, logger };
  return (await lifecycle.start("tracing", () => startTelemetry(options))).tracer;
}

/** For people a few lines; for machines a log line with the same facts. */
function greet(settings: Settings, { ingressPort, adminPort, identityPublicKey }: Doors, logger: Logging["logger"]): void {
  const facts = {
    ingress: settings.ingress.advertisedAddress ?? `http://localhost:${ingressPort}/`,
    admin: settings.admin.advertisedAddress ?? `http://localhost:${adminPort}/`,
    data: directoriesOf(settings).node,
    ...(identityPublicKey === undefined ? {} : { identity: identityPublicKey }),
  };
  const seconds = performance.now() / 1000;
  if (process.stdout.isTTY === true && settings.logFormat !== "json") {
    const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(8)} ${value}`);
    process.stdout.write(`Perdure ${VERSION} is ready after ${seconds.toFixed(2)} s\n${lines.join("\n")}\n`);
  } else {
    logger.info({ version: VERSION, ...facts, startupSeconds: Number(seconds.toFixed(3)) }, "ready");
  }
}
