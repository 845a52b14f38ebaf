/**
 * Rewrites spellings of the official CLI and the console, which target another SQL engine. Some have no equivalent that a macro could
 * give (introspection-sql.md §5.2), so they are changed in the text, by tokens.
 */
import { present } from "@perdure/base";
import { DESCRIBED_SCHEMA, DESCRIBED_VIEWS } from "../duckdb/information-schema.js";
import type { Token } from "./tokenizer.js";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const UNSIGNED: Readonly<Record<string, string>> = {
  tinyint: "UTINYINT",
  smallint: "USMALLINT",
  int: "UINTEGER",
  integer: "UINTEGER",
  bigint: "UBIGINT",
};
/** Words that may follow a derived table and are therefore not its alias. */
const AFTER_DERIVED_TABLE = new Set(
  [
    "where group having order limit offset union except intersect on using join inner left right full cross natural window qualify",
  ].flatMap((keywords) => keywords.split(" ")),
);

/** `tokens` are those of `sql`, without the final semicolons. */
export function rewrite(sql: string, tokens: readonly Token[]): string {
  const edits: Edit[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const edit =
      firstOrLast(tokens, i) ??
      unsigned(tokens, i) ??
      derivedTableAlias(tokens, i) ??
      described(tokens, i) ??
      bytesLiteral(tokens, i);
    if (edit !== undefined) edits.push(edit);
  }
  return apply(sql.slice(0, tokens.at(-1)?.end ?? 0), edits);
}

/** `first_value(x ORDER BY y)` as a plain aggregate is `first`; with OVER it is the window function of the same name. */
function firstOrLast(tokens: readonly Token[], at: number): Edit | undefined {
  const token = present(tokens[at]);
  if (token.folded !== "first_value" && token.folded !== "last_value") return undefined;
  if (tokens[at + 1]?.text !== "(") return undefined;
  let after = closing(tokens, at + 1) + 1;
  if (hasKeywords(tokens, after, "filter") && tokens[after + 1]?.text === "(") after = closing(tokens, after + 1) + 1;
  if (hasKeywords(tokens, after, "over") || hasKeywords(tokens, after, "ignore") || hasKeywords(tokens, after, "respect"))
    return undefined;
  return { start: token.start, end: token.end, text: token.folded === "first_value" ? "first" : "last" };
}

function unsigned(tokens: readonly Token[], at: number): Edit | undefined {
  const type = present(tokens[at]);
  const modifier = tokens[at + 1];
  const name = type.kind === "word" ? UNSIGNED[type.folded] : undefined;
  if (name === undefined || modifier?.folded !== "unsigned") return undefined;
  return { start: type.start, end: modifier.end, text: name };
}

/** `(SELECT * FROM t a LIMIT n)` without an alias keeps `a` visible outside. */
function derivedTableAlias(tokens: readonly Token[], at: number): Edit | undefined {
  if (tokens[at]?.text !== "(" || !hasKeywords(tokens, at + 1, "select") || tokens[at + 2]?.text !== "*") return undefined;
  if (!hasKeywords(tokens, at + 3, "from") || !hasKeywords(tokens, at + 6, "limit")) return undefined;
  const alias = tokens[at + 5];
  const close = tokens[at + 8];
  const named = tokens[at + 4]?.kind === "word" && alias?.kind === "word";
  if (!named || tokens[at + 7]?.kind !== "number" || close?.text !== ")") return undefined;
  const after = tokens[at + 9];
  const hasAlias = after?.kind === "name" || (after?.kind === "word" && !AFTER_DERIVED_TABLE.has(after.folded));
  return hasAlias ? undefined : { start: close.end, end: close.end, text: ` ${alias.text}` };
}

/** `information_schema.columns` and the like are views of this package. */
function described(tokens: readonly Token[], at: number): Edit | undefined {
  const schema = present(tokens[at]);
  const view = tokens[at + 2];
  if (schema.folded !== "information_schema" || (schema.kind !== "word" && schema.kind !== "name")) return undefined;
  if (tokens[at + 1]?.text !== "." || !DESCRIBED_VIEWS.some((name) => name === view?.folded)) return undefined;
  return { start: schema.start, end: schema.end, text: DESCRIBED_SCHEMA };
}

/** `x'00ff'` is a bytes literal; the engine reads a text of it. */
function bytesLiteral(tokens: readonly Token[], at: number): Edit | undefined {
  const prefix = present(tokens[at]);
  const digits = tokens[at + 1];
  if (prefix.kind !== "word" || prefix.folded !== "x" || digits?.kind !== "text" || digits.start !== prefix.end) return undefined;
  return { start: prefix.start, end: digits.end, text: `unhex(${digits.text})` };
}

/** Index of the bracket that closes the one at `open`, or of the last token. */
function closing(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let i = open; i < tokens.length; i++) {
    if (tokens[i]?.text === "(") depth++;
    else if (tokens[i]?.text === ")" && --depth === 0) return i;
  }
  return tokens.length;
}

function hasKeywords(tokens: readonly Token[], at: number, ...expected: readonly string[]): boolean {
  return expected.every((keyword, i) => tokens[at + i]?.kind === "word" && tokens[at + i]?.folded === keyword);
}

function apply(sql: string, edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits) {
    out += sql.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + sql.slice(at);
}
