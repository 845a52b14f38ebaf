/** Why: what fits behind the words typed so far, from the commands as they are. */
import type { Command, Option } from "commander";

/** `words`: all behind `perdure`, the last one unfinished (maybe empty). Candidates begin with it. */
export function candidates(program: Command, words: readonly string[], profiles: () => readonly string[]): readonly string[] {
  const last = words.at(-1) ?? "";
  let command = program;
  let waiting: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (waiting !== undefined) {
      waiting = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const option = optionsOf(command, program).find(({ long, short }) => long === word || short === word);
      waiting = option?.required === true ? option : undefined;
      continue;
    }
    command = command.commands.find((one) => one.name() === word || one.aliases().includes(word)) ?? command;
  }
  return fitting(command, program, waiting, last, profiles).filter((one) => one.startsWith(last));
}

function fitting(
  command: Command,
  program: Command,
  waiting: Option | undefined,
  last: string,
  profiles: () => readonly string[],
): readonly string[] {
  if (waiting !== undefined) return waiting.long === "--env" ? profiles() : (waiting.argChoices ?? []);
  if (last.startsWith("-")) {
    const flags = optionsOf(command, program).filter(({ hidden }) => !hidden);
    return [...flags.flatMap(({ long }) => long ?? []), "--help"];
  }
  const isProfile = command.name() === "use" && command.parent?.name() === "env";
  if (isProfile) return profiles();
  if (command.commands.length > 0)
    return command
      .createHelp()
      .visibleCommands(command)
      .map((one) => one.name());
  return command.registeredArguments[0]?.argChoices ?? [];
}

function optionsOf(command: Command, program: Command): readonly Option[] {
  return command === program ? program.options : [...command.options, ...program.options];
}
