/** The program `perdure-tunnel-client`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startTunnelClient } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure tunnel-client",
  service: "tunnel-client",
  schema: settings,
  load: loadSettings,
  isEdge: true,
  start: startTunnelClient,
};

/** Resolves with the exit code. */
export function runTunnelClient(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "connect to a relay and serve calls of a hosted environment", args, environment);
}
