/** Commands for the development of services on this machine. */
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action } from "../manage/connect.js";
import { wholeNumber } from "../manage/values.js";
import { dev } from "./dev.js";

interface DevFlags {
  readonly port?: number;
  readonly ingressPort: number;
  readonly adminPort: number;
  readonly data: string;
  readonly bind: string;
  readonly start: boolean;
}

/** Adds the commands to the program. */
export function register(program: Command, context: Context): void {
  const port = wholeNumber(0, 65_535);
  program
    .command("dev")
    .helpGroup("This machine:")
    .description("run a server with your service registered in it; in an empty folder, write a service")
    .argument("[command...]", "command that starts your service, after --; detected from the folder by default")
    .option("-p, --port <port>", "port of your service; the usual ports by default", wholeNumber(1, 65_535))
    .option("--ingress-port <port>", "port of the ingress; 0: a free one", port, 8080)
    .option("--admin-port <port>", "port of the management API; 0: a free one", port, 9070)
    .option("--bind <address>", "address to listen on", "127.0.0.1")
    .option("--data <folder>", "where the server keeps its data", ".perdure")
    .option("--no-start", "only discover running services; do not start the project of this folder")
    .addHelpText(
      "after",
      "\nExamples:\n  perdure dev\n  perdure dev --port 3000 -- npm run dev\n  mkdir hello && cd hello && perdure dev --yes",
    )
    .action(
      action((command: readonly string[], flags: DevFlags) =>
        dev(context, {
          port: flags.port,
          serverPorts: { ingress: flags.ingressPort, admin: flags.adminPort },
          data: flags.data,
          bind: flags.bind,
          attachOnly: !flags.start,
          command,
        }),
      ),
    );
}
