/** The inputs of the invocations that wait: they distinguish rows of one handler. Pure. */
import { type SqlRow, sqlText } from "@perdure/admin-client";
import { entryValueOf } from "../invocation/entry-value.js";
import { valueOfBytes } from "../invocation/value-text.js";
import { textOf } from "../rows.js";
import type { PendingAwakeable } from "./waiting.js";

/** Invocations whose inputs are shown: one journal is read for each of them. */
const INPUTS_MAX = 100;
/** Longer inputs are read on the page of their invocation. */
const INPUT_BYTES_MAX = 4_096;
const SHOWN_CHARS_MAX = 120;

/** Undefined when none waits. */
export function inputsStatement(waiting: readonly PendingAwakeable[]): string | undefined {
  const ids = [...new Set(waiting.map(({ invocationId }) => invocationId))].slice(0, INPUTS_MAX);
  if (ids.length === 0) return undefined;
  return (
    `SELECT id, CASE WHEN raw_length <= ${INPUT_BYTES_MAX} THEN entry_json END AS input ` +
    `FROM sys_journal WHERE id IN (${ids.map(sqlText).join(", ")}) AND "index" = 0`
  );
}

/** One line for each invocation that has an input. */
export function inputsOf(rows: readonly SqlRow[]): ReadonlyMap<string, string> {
  return new Map(
    rows.flatMap((row): readonly (readonly [string, string])[] => {
      const bytes = entryValueOf(textOf(row, "input") ?? "null").bytes;
      const { kind, text } = valueOfBytes(bytes ?? new Uint8Array());
      if (kind === "empty") return [];
      const line = kind === "json" ? JSON.stringify(JSON.parse(text)) : text.replace(/\s+/g, " ");
      return [[textOf(row, "id") ?? "", line.length > SHOWN_CHARS_MAX ? `${line.slice(0, SHOWN_CHARS_MAX)} …` : line]];
    }),
  );
}

/** Awakeables whose target, input or id contains the text. */
export function matching(
  all: readonly PendingAwakeable[],
  inputs: ReadonlyMap<string, string>,
  text: string,
): readonly PendingAwakeable[] {
  const part = text.trim().toLowerCase();
  if (part === "") return all;
  return all.filter(({ id, invocationId, target }) =>
    [id, invocationId, target, inputs.get(invocationId) ?? ""].some((each) => each.toLowerCase().includes(part)),
  );
}
