/** Generates the reference of all commands from the commands themselves, so that it matches them (docs/cli.md). */
import type { Argument, Command, Option } from "commander";

/** Markdown: one section per group, one heading per command, as `perdure --help` shows them. */
export function commandReference(program: Command): string {
  const lines: string[] = [];
  const groups = Map.groupBy(
    program.commands.filter((command) => isShown(program, command)),
    (command) => command.helpGroup() || "More:",
  );
  for (const [group, commands] of groups) {
    lines.push(`### ${group.replace(/:$/, "")}`, "");
    for (const command of commands) lines.push(...sectionOf(command));
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Flags that every command has. */
export function globalFlags(program: Command): string {
  return `${program.options.map(flagLine).join("\n")}\n`;
}

function sectionOf(command: Command): string[] {
  const children = command.commands.filter((child) => isShown(command, child));
  if (children.length === 0)
    return [`#### \`${usageOf(command)}\``, "", sentence(command.description()), "", ...detailsOf(command)];
  const head = [`#### \`${nameOf(command)}\``, "", sentence(command.description()), ""];
  return [...head, ...children.flatMap(sectionOf)];
}

function detailsOf(command: Command): string[] {
  const alias = command.alias();
  const lines = [
    ...(alias === undefined ? [] : [`- also \`${alias}\``]),
    ...command.registeredArguments.filter(({ description }) => description !== "").map(argumentLine),
    ...command.options.filter(({ hidden }) => !hidden).map(flagLine),
  ];
  return lines.length === 0 ? [] : [...lines, ""];
}

function argumentLine(argument: Argument): string {
  return `- \`${argumentText(argument)}\`: ${plain(argument.description)}${choices(argument.argChoices)}`;
}

function flagLine(option: Option): string {
  const initial = option.defaultValue;
  const hasNoDefault = initial === undefined || typeof initial === "boolean" || Array.isArray(initial);
  const standard = hasNoDefault ? "" : ` (default: \`${String(initial)}\`)`;
  const what = option.description === "" ? "" : `: ${plain(option.description)}`;
  return `- \`${option.flags}\`${what}${choices(option.argChoices)}${standard}`;
}

function choices(all: readonly string[] | undefined): string {
  return all === undefined ? "" : `; one of ${all.map((one) => `\`${one}\``).join(", ")}`;
}

function usageOf(command: Command): string {
  return [nameOf(command), ...command.registeredArguments.map(argumentText)].join(" ");
}

function argumentText(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function isShown(parent: Command, command: Command): boolean {
  return command.name() !== "help" && parent.createHelp().visibleCommands(parent).includes(command);
}

/** Help texts are written without a capital and a full stop. */
function sentence(text: string): string {
  return `${plain(text.charAt(0).toUpperCase() + text.slice(1))}.`;
}

/** Angle brackets and asterisks have a meaning in Markdown. */
function plain(text: string): string {
  return text.replace(/[<>*_|]/g, "\\$&");
}
