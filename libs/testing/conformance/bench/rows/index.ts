/** All rows, in the order of a run. */
import type { Row } from "../harness/row.js";
import { rows as asleep } from "./asleep.js";
import { rows as fanOut } from "./fan-out.js";
import { rows as hotKey } from "./hot-key.js";
import { rows as journal } from "./journal.js";
import { rows as largeValues } from "./large-values.js";
import { rows as memory } from "./memory.js";
import { rows as mixed } from "./mixed.js";
import { rows as queries } from "./queries.js";
import { rows as start } from "./start.js";
import { rows as throughput } from "./throughput.js";
import { rows as waiting } from "./waiting.js";

export const ROWS: readonly Row[] = [
  ...start,
  ...throughput,
  ...memory,
  ...mixed,
  ...waiting,
  ...largeValues,
  ...journal,
  ...fanOut,
  ...hotKey,
  ...queries,
  ...asleep,
];

/** Rows whose name matches one of the patterns, in which `*` is any text; all of them without a pattern. Throws when a pattern matches none. */
export function selectRows(patterns: readonly string[], rows: readonly Row[] = ROWS): readonly Row[] {
  if (patterns.length === 0) return rows;
  const matches = (pattern: string, { name }: Row): boolean => {
    const literal = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`^${literal.replaceAll("*", ".*")}$`).test(name);
  };
  for (const pattern of patterns)
    if (!rows.some((row) => matches(pattern, row)))
      throw new Error(`no row is named ${pattern}; there are ${rows.map(({ name }) => name).join(", ")}`);
  return rows.filter((row) => patterns.some((pattern) => matches(pattern, row)));
}
