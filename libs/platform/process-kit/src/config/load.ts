/**
 * Reads all settings into a typed configuration, or into one error that lists every mistake with its origin and a correct form. Later
 * sources win: defaults, file, `RESTATE_` variables, `PERDURE_` variables, flags.
 */
import { PerdureError } from "@perdure/base";
import type { z } from "zod";
import { SHOWN_VALUE_CHARS_MAX } from "./limits.js";
import { dottedName } from "./names.js";
import {
  type Alias,
  environmentSource,
  flagSource,
  type GivenSetting,
  readFileSource,
  restateSource,
  type SettingNames,
  type SettingProblem,
  type SourceResult,
} from "./sources.js";
import { type GroupSchema, settingTree } from "./tree.js";

export interface ConfigInputs {
  /** Path of a TOML file; undefined: none. */
  readonly file: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Names after `PERDURE_` that are not settings: read by the launcher or by other programs. */
  readonly reservedVariables: ReadonlySet<string>;
  /** Flags as typed, without the command. */
  readonly flags: readonly string[];
  /** Other names of settings and tables. */
  readonly aliases: readonly Alias[];
  /** Whether `RESTATE_` variables of the reference server are read, too. Default: no. */
  readonly readsRestateVariables?: boolean;
}

export interface LoadedConfig<S extends z.ZodType> {
  readonly values: z.output<S>;
  /** The origin of each setting, by dotted name; settings that have their default are absent. */
  readonly origins: ReadonlyMap<string, string>;
  /** Names of `RESTATE_` variables that have no setting here, sorted; empty where none are read. */
  readonly ignoredVariables: readonly string[];
}

/**
 * Throws PerdureError: RT0002 when something cannot be read, is unknown, or is not allowed; OPS0002 when the only mistake is
 * that two spellings of one setting disagree.
 */
export function loadConfig<S extends GroupSchema>(schema: S, inputs: ConfigInputs): LoadedConfig<S> {
  const names: SettingNames = { root: settingTree(schema), aliases: inputs.aliases };
  const sources: SourceResult[] = [];
  if (inputs.file !== undefined) sources.push(readFileSource(inputs.file, names));
  const restate = inputs.readsRestateVariables === true ? restateSource(inputs.environment, names) : undefined;
  if (restate !== undefined) sources.push(restate);
  sources.push(environmentSource(inputs.environment, inputs.reservedVariables, names), flagSource(inputs.flags, names));

  const problems = sources.flatMap((source) => source.problems);
  const given = new Map<string, GivenSetting>();
  for (const source of sources) for (const one of source.given) given.set(dottedName(one.path), one);

  const parsed = schema.safeParse(asTree(given.values()));
  for (const issue of parsed.error?.issues ?? []) problems.push(problemOf(issue, given));
  if (problems.length > 0 || !parsed.success) throw errorOf(problems);
  const origins = new Map([...given].map(([name, one]) => [name, one.origin]));
  return { values: parsed.data, origins, ignoredVariables: restate?.ignored ?? [] };
}

function asTree(given: Iterable<GivenSetting>): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const { path, value } of given) {
    let table = tree;
    for (const part of path.slice(0, -1)) {
      table[part] ??= {};
      table = table[part] as Record<string, unknown>;
    }
    table[path.at(-1)!] = value;
  }
  return tree;
}

function problemOf(issue: z.core.$ZodIssue, given: ReadonlyMap<string, GivenSetting>): SettingProblem {
  const path = issue.path.map(String);
  // The issue of a structure lies deeper than its setting: search for the setting upwards.
  for (let length = path.length; length > 0; length--) {
    const givenValue = given.get(dottedName(path.slice(0, length)));
    if (givenValue === undefined) continue;
    const inside = path.slice(length).join(".");
    const where = inside === "" ? `'${dottedName(givenValue.path)}'` : `'${dottedName(givenValue.path)}' (at ${inside})`;
    const value = isSecret(givenValue) ? "***" : shownValue(givenValue.value);
    return { code: "RT0002", message: `${givenValue.origin}: ${where} cannot be ${value}: ${issue.message}` };
  }
  return { code: "RT0002", message: `'${dottedName(path)}': ${issue.message}` };
}

/** Decides by the name of a setting whether its value may be secret: a mistyped key must not appear in a log. */
function isSecret(given: GivenSetting): boolean {
  return /secret|token|password|headers|pem$/i.test(given.path.at(-1)!);
}

function shownValue(value: unknown): string {
  const text =
    typeof value === "string"
      ? `'${value}'`
      : (JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v)) ?? "unset");
  return text.length <= SHOWN_VALUE_CHARS_MAX ? text : `${text.slice(0, SHOWN_VALUE_CHARS_MAX)}…`;
}

function errorOf(problems: readonly SettingProblem[]): PerdureError {
  const code = problems.every((problem) => problem.code === "OPS0002") ? "OPS0002" : "RT0002";
  const lines = [...new Set(problems.map((problem) => problem.message))];
  return new PerdureError(
    code,
    lines.length === 1 ? lines[0]! : `${lines.length} settings are wrong:\n${lines.map((line) => `  - ${line}`).join("\n")}`,
  );
}
