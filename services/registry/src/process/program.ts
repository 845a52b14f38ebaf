/** The program `perdure-registry`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startRegistry } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure registry",
  service: "registry",
  schema: settings,
  load: loadSettings,
  start: startRegistry,
};

/** Resolves with the exit code. */
export function runRegistry(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "keeps deployments, services, subscriptions, rules and schedules of a cluster", args, environment);
}
