/** Values as SQL literals: user input becomes part of statements, and no input may end the literal that contains it. */

/** A text as a SQL literal. Quotes are doubled, the only escape this dialect has. Throws on NUL, which no name contains. */
export function sqlText(text: string): string {
  if (text.includes("\0")) throw new TypeError("a text with NUL cannot be queried");
  return `'${text.replaceAll("'", "''")}'`;
}

/** `a = 'x'`, or `a IN ('x', 'y')`; at least one value. */
export function sqlOneOf(column: string, values: readonly string[]): string {
  const [first, ...others] = values;
  if (first === undefined) throw new TypeError(`nothing to compare ${column} with`);
  return others.length === 0 ? `${column} = ${sqlText(first)}` : `${column} IN (${values.map(sqlText).join(", ")})`;
}

/** A moment as a literal to compare timestamps with; `ms` since 1970. */
export function sqlMoment(ms: number): string {
  return `TIMESTAMP ${sqlText(new Date(ms).toISOString().replace("T", " ").replace("Z", ""))}`;
}

const SPANS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
  ["millisecond", 1],
] as const;

/** `INTERVAL '2 hours'` of whole milliseconds, in the largest unit that expresses it exactly. */
export function sqlSpan(ms: number): string {
  const [name, unit] = SPANS.find(([, length]) => ms >= length && ms % length === 0) ?? SPANS[4];
  const count = ms / unit;
  return `INTERVAL ${sqlText(`${count} ${name}${count === 1 ? "" : "s"}`)}`;
}

/** Condition that a column contains a text, case-insensitive. */
export function sqlContains(column: string, text: string): string {
  return `contains(lower(${column}), lower(${sqlText(text)}))`;
}
