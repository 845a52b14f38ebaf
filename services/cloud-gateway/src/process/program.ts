/** The program `perdure-cloud-gateway`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startCloudGateway } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure cloud-gateway",
  service: "cloud-gateway",
  schema: settings,
  load: loadSettings,
  isEdge: true,
  start: startCloudGateway,
};

/** Resolves with the exit code. */
export function runCloudGateway(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "the gateway of a cloud: environments by host name, callers by credential", args, environment);
}
