/** `perdure tunnel`: services on this machine are reachable from the cloud, without an open port. */
import { type Command, Option } from "commander";
import { chooseEnvironment, ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { gathered } from "../../options.js";
import { showWhen } from "../../output/index.js";
import { parseLocalPort, parseRemotePort } from "./flags.js";
import type { TunnelFlags } from "./tunnel.js";

export function register(program: Command, context: Context): void {
  program
    .command("tunnel")
    .helpGroup("Cloud:")
    .description("make local services reachable for the environment in use, as tunnel://NAME:PORT, until Ctrl-C")
    .option("--name, --tunnel-name <name>", "name of the tunnel; several with one name share the load (default: this machine's)")
    .addOption(
      new Option("--local-port <port>", "port to expose, also PORT:HOST[:PORT]; may be repeated (default: 9080)").argParser(
        gathered(parseLocalPort),
      ),
    )
    .addOption(
      new Option(
        "--remote-port <port>",
        "port of the environment (8080, 9070) to forward to this machine, also 8080:18080; may be repeated",
      ).argParser(gathered(parseRemotePort)),
    )
    .addOption(
      new Option("--allow <origin>", "further http://host:port that requests may be sent to; may be repeated").argParser(
        gathered(asIs),
      ),
    )
    .option("--no-local", "expose no local port")
    .option("--no-remote", "forward no port to this machine")
    .addOption(
      new Option("--server <address>", "relay to dial: HOST:PORT; may be repeated (default: by DNS)").argParser(gathered(asIs)),
    )
    .option("--ca <file>", "PEM certificates to trust for relays")
    .option("--bind <host>", "address that forwarded ports listen on (default: 127.0.0.1)")
    .option("--bind-insecure", "also listen on addresses that other machines reach (unsafe: requests have your permissions)")
    .option("-v, --verbose", "print each request")
    // Imported on demand: the code of tunnels takes longer to load than most commands run.
    .action(async (flags: TunnelFlags) => (await import("./tunnel.js")).tunnel(context, flags));
  const tunnels = program.command("tunnels").helpGroup("Cloud:").description("open tunnels of an environment");
  tunnels
    .command("list", { isDefault: true })
    .description("tunnels and their connections")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => list(context, environment));
}

const asIs = (text: string): string => text;

async function list(context: Context, reference: string | undefined): Promise<void> {
  const { output, clock } = context;
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  const answer = await client.account(accountId, "ListTunnels", { environmentId }, { signal: context.signal });
  const rows = answer.tunnels.flatMap(({ name, connections }) => connections.map((connection) => ({ name, ...connection })));
  output.result(answer, () =>
    output.table(
      [
        { title: "TUNNEL", show: ({ name }) => name },
        { title: "SERVER", show: ({ server }) => server },
        { title: "PORTS", show: ({ ports }) => ports?.join(", ") ?? "any" },
        { title: "CLIENT", show: ({ clientVersion }) => clientVersion },
        { title: "CONNECTED", show: ({ connectedAt }) => showWhen(connectedAt * 1_000, clock.nowMs()) },
        { title: "REQUESTS", show: ({ inFlight }) => String(inFlight), align: "right" },
      ],
      rows,
      "There is none. Open one: perdure tunnel",
    ),
  );
}
