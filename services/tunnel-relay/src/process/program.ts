/** The program `perdure-tunnel-relay`. */
import { type ProcessSpec, runProgram } from "@perdure/role";
import { startTunnelRelay } from "./composition.js";
import { loadSettings, settings } from "./config.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure-tunnel-relay",
  service: "tunnel-relay",
  schema: settings,
  load: loadSettings,
  isEdge: true,
  start: startTunnelRelay,
};

/** Resolves with the exit code. */
export function runTunnelRelay(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(spec, "where tunnel clients dial in, and calls to private endpoints go out", args, environment);
}
