/** `perdure link`: from a service on this machine to a durable call in the cloud with one command. */
import { type Command, Option } from "commander";
import { ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { gathered } from "../../options.js";
import { parseLocalPort } from "../tunnel/flags.js";
import type { LinkFlags } from "./link.js";

export function register(program: Command, context: Context): void {
  program
    .command("link")
    .helpGroup("Cloud:")
    .description(
      "log in, select or create an environment, open a tunnel, register the local service, and print a call; runs until Ctrl-C",
    )
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--create <name>", "name of the environment that is created when the account has none", "dev")
    .option("--region <region>", "region of that environment", "us")
    .addOption(
      new Option("--local-port <port>", "where the service listens, also PORT:HOST[:PORT] (default: 9080)").argParser(
        parseLocalPort,
      ),
    )
    .option("--tunnel-name <name>", "name of the tunnel (default: this machine's)")
    .addOption(
      new Option("--server <address>", "relay to dial: HOST:PORT; may be repeated").argParser(gathered((text: string) => text)),
    )
    .option("--ca <file>", "PEM certificates to trust for relays")
    .option("--use-http1.1", "the service speaks HTTP/1.1 only")
    .option("--breaking", "register also when handlers are removed")
    .option("--no-browser", "do not open a browser for the login")
    .option("-v, --verbose", "print each request")
    // Imported on demand, as tunnels are.
    .action(async (environment: string | undefined, flags: LinkFlags) =>
      (await import("./link.js")).link(context, environment, flags),
    );
}
