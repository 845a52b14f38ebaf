/**
 * Why: people may look and nothing else. The text of a statement is checked here before the engine sees it: one statement, of a
 * kind that reads. The engine checks again what it parsed; neither check trusts the other.
 */
import { QUERY_CHARS_MAX } from "../limits.js";
import { rewrite } from "./rewrite.js";
import { type Token, tokenize } from "./tokenizer.js";

export type CheckedStatement =
  | {
      readonly kind: "statement";
      /** Text for the engine. */
      readonly text: string;
      /** What must itself be a query that reads: the statement, or what an EXPLAIN explains. */
      readonly query: string;
    }
  | { readonly kind: "invalid"; readonly message: string };

const READING = new Set(["select", "with", "values", "from", "describe", "desc", "show", "explain"]);
const EXPLAINABLE = new Set(["select", "with", "values", "from"]);

export function checkStatement(sql: string): CheckedStatement {
  if (sql.length > QUERY_CHARS_MAX) return invalid(`the statement is longer than ${QUERY_CHARS_MAX} characters`);
  const tokens = tokenize(sql);
  while (tokens.at(-1)?.text === ";") tokens.pop();
  const first = tokens[0];
  if (first === undefined) return invalid("no SQL statements were provided in the query string");
  if (tokens.some((token) => token.text === ";")) return invalid("only a single SQL statement is supported");
  if (!opensOneOf(tokens, 0, READING)) return invalid(`only statements that read are supported, not ${first.text.toUpperCase()}`);
  const text = rewrite(sql, tokens);
  if (first.folded !== "explain") return { kind: "statement", text, query: text };
  return explained(text);
}

/** EXPLAIN ANALYZE runs what it explains, so that must be a query as well. */
function explained(text: string): CheckedStatement {
  const tokens = tokenize(text);
  let inner = 1;
  while (tokens[inner]?.folded === "analyze" || tokens[inner]?.folded === "verbose") inner++;
  const start = tokens[inner]?.start;
  if (start === undefined || !opensOneOf(tokens, inner, EXPLAINABLE)) return invalid("EXPLAIN is supported for queries only");
  const analyzes = tokens.slice(1, inner).some((token) => token.folded === "analyze");
  const query = text.slice(start);
  return { kind: "statement", text: `EXPLAIN ${analyzes ? "ANALYZE " : ""}${query}`, query };
}

function opensOneOf(tokens: readonly Token[], from: number, words: ReadonlySet<string>): boolean {
  let at = from;
  while (tokens[at]?.text === "(") at++;
  const opening = tokens[at];
  return opening !== undefined && opening.kind === "word" && words.has(opening.folded);
}

function invalid(message: string): CheckedStatement {
  return { kind: "invalid", message };
}
