/** The program `perdure-gateway`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startGateway } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure gateway",
  service: "ingress-gateway",
  schema: settings,
  load: loadSettings,
  isEdge: true,
  start: startGateway,
};

/** Resolves with the exit code. */
export function runGateway(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "the ingress of a cluster: HTTP for callers of services", args, environment);
}
