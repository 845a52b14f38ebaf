/** Runs the command line of this process: its arguments, environment, streams and signals. */
import { StopSignals, systemClock } from "@perdure/base";
import { FAILED, OK } from "./errors.js";
import { fetchWithTimeout } from "./fetch-with-timeout.js";
import { REQUEST_MS_MAX } from "./limits.js";
import { Interrupted, runCommand } from "./run.js";
import { readVariables } from "./variables.js";

/** Resolves with the exit code; 130 after Ctrl-C without a message, as in shells. */
export async function runCli(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const stop = new AbortController();
  stopAtSignals(stop);
  // The reader of the output may close it after the first lines.
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => process.exit(cause.code === "EPIPE" ? OK : FAILED));
  return await runCommand(args, {
    variables: readVariables(environment, process.cwd()),
    clock: systemClock,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: stop.signal,
    fetch: fetchWithTimeout(fetch, systemClock, REQUEST_MS_MAX),
  });
}

/** The first signal aborts the command; a later one ends the process at once, and listeners of `exit` kill what it started. */
function stopAtSignals(stop: AbortController): void {
  const signals = new StopSignals(systemClock);
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      const meaning = signals.receive(name);
      const reason = new Interrupted(name);
      if (meaning === "stop") stop.abort(reason);
      if (meaning === "at-once") process.exit(reason.exitCode);
    });
}
