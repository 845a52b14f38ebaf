/** Reads the settings of a run from the environment. */
import { ENDPOINTS, type EndpointKind, type ServerKind } from "./kinds.js";

export interface Settings {
  readonly patterns: readonly string[];
  readonly endpoints: readonly EndpointKind[];
  readonly servers: readonly ServerKind[];
  /** Path of the `perdure` of another build, measured beside this one. */
  readonly other: string | undefined;
  /** Undefined: as many as the row needs. */
  readonly rounds: number | undefined;
  readonly seconds: number;
  readonly isShort: boolean;
}

const ROUNDS = 3;
const SECONDS = 8;
const SECONDS_SHORT = 4;

const HELP =
  "FILTER='noop-* journal-1000' ENDPOINT=rust SERVERS=perdure,reference OTHER=<another perdure> ROUNDS=3 SECONDS=8 QUICK=1";

/** Throws when a value is not one of those that are allowed. */
export function settingsIn(environment: Readonly<Record<string, string | undefined>>): Settings {
  const text = (name: string): string | undefined => (environment[name] === "" ? undefined : environment[name]);
  const list = (name: string): readonly string[] => (text(name) ?? "").split(/[\s,]+/).filter((each) => each !== "");
  const isShort = text("QUICK") === "1";
  const other = text("OTHER");
  const all: readonly ServerKind[] = other === undefined ? ["perdure", "reference"] : ["perdure", "other", "reference"];
  return {
    patterns: list("FILTER"),
    endpoints: allowed("ENDPOINT", list("ENDPOINT"), ENDPOINTS),
    servers: allowed("SERVERS", list("SERVERS"), all),
    other,
    rounds: positive("ROUNDS", text("ROUNDS")) ?? (isShort ? 1 : undefined),
    seconds: positive("SECONDS", text("SECONDS")) ?? (isShort ? SECONDS_SHORT : SECONDS),
    isShort,
  };
}

/** Rounds of a row: one when each needs a new process and leaves much behind. */
export function roundsOf({ rounds }: Settings, isFresh: boolean): number {
  return rounds ?? (isFresh ? 1 : ROUNDS);
}

function allowed<T extends string>(name: string, given: readonly string[], all: readonly T[]): readonly T[] {
  for (const each of given)
    if (!all.includes(each as T)) throw new Error(`${name} is one or more of ${all.join(", ")}, not ${each}; ${HELP}`);
  return given.length === 0 ? all : all.filter((each) => given.includes(each));
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${name} is a positive number, not ${text}; ${HELP}`);
  return value;
}
