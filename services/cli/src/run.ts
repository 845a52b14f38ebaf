/** Why: one process, one command: it reads what the process was given, runs the command, and turns what goes wrong into words and a number. */
import { systemClock } from "@perdure/base";
import { CloudApiError } from "@perdure/cloud-client";
import { VERSION } from "@perdure/role/version";
import { type Command, CommanderError } from "commander";
import type { Context } from "./context.js";
import { CliError, type ExitCode, FAILED, OK, USAGE } from "./errors.js";
import { REQUEST_MS_MAX } from "./limits.js";
import { patientFetch } from "./patient-fetch.js";
import { createProgram } from "./program.js";
import { readVariables } from "./variables.js";

/** Resolves with the exit code. 130 as shells have it: whoever pressed Ctrl-C knows. */
export async function runCli(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Interrupted(name)));
  // Whoever reads only the first lines has seen enough.
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => process.exit(cause.code === "EPIPE" ? OK : FAILED));
  const { command, context } = createProgram(
    {
      variables: readVariables(environment, process.cwd()),
      clock: systemClock,
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      signal: stop.signal,
      fetch: patientFetch(fetch, systemClock, REQUEST_MS_MAX),
    },
    VERSION,
  );
  everywhere(command, (one) => one.exitOverride().configureOutput({ outputError: () => undefined }));
  try {
    if (args.length === 0) command.outputHelp();
    else await command.parseAsync(args, { from: "user" });
    return OK;
  } catch (cause) {
    if (stop.signal.aborted) return (stop.signal.reason as Interrupted).exitCode;
    return tell(cause, context, args.includes("--json"));
  }
}

class Interrupted extends Error {
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

function tell(cause: unknown, context: Context, isJson: boolean): ExitCode {
  if (cause instanceof CommanderError && cause.exitCode === 0) return OK; // Help and version were shown.
  const error = errorOf(cause);
  const { message, advice, code, requestId, exitCode } = error;
  if (isJson || context.json) {
    process.stderr.write(`${JSON.stringify({ error: { message, advice, code, requestId, exitCode } })}\n`);
    return exitCode;
  }
  const { output } = context;
  process.stderr.write(`${output.paint("red", "✘")} ${code === undefined ? "" : `${code}: `}${message}\n`);
  if (advice !== undefined) process.stderr.write(`  ${advice}\n`);
  if (requestId !== undefined) process.stderr.write(output.paint("dim", `  Request: ${requestId}\n`));
  return exitCode;
}

function errorOf(cause: unknown): CliError {
  if (cause instanceof CliError) return cause;
  if (cause instanceof CommanderError) {
    if (cause.code === "commander.help") return new CliError(USAGE, "A command is missing", "The list above has them.");
    return new CliError(USAGE, cause.message.replace(/^error: /, ""), "Try: perdure help", { cause });
  }
  if (cause instanceof CloudApiError) {
    return new CliError(FAILED, cause.message, adviceOn(cause), { cause, code: cause.code, requestId: cause.requestId });
  }
  return new CliError(FAILED, cause instanceof Error ? cause.message : String(cause), undefined, { cause });
}

function adviceOn({ status }: CloudApiError): string | undefined {
  if (status === 0) return "Check the network, then try again.";
  if (status === 401) return "Log in again: perdure login";
  if (status === 429) return "Wait a minute, then try again.";
  return status >= 500 ? "Try again; nothing on your side is wrong." : undefined;
}
