/** The program `perdure-admin`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startAdmin } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure admin",
  service: "admin-api",
  schema: settings,
  load: loadSettings,
  isEdge: true,
  start: startAdmin,
};

/** Resolves with the exit code. */
export function runAdmin(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "the management API of a cluster", args, environment);
}
