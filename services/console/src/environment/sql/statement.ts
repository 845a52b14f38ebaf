/**
 * Bounds a result by wrapping the statement in another that has the bound. Quotes and comments are skipped, so that nothing in them is
 * parsed as the statement's end. Pure.
 */

interface ParsedStatement {
  /** Statement without comments and semicolons at its end. */
  readonly text: string;
  /** The keyword that begins the statement, in upper case; empty when the text has only spaces and comments. */
  readonly keyword: string;
}

/** Quoted strings, quoted names, and both kinds of comments; without an end they reach to the end of the text. */
const PIECES = /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\s+|;|[^\s'"\-/;]+|[-/]/g;

export function statementOf(written: string): ParsedStatement {
  let start = -1;
  let end = 0;
  for (const { 0: piece, index } of written.matchAll(PIECES)) {
    if (piece.startsWith("--") || piece.startsWith("/*") || piece.trim() === "" || piece === ";") continue;
    if (start < 0) start = index;
    end = index + piece.length;
  }
  const text = start < 0 ? "" : written.slice(start, end);
  return { text, keyword: /^[a-z]+/i.exec(text)?.[0].toUpperCase() ?? "" };
}

/** Statements whose rows can be rows of another; the others have few. */
const NESTABLE: ReadonlySet<string> = new Set(["SELECT", "WITH", "FROM", "VALUES", "TABLE"]);

/** Returns a statement with at most `rows` rows of it. */
export function boundedStatement({ text, keyword }: ParsedStatement, rows: number): string {
  return NESTABLE.has(keyword) ? `SELECT * FROM (\n${text}\n) LIMIT ${rows}` : text;
}

/** Returns the statement that lists the columns and their types; undefined for statements that are not described. */
export function describingStatement({ text, keyword }: ParsedStatement): string | undefined {
  return NESTABLE.has(keyword) ? `DESCRIBE SELECT * FROM (\n${text}\n)` : undefined;
}

/** Returns the statement that reads the plan of a query; it runs the query when the plan is measured. Undefined for other statements. */
export function explaining({ text, keyword }: ParsedStatement, isMeasured: boolean): string | undefined {
  return NESTABLE.has(keyword) ? `EXPLAIN ${isMeasured ? "ANALYZE " : ""}${text}` : undefined;
}
