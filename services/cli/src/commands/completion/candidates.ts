/** Candidates for the next argument of a command line: commands, flags and fixed values from the program itself, names through the lookup. */
import type { Command, Option } from "commander";
import { type CompletionSlot, FIXED_VALUES, slotOfArgument, slotOfOption } from "./slots.js";

/**
 * Looks up values in the environment. `parents`: arguments of the command that are complete. `last`: the beginning of the value, maybe
 * empty.
 */
export type CompletionLookup = (slot: CompletionSlot, parents: readonly string[], last: string) => Promise<readonly string[]>;

interface Typed {
  readonly command: Command;
  readonly path: readonly string[];
  /** Arguments of the command, without flags and their values. */
  readonly args: readonly string[];
  /** The flag whose value is the next word. */
  readonly waiting: Option | undefined;
  readonly last: string;
}

/** `words`: all words after `perdure`, the last one incomplete (maybe empty). All candidates begin with it. */
export async function candidates(
  program: Command,
  tokens: readonly string[],
  lookup: CompletionLookup,
): Promise<readonly string[]> {
  const last = tokens.at(-1) ?? "";
  // zsh and fish pass `--flag=value` as one word, bash as three.
  const [, flag, beginning] = /^(--[^=]+)=(.*)$/s.exec(last) ?? [];
  if (flag !== undefined && beginning !== undefined) {
    const values = await candidates(program, [...tokens.slice(0, -1), flag, beginning], lookup);
    return values.map((value) => `${flag}=${value}`);
  }
  const typed = read(program, last === "=" ? [...tokens.slice(0, -1), ""] : tokens.filter((token) => token !== "="));
  const { waiting } = typed;
  if (waiting !== undefined) return await ofOption(waiting, typed, lookup);
  return starting(typed.last, await ofCommand(typed, program, lookup));
}

/** The value of a global flag, at any position. */
export function globalValue(tokens: readonly string[], ...flags: readonly string[]): string | undefined {
  for (const [index, token] of tokens.slice(0, -1).entries()) {
    const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(token) ?? [];
    if (flag !== undefined && flags.includes(flag)) return value;
    const next = tokens[index + 1] === "=" ? index + 2 : index + 1;
    if (flags.includes(token) && next < tokens.length - 1) return tokens[next];
  }
  return undefined;
}

function read(program: Command, tokens: readonly string[]): Typed {
  let command = program;
  let waiting: Option | undefined;
  const path: string[] = [];
  const args: string[] = [];
  for (const token of tokens.slice(0, -1)) {
    if (waiting !== undefined) {
      waiting = undefined;
      continue;
    }
    if (token.startsWith("-") && token !== "-") {
      const option = optionsOf(command, program).find(({ long, short }) => long === token || short === token);
      waiting = option?.required === true ? option : undefined;
      continue;
    }
    const child = command.commands.find((one) => one.name() === token || one.aliases().includes(token));
    if (child === undefined) args.push(token);
    else {
      command = child;
      path.push(child.name());
    }
  }
  return { command, path, args, waiting, last: tokens.at(-1) ?? "" };
}

async function ofOption(option: Option, { path, args, last }: Typed, lookup: CompletionLookup): Promise<readonly string[]> {
  const fixed = option.argChoices ?? FIXED_VALUES[option.long ?? ""];
  if (fixed !== undefined) {
    // The value is a comma-separated list.
    const head = last.slice(0, last.lastIndexOf(",") + 1);
    return starting(
      last,
      fixed.map((value) => `${head}${value}`),
    );
  }
  const slot = slotOfOption(option.long, path);
  return slot === undefined ? [] : starting(last, await lookup(slot, args, last));
}

async function ofCommand(
  { command, path, args, last }: Typed,
  program: Command,
  lookup: CompletionLookup,
): Promise<readonly string[]> {
  if (last.startsWith("-")) {
    const flags = optionsOf(command, program).filter(({ hidden }) => !hidden);
    return [...flags.flatMap(({ long }) => long ?? []), "--help"];
  }
  if (command.commands.length > 0)
    return command
      .createHelp()
      .visibleCommands(command)
      .map((one) => one.name());
  const declared = command.registeredArguments;
  const argument = declared[args.length] ?? (declared.at(-1)?.variadic === true ? declared.at(-1) : undefined);
  if (argument === undefined) return [];
  if (argument.argChoices !== undefined) return argument.argChoices;
  const slot = slotOfArgument(argument.name(), path);
  return slot === undefined ? [] : await lookup(slot, args, last);
}

function optionsOf(command: Command, program: Command): readonly Option[] {
  return command === program ? program.options : [...command.options, ...program.options];
}

function starting(last: string, values: readonly string[]): readonly string[] {
  return values.filter((value) => value.startsWith(last));
}
