/**
 * Tokenizes statements, which are checked and rewritten as text before the engine parses them, without touching quotes or comments. It
 * implements just enough of SQL's lexical rules (PostgreSQL flavour) to distinguish them.
 */

/** `word`: keyword or plain name · `name`: quoted identifier · `text`: string literal · `symbol`: one character of anything else. */
export interface Token {
  readonly kind: "word" | "name" | "text" | "number" | "symbol";
  /** Characters of the token as the statement has them. */
  readonly text: string;
  /** Lower case of a word; other tokens as written. */
  readonly folded: string;
  readonly start: number;
  readonly end: number;
}

const IDENTIFIER = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SPACE = /\s+/y;
const DOLLAR_TAG = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;

/** Tokens in order, without white space and comments. An unterminated quote or comment reaches to the end. */
export function tokenize(sql: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < sql.length) {
    const skipped = skipBlank(sql, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const { kind, end } = next(sql, at);
    const text = sql.slice(at, end);
    tokens.push({ kind, text, folded: kind === "word" ? text.toLowerCase() : text, start: at, end });
    at = end;
  }
  return tokens;
}

function next(sql: string, at: number): { kind: Token["kind"]; end: number } {
  const char = sql[at];
  if (char === "'") return { kind: "text", end: quoteEnd(sql, at, "'", false) };
  if (char === '"') return { kind: "name", end: quoteEnd(sql, at, '"', false) };
  if ((char === "e" || char === "E") && sql[at + 1] === "'") return { kind: "text", end: quoteEnd(sql, at + 1, "'", true) };
  if (char === "$") {
    const tag = match(DOLLAR_TAG, sql, at);
    if (tag > at) {
      const close = sql.indexOf(sql.slice(at, tag), tag);
      return { kind: "text", end: close < 0 ? sql.length : close + (tag - at) };
    }
  }
  const identifierEnd = match(IDENTIFIER, sql, at);
  if (identifierEnd > at) return { kind: "word", end: identifierEnd };
  const number = match(NUMBER, sql, at);
  if (number > at) return { kind: "number", end: number };
  return { kind: "symbol", end: at + 1 };
}

/** The end of white space and comments that begin at `at`. */
function skipBlank(sql: string, at: number): number {
  const space = match(SPACE, sql, at);
  if (space > at) return space;
  if (sql.startsWith("--", at)) {
    const line = sql.indexOf("\n", at);
    return line < 0 ? sql.length : line + 1;
  }
  return sql.startsWith("/*", at) ? commentEnd(sql, at) : at;
}

/** Block comments nest. */
function commentEnd(sql: string, at: number): number {
  let depth = 0;
  for (let i = at; i < sql.length; i++) {
    if (sql.startsWith("/*", i)) {
      depth++;
      i++;
    } else if (sql.startsWith("*/", i)) {
      depth--;
      i++;
      if (depth === 0) return i + 1;
    }
  }
  return sql.length;
}

function quoteEnd(sql: string, open: number, quote: string, hasEscapes: boolean): number {
  for (let i = open + 1; i < sql.length; i++) {
    if (hasEscapes && sql[i] === "\\") i++;
    else if (sql[i] === quote) {
      if (sql[i + 1] !== quote) return i + 1;
      i++;
    }
  }
  return sql.length;
}

function match(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : at;
}
