/** Completion in shells. The script of a shell calls the program for candidates, so new commands need no new script. */
import { Argument, type Command } from "commander";
import type { Context } from "../../context.js";
import { COMPLETION_MS_MAX } from "../../limits.js";
import { candidates, globalValue } from "./candidates.js";
import { lookupIn } from "./lookup.js";
import { scripts } from "./scripts.js";

export function register(program: Command, context: Context): void {
  program
    .command("completion")
    .helpGroup("More:")
    .description("print a script that completes commands in your shell")
    .addArgument(new Argument("<shell>").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      [
        "",
        "bash:  echo 'source <(perdure completion bash)' >> ~/.bashrc",
        "zsh:   perdure completion zsh > ~/.zfunc/_perdure      (a folder of $fpath)",
        "fish:  perdure completion fish > ~/.config/fish/completions/perdure.fish",
      ].join("\n"),
    )
    .action((shell: keyof typeof scripts) => {
      const script = scripts[shell];
      context.output.result({ shell, script }, () => context.output.raw(script));
    });
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (tokens: readonly string[]) => {
      for (const line of await candidatesInTime(program, context, tokens)) context.output.print(line);
    });
}

/**
 * Never fails and takes a bounded time: a Tab without candidates is better than one that hangs or prints an error into the command line. A
 * login that expires soon is not renewed here: an interrupted renewal loses the login.
 */
async function candidatesInTime(program: Command, context: Context, tokens: readonly string[]): Promise<readonly string[]> {
  program.setOptionValue("env", globalValue(tokens, "--env", "-e"));
  program.setOptionValue("account", globalValue(tokens, "--account"));
  context.session.mayRenew = false;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(COMPLETION_MS_MAX)]);
  const over = new Promise<readonly string[]>((resolve) => signal.addEventListener("abort", () => resolve([]), { once: true }));
  return await Promise.race([candidates(program, tokens, lookupIn(context, signal)).catch(() => []), over]);
}
