/** `perdure replay`: serves a bundle to an endpoint on this machine, entry by entry, under the user's debugger. */
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { wholeNumber } from "../../options.js";
import { ENTRY_INDEX_MAX } from "./limits.js";

export interface ReplayFlags {
  readonly endpoint: string;
  readonly to?: number;
  readonly step?: boolean;
  readonly runSteps?: boolean;
}

export function register(program: Command, context: Context): void {
  program
    .command("replay")
    .helpGroup("Services and invocations:")
    .argument("<file>", "a bundle, as 'perdure bundle' writes it")
    .description("replay an invocation on an endpoint of this machine, without a server: to the error, or entry by entry")
    .option("--endpoint <url>", "address of the endpoint that serves the handler", "http://localhost:9080")
    .option("--to <entry>", "stop behind this journal entry", wholeNumber(0, ENTRY_INDEX_MAX))
    .option("--step", "go forward and back by entry, with keys or with lines of stdin")
    .option("--run-steps", "execute steps whose result is not in the bundle, with all that they do")
    .addHelpText(
      "after",
      "\nExit codes: 0 the handler followed the journal · 1 the replay was not possible · 3 the handler failed · 4 the code does not match the journal",
    )
    .action(async (file: string, flags: ReplayFlags) => (await import("./replay.js")).replay(context, file, flags));
}
