/** Recorded commands of the CLI, with roles instead of ids, which are run again and compared. */
import { readFileSync } from "node:fs";
import type { CommandResult } from "@perdure/processes";
import type { Cli } from "./cli.js";
import { normalLines, withoutIdleKeys, withoutInventedKeys } from "./normal.js";
import type { CliScenario } from "./scenario.js";

/** `stdout` and `stderr` are normalised by `normalLines`. */
export interface RecordedCommand {
  readonly args: readonly string[];
  readonly exitCode: number;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Which order is compared: "lines" for journals and sorted lists, "none" for tables with lists in their cells. Undefined: lines in any
   * order.
   */
  readonly order?: "lines" | "none";
}

export function recordedCommands(file: string): readonly RecordedCommand[] {
  return JSON.parse(
    readFileSync(new URL(`../../testdata/cli/${file}.json`, import.meta.url), "utf8"),
  ) as readonly RecordedCommand[];
}

export interface Comparable {
  readonly exitCode: number | null;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
}

/** Runs a recorded command with the ids of the scenario; both results have roles instead of ids. */
export async function replayCommand(
  cli: Cli,
  scenario: CliScenario,
  command: RecordedCommand,
): Promise<{ readonly ours: Comparable; readonly recorded: Comparable }> {
  const { stdin, env } = command;
  const args = command.args.map((arg) => scenario.expand(arg));
  const result = await cli.run(args, {
    ...(stdin === undefined ? {} : { stdin: scenario.expand(stdin) }),
    ...(env === undefined ? {} : { env }),
  });
  learnRoles(scenario, command, result);
  const ours = {
    exitCode: result.exitCode,
    stdout: arranged(command, normalLines(result.stdout, scenario.roles)),
    stderr: arranged(command, normalLines(result.stderr, scenario.roles)),
  };
  const recorded = {
    exitCode: command.exitCode,
    stdout: arranged(command, command.stdout),
    stderr: arranged(command, command.stderr),
  };
  return { ours, recorded };
}

const ID = /\b(?:inv_1\w{33}|dp_1\w{22}|sub_1\w{22})\b/g;
const ID_OR_ROLE = /\b(?:inv_1\w{33}|dp_1\w{22}|sub_1\w{22})\b|\{(?:inv|dp|sub)\.[^{}\s]+\}|<(?:inv|dp|sub)>/g;

/** Assigns roles of the recording to ids that a command created, by their positions. */
function learnRoles(scenario: CliScenario, command: RecordedCommand, { stdout }: CommandResult): void {
  const places = command.stdout.join("\n").match(ID_OR_ROLE) ?? [];
  const ids = stdout.match(ID) ?? [];
  if (ids.length !== places.length) return;
  for (const [index, place] of places.entries()) {
    const role = /^\{(.*)\}$/.exec(place)?.[1];
    if (role !== undefined && !scenario.has(role)) scenario.bind(role, ids[index]!);
  }
}

function arranged({ order }: RecordedCommand, lines: readonly string[]): readonly string[] {
  const kept = withoutInventedKeys(withoutIdleKeys(lines));
  if (order === "lines") return kept;
  return (order === "none" ? kept.flatMap((line) => line.split(/[ ,[\]]+/)) : [...kept]).sort();
}
