/** What people type: `perdure server` and its flags, help and version. Everything heavier is imported when it is needed. */
import { VERSION } from "@perdure/role/version";

const HELP = `Perdure: durable execution in one process.

Usage: perdure server [--config-file FILE] [--base-dir DIR] [--node-name NAME] [--print-config]
       perdure --help | --version

  --config-file FILE   settings in TOML; also PERDURE_CONFIG
  --base-dir DIR       where data is kept (default ./perdure-data)
  --node-name NAME     this node's folder under the base directory
  --print-config       show every setting with its meaning and value, and exit
  --SETTING VALUE      any other setting by its name, e.g. --ingress.bind-port 8081

The environment sets any of them too: PERDURE_ followed by the name, two underscores between levels,
e.g. PERDURE_WORKER__INVOKER__INACTIVITY_TIMEOUT=1m.
`;

/** Returns the exit code; the command `server` returns when the server has stopped. */
export async function runCommandLine(args: readonly string[], _env: NodeJS.ProcessEnv): Promise<number> {
  const [command] = args;
  if (command === undefined || command === "--help" || command === "-h" || command === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  if (command === "--version" || command === "-V") {
    process.stdout.write(`perdure ${VERSION}\n`);
    return 0;
  }
  process.stderr.write(`perdure: there is no command '${command}'. Try 'perdure --help'.\n`);
  return 2;
}
