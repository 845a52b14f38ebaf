/** The program `perdure-tunnel-relay`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startTunnelRelay } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure tunnel-relay",
  service: "tunnel-relay",
  schema: settings,
  load: loadSettings,
  isEdge: true,
  start: startTunnelRelay,
};

/** Resolves with the exit code. */
export function runTunnelRelay(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "accept tunnel clients and forward calls to their private endpoints", args, environment);
}
