/** Why: whoever presses Tab sees what fits. The shell asks the program itself, so new commands need no new script. */
import { Argument, type Command } from "commander";
import type { Context } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { candidates } from "./candidates.js";
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
    .action((words: readonly string[]) => {
      for (const line of candidates(program, words, () => profileNames(context))) context.output.print(line);
    });
}

function profileNames(context: Context): readonly string[] {
  return [...new Set([LOCAL, ...context.official.profiles().map(({ name }) => name)])];
}
