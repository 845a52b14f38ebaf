/** The command line `perdure server` with its flags, help and version. Everything heavier is imported when it is needed. */
import { isHelp, isVersion, processCommand } from "@perdure/process-kit/command";
import { VERSION } from "@perdure/telemetry/version";

const HELP = `Perdure: durable execution in one process.

Usage: perdure server [--config-file FILE] [--base-dir DIR] [--node-name NAME] [--print-config]
       perdure --help | --version

  --config-file FILE   settings in TOML; also PERDURE_CONFIG
  --base-dir DIR       where data is kept (default ./perdure-data)
  --node-name NAME     this node's folder below it (default node1)
  --print-config       show every setting with its meaning and value, and exit
  --SETTING VALUE      any other setting by its name, e.g. --ingress.bind-port 8081

The environment sets any of them too: PERDURE_ followed by the name, two underscores between levels,
e.g. PERDURE_WORKER__INVOKER__INACTIVITY_TIMEOUT=1m. Variables of Restate's server (RESTATE_…) work too; PERDURE_ wins.
`;

const OK = 0;
const MISUSED = 2;

/** Resolves with the exit code; for `server` when the server has stopped. */
export async function runCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [command, ...rest] = args;
  if (command === undefined || isHelp(command) || (command === "server" && rest.some(isHelp))) {
    process.stdout.write(HELP);
    return OK;
  }
  if (isVersion(command)) {
    process.stdout.write(`perdure ${VERSION}\n`);
    return OK;
  }
  if (command !== "server") {
    process.stderr.write(`perdure: there is no command '${command}'. Try 'perdure --help'.\n`);
    return MISUSED;
  }
  const { runServer } = await import("./server.js");
  return runServer(processCommand(rest, environment), environment);
}
