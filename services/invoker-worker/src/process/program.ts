/** The program `perdure-worker`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { ACCEPT_DATA_LOSS, runAcceptDataLoss } from "./accept-data-loss.js";
import { startWorker } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure worker",
  service: "invoker-worker",
  schema: settings,
  load: loadSettings,
  start: startWorker,
};

/**
 * Runs the worker. With `accept-data-loss <mark>` as the first arguments, only accepts that Redis lost its data. Resolves with the exit
 * code.
 */
export function runWorker(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  if (args[0] === ACCEPT_DATA_LOSS) return runAcceptDataLoss(args.slice(1), environment);
  return runProgram(spec, "leads partitions of a cluster and runs their invocations", args, environment);
}
