/** Runs work that ends by itself, like migrating a database, with settings, a log and an exit code. */
import { type Clock, type Logger, PerdureError, systemClock } from "@perdure/base";
import { createLogging } from "@perdure/telemetry";
import type { z } from "zod";
import { printConfig } from "../config/print.js";
import type { GroupSchema } from "../config/tree.js";
import { processCommand } from "./command.js";
import { loggingOptions, OK, outliveReaders, type ProcessSpec, processSettingsOf, refuse } from "./run.js";

interface TaskPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TaskSpec<S extends GroupSchema> extends Omit<ProcessSpec<S>, "start"> {
  /** Resolves when the work is done; rejects with the reason of the failure. */
  readonly run: (settings: z.output<S>, ports: TaskPorts) => Promise<void>;
}

/**
 * `args`: the arguments after the task's name. Resolves with the exit code: 0 when it was done, 1 with an explanation on stderr otherwise.
 */
export async function runTask<S extends GroupSchema>(
  spec: TaskSpec<S>,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  outliveReaders();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onSignal = (name: NodeJS.Signals): void => reject(new PerdureError("OPS0004", `stopped by ${name}`));
  for (const name of STOP_SIGNALS) process.once(name, onSignal);
  try {
    const command = processCommand(args, environment);
    const loaded = spec.load({ file: command.file, environment, flags: command.flags });
    if (command.printConfig) {
      process.stdout.write(printConfig(spec.schema, loaded));
      return OK;
    }
    const own = processSettingsOf(loaded);
    const { logger } = createLogging(loggingOptions(own, spec.service, environment));
    await Promise.race([spec.run(own, { clock: systemClock, logger }), stopped]); // Unfinished work ends with the process.
    return OK;
  } catch (cause) {
    return refuse(spec, cause, environment, `${spec.program} failed.`);
  } finally {
    for (const name of STOP_SIGNALS) process.removeListener(name, onSignal);
  }
}

const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;
