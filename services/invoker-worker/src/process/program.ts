/** The program `perdure-worker`. */
import { type ProcessSpec, runProgram } from "@perdure/role";
import { startWorker } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure-worker",
  service: "invoker-worker",
  schema: settings,
  load: loadSettings,
  start: startWorker,
};

/** Resolves with the exit code. */
export function runWorker(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "leads partitions of a cluster and runs their invocations", args, environment);
}
