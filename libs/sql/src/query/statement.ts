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
      /** What must itself be a query that reads: the statement, or what an EXPLAIN or DESCRIBE is about. */
      readonly query: string;
      /** Whether the engine can show the query as a tree. Otherwise the statement names a table and nothing else. */
      readonly hasTree: boolean;
    }
  | { readonly kind: "invalid"; readonly message: string };

const READING = new Set(["select", "with", "values", "from", "describe", "desc", "show", "explain"]);
const LOOKING = new Set(["describe", "desc", "show"]);
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
  if (first.folded === "explain") return explained(text);
  if (LOOKING.has(first.folded)) return looked(text);
  return { kind: "statement", text, query: text, hasTree: true };
}

/** DESCRIBE of a table or a query, SHOW TABLES. (SHOW COLUMNS has become a DESCRIBE.) */
function looked(text: string): CheckedStatement {
  const [verb, ...tokens] = tokenize(text);
  const [second] = tokens;
  if (verb?.folded === "show") {
    const isTables = second?.folded === "tables" && tokens.length === 1;
    return isTables
      ? { kind: "statement", text, query: text, hasTree: false }
      : invalid("SHOW is supported for TABLES and COLUMNS only");
  }
  if (second !== undefined && opensOneOf(tokens, 0, EXPLAINABLE)) {
    return { kind: "statement", text, query: text.slice(second.start), hasTree: true };
  }
  const isName = tokens.length > 0 && tokens.length <= NAME_TOKENS_MAX && tokens.every(isPartOfName);
  return isName
    ? { kind: "statement", text, query: text, hasTree: false }
    : invalid("DESCRIBE is supported for tables and queries only");
}

/** `catalog.schema.table`. */
const NAME_TOKENS_MAX = 5;

function isPartOfName(token: Token, at: number): boolean {
  return at % 2 === 1 ? token.text === "." : token.kind === "word" || token.kind === "name";
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
  return { kind: "statement", text: `EXPLAIN ${analyzes ? "ANALYZE " : ""}${query}`, query, hasTree: true };
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
