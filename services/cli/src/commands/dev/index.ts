/** Why: working on services on this machine. */
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

/** Adds its commands to the program. */
export function register(program: Command, context: Context): void {
  const port = wholeNumber(0, 65_535);
  program
    .command("dev")
    .helpGroup("This machine:")
    .description("run a server and your service, known to each other; in an empty folder, begin a service")
    .argument("[command...]", "what starts your service, behind --; found out when it is left out")
    .option("-p, --port <port>", "where your service listens; the usual ports when it is left out", wholeNumber(1, 65_535))
    .option("--ingress-port <port>", "where handlers are called; 0 takes a free one", port, 8080)
    .option("--admin-port <port>", "where management is; 0 takes a free one", port, 9070)
    .option("--bind <address>", "on which address of this machine", "127.0.0.1")
    .option("--data <folder>", "where the server keeps its data", ".perdure")
    .option("--no-start", "do not start what is in this folder; find what runs")
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
