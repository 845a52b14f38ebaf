/**
 * Checks the text of a statement before the engine parses it: one statement, of a read-only kind. The engine checks again what it parsed;
 * each check assumes nothing about the other.
 */
import { DESCRIBED_SCHEMA } from "../duckdb/information-schema.js";
import { QUERY_CHARS_MAX } from "../limits.js";
import { TABLE_NAMES } from "../schema.js";
import { rewrite } from "./rewrite.js";
import { type Token, tokenize } from "./tokenizer.js";

export type CheckedStatement =
  | {
      readonly kind: "statement";
      /** Text for the engine. */
      readonly text: string;
      /** Text that must itself be a read-only query: the statement, or the subject of an EXPLAIN or DESCRIBE. */
      readonly query: string;
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
  if (LOOKING.has(first.folded)) return describeOrShow(text);
  return { kind: "statement", text, query: text };
}

/** DESCRIBE of a table or a query, SHOW TABLES, SHOW COLUMNS: all become queries on the views that describe the relations. */
function describeOrShow(text: string): CheckedStatement {
  const [verb, ...tokens] = tokenize(text);
  if (verb?.folded === "show") {
    const [what, from, ...name] = tokens;
    if (what?.folded === "tables" && from === undefined) return statementOf(`SELECT * FROM ${DESCRIBED_SCHEMA}.tables`);
    if (what?.folded === "columns" && (from?.folded === "from" || from?.folded === "in")) {
      return describedTable("table_catalog, table_schema, table_name, column_name, data_type, is_nullable", name);
    }
    return invalid("SHOW is supported for TABLES and COLUMNS only");
  }
  const [second] = tokens;
  if (second === undefined || !opensOneOf(tokens, 0, EXPLAINABLE)) {
    return describedTable("column_name, data_type, is_nullable", tokens);
  }
  const query = text.slice(second.start);
  const described = `SELECT column_name, arrow_name(column_type) AS data_type, "null" AS is_nullable FROM (DESCRIBE ${query})`;
  return { kind: "statement", text: described, query };
}

function describedTable(columns: string, name: readonly Token[]): CheckedStatement {
  const isName = name.length > 0 && name.length <= NAME_TOKENS_MAX && name.every(isPartOfName);
  if (!isName) return invalid("DESCRIBE is supported for tables and queries only");
  const table = TABLE_NAMES.find((candidate) => candidate === name.at(-1)?.folded);
  if (table === undefined) return invalid(`table '${name.map(({ text }) => text).join("")}' not found`);
  return statementOf(
    `SELECT ${columns} FROM ${DESCRIBED_SCHEMA}.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
  );
}

function statementOf(query: string): CheckedStatement {
  return { kind: "statement", text: query, query };
}

/** `catalog.schema.table`. */
const NAME_TOKENS_MAX = 5;

function isPartOfName(token: Token, at: number): boolean {
  return at % 2 === 1 ? token.text === "." : token.kind === "word" || token.kind === "name";
}

/** EXPLAIN ANALYZE runs its statement, so that must be a query as well. */
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

function opensOneOf(tokens: readonly Token[], from: number, keywords: ReadonlySet<string>): boolean {
  let at = from;
  while (tokens[at]?.text === "(") at++;
  const opening = tokens[at];
  return opening !== undefined && opening.kind === "word" && keywords.has(opening.folded);
}

function invalid(message: string): CheckedStatement {
  return { kind: "invalid", message };
}
