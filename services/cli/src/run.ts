/** Runs one command, and converts its failure into a message and an exit code. */
import { isErrorCode } from "@perdure/base/errors";
import { CloudApiError } from "@perdure/cloud-client";
import { DOCS_URL_VARIABLE, errorPageUrl } from "@perdure/telemetry/error-page";
import { VERSION } from "@perdure/telemetry/version";
import { type Command, CommanderError } from "commander";
import type { Context, ContextPorts } from "./context.js";
import { CliError, FAILED, OK, USAGE } from "./errors.js";
import { type OutputStream, terminalJson, withoutControls } from "./output/index.js";
import { createProgram } from "./program.js";
import { usageMessage } from "./usage-message.js";

/** Runs one command with `ports`; resolves with the exit code when its output and its error are written. */
export async function runCommand(args: readonly string[], ports: ContextPorts): Promise<number> {
  const { command, context } = createProgram(ports, VERSION);
  const isJson = args.includes("--json");
  let refusedAt = command;
  everywhere(command, (one) =>
    one
      .exitOverride((cause) => {
        refusedAt = one;
        throw cause;
      })
      .configureOutput({
        writeOut: (text) => ports.stdout.write(text),
        // Usage help when a command is missing; programs get the error alone.
        writeErr: (text) => isJson || ports.stderr.write(text),
        outputError: () => undefined,
      }),
  );
  try {
    if (args.length === 0) command.outputHelp();
    else await command.parseAsync(args, { from: "user" });
    return OK;
  } catch (cause) {
    if (ports.signal.aborted && ports.signal.reason instanceof Interrupted) return ports.signal.reason.exitCode;
    if (cause instanceof CommanderError && cause.exitCode === 0) return OK; // Help and version were shown.
    const error = errorOf(cause, refusedAt);
    reportError(error, context, ports.stderr, isJson);
    return error.exitCode;
  }
}

/** Reason of an abort by a signal. */
export class Interrupted extends Error {
  override readonly name = "AbortError";
  readonly exitCode: number;

  constructor(signal: "SIGINT" | "SIGTERM") {
    super(`stopped by ${signal}`);
    this.exitCode = signal === "SIGINT" ? 130 : 143;
  }
}

function everywhere(command: Command, change: (command: Command) => void): void {
  change(command);
  for (const child of command.commands) everywhere(child, change);
}

/** Not from `.env`, whose author must not choose the links that a user follows. */
const docsUrlOf = ({ variables }: Context): string | undefined => variables.ofShell(DOCS_URL_VARIABLE)?.value;

function reportError(error: CliError, context: Context, stderr: OutputStream, isJson: boolean): void {
  const { message, code, requestId, exitCode, facts } = error;
  const docs = code !== undefined && isErrorCode(code) ? errorPageUrl(code, docsUrlOf(context)) : undefined;
  const page = docs === undefined ? undefined : `More: perdure errors ${code}${isJson || context.json ? "" : `, or ${docs}`}`;
  const advice =
    [error.advice, page].filter((part) => part !== undefined).join(isJson || context.json ? " " : "\n  ") || undefined;
  if (isJson || context.json) {
    stderr.write(`${terminalJson({ error: { message, advice, code, docs, requestId, exitCode, ...facts } })}\n`);
    return;
  }
  const { output } = context;
  stderr.write(`${output.paint("red", "✘")} ${code === undefined ? "" : `${code}: `}${withoutControls(message)}\n`);
  if (advice !== undefined) stderr.write(`  ${withoutControls(advice)}\n`);
  if (requestId !== undefined) stderr.write(output.paint("dim", `  Request: ${withoutControls(requestId)}\n`));
}

/** `refusedAt`: the command whose flags or arguments are invalid. */
function errorOf(cause: unknown, refusedAt: Command): CliError {
  if (cause instanceof CliError) return cause;
  if (cause instanceof CommanderError) {
    const help = `See: ${nameOf(refusedAt)} --help`;
    if (cause.code === "commander.help") return new CliError(USAGE, "A command is missing", help);
    return new CliError(USAGE, usageMessage(cause), help, { cause });
  }
  if (cause instanceof CloudApiError) {
    return new CliError(FAILED, cause.message, adviceOn(cause), { cause, code: cause.code, requestId: cause.requestId });
  }
  return new CliError(FAILED, cause instanceof Error ? cause.message : String(cause), undefined, { cause });
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function adviceOn({ status }: CloudApiError): string | undefined {
  if (status === 0) return "Check the network, then try again.";
  if (status === 401) return "Log in again: perdure login";
  if (status === 429) return "Wait a minute, then try again.";
  return status >= 500 ? "Try again; nothing on your side is wrong." : undefined;
}
