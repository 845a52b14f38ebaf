/** All commands with their flags, help and actions. */
import { DOCS_URL_VARIABLE, docsUrl } from "@perdure/telemetry/error-page";
import { Command, Option } from "commander";
import { register as registerAccount } from "./commands/account/index.js";
import { register as registerAudit } from "./commands/audit/index.js";
import { register as registerCompletion } from "./commands/completion/index.js";
import { register as registerDev } from "./commands/dev/index.js";
import { register as registerEnv } from "./commands/env/index.js";
import { register as registerErrors } from "./commands/errors/index.js";
import { register as registerKeys } from "./commands/keys/index.js";
import { register as registerLink } from "./commands/link/index.js";
import { register as registerLogin } from "./commands/login/index.js";
import { register as registerManage } from "./commands/manage/index.js";
import { register as registerMcp } from "./commands/mcp/index.js";
import { register as registerMembers } from "./commands/members/index.js";
import { register as registerReplay } from "./commands/replay/index.js";
import { register as registerSigningKey } from "./commands/signing-key/index.js";
import { register as registerTunnel } from "./commands/tunnel/index.js";
import { register as registerUsage } from "./commands/usage/index.js";
import { Context, type ContextPorts, type GlobalFlags, type RegisterCommands } from "./context.js";
import { aliasOf, PROGRAMS, type ProgramEntry } from "./programs.js";

const GROUPS: readonly RegisterCommands[] = [
  registerDev,
  registerManage,
  registerReplay,
  registerMcp,
  registerLogin,
  registerAccount,
  registerEnv,
  registerKeys,
  registerMembers,
  registerSigningKey,
  registerUsage,
  registerAudit,
  registerLink,
  registerTunnel,
  registerErrors,
  registerCompletion,
];

interface CliProgram {
  readonly command: Command;
  readonly context: Context;
}

export function createProgram(ports: ContextPorts, version: string): CliProgram {
  const command = new Command("perdure")
    .description("Durable execution: on this machine and in the cloud.")
    .version(`perdure ${version}`, "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help of a command")
    .commandsGroup("More:")
    .addOption(new Option("-e, --env <name>", "the environment to use, as 'perdure env list' names it").helpGroup("Everywhere:"))
    .addOption(new Option("--account <name>", "the account to use, by id or name").helpGroup("Everywhere:"))
    .addOption(new Option("--json", "print JSON, and nothing else, to stdout").helpGroup("Everywhere:"))
    .addOption(new Option("-y, --yes", "skip confirmations").helpGroup("Everywhere:"))
    .addOption(new Option("--no-color", "print without colours").helpGroup("Everywhere:"))
    .showSuggestionAfterError(true)
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .addHelpText("after", () => `\nDocumentation: ${docsUrl(ports.variables.ofShell(DOCS_URL_VARIABLE)?.value)}`);
  const context = new Context(ports, () => command.opts<GlobalFlags>());
  const { server, ...others } = PROGRAMS;
  addPrograms(command, context, { server });
  for (const register of GROUPS) register(command, context);
  addPrograms(command, context, others);
  return { command, context };
}

/** Programs in processes of their own. The launcher starts them before the command line sees their names, so here they are for the help. */
function addPrograms(command: Command, context: Context, programs: Readonly<Record<string, ProgramEntry | undefined>>): void {
  for (const [name, entry] of Object.entries(programs)) {
    if (entry === undefined) continue;
    const program = command
      .command(name)
      .helpGroup(entry.group)
      .description(`${entry.summary} (perdure ${name} --help)`)
      .allowUnknownOption()
      .helpOption(false)
      .argument("[flags...]")
      .action(() =>
        context.fail(
          2,
          `'${name}' is a program of its own, and the command line was started without the launcher`,
          `Run: perdure ${name}`,
        ),
      );
    const alias = aliasOf(name);
    if (alias !== undefined) program.alias(alias);
  }
}
