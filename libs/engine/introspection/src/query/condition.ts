/**
 * Checks a condition of a batch operation. Batch operations apply to what a condition of the user selects, so `WHERE (<condition>)` must
 * be exactly that: one condition on the selected rows. The text is checked before it is put between the parentheses: it consists of a few
 * unambiguous kinds of tokens, its own parentheses match, and it reads only `sys_*` tables besides.
 */
import { present } from "@perdure/base";
import { type Token, tokenize } from "./tokenizer.js";

type CheckedCondition = { readonly kind: "condition" } | { readonly kind: "invalid"; readonly message: string };

/** Longest condition: a list of 300 ids fits, and no user writes a longer one by hand. */
export const CONDITION_CHARS_MAX = 16 * 1024;

/** Words that begin or join something other than a condition. None of them is a column, and in quotes they have no special meaning. */
const FOREIGN = new Set([
  ...["with", "values", "union", "intersect", "except", "join", "lateral", "pivot", "unpivot", "table", "window", "qualify"],
  ...["insert", "update", "delete", "merge", "create", "alter", "drop", "attach", "detach", "copy", "export", "import", "load"],
  ...["install", "pragma", "call", "execute", "prepare", "explain", "describe", "summarize", "show", "set", "reset", "using"],
]);
/** Words that may follow the table of a subquery. */
const AFTER_TABLE = new Set(["where", "group", "having", "order", "limit", "offset"]);
/** Different engines treat other kinds of white space differently. */
const BLANK = /^[ \t\r\n]*$/;
const TABLE = /^sys_[a-z_]+$/;

/** Whether `text` is one condition. The engine still decides whether its columns and functions exist. */
export function checkCondition(text: string): CheckedCondition {
  if (text.length > CONDITION_CHARS_MAX) return invalid(`the filter is longer than ${CONDITION_CHARS_MAX} characters`);
  const tokens = tokenize(text);
  if (tokens.length === 0) return invalid("the filter is empty");
  return firstProblem(text, tokens) ?? shapeProblem(tokens) ?? { kind: "condition" };
}

/**
 * Returns the first problem of a condition. Only white space may be between tokens, so that no comment hides anything, and the tokenizer
 * and the engine see the same text.
 */
function firstProblem(text: string, tokens: readonly Token[]): CheckedCondition | undefined {
  let at = 0;
  for (const token of tokens) {
    if (!BLANK.test(text.slice(at, token.start))) return invalid("comments are not allowed in a filter");
    const problem = tokenProblem(token);
    if (problem !== undefined) return invalid(problem);
    at = token.end;
  }
  return BLANK.test(text.slice(at)) ? undefined : invalid("comments are not allowed in a filter");
}

function tokenProblem({ kind, text, folded }: Token): string | undefined {
  switch (kind) {
    case "text":
      if (!text.startsWith("'")) return "only plain texts in single quotes are allowed in a filter";
      return isClosed(text, "'") ? undefined : "a text in the filter is not closed";
    case "name":
      return isClosed(text, '"') ? undefined : "a name in the filter is not closed";
    case "word":
      if (FOREIGN.has(folded)) return `a filter is one condition, and '${text}' does not belong in it`;
      return undefined;
    case "symbol":
      if (text === ";") return "a filter is one condition, not several statements";
      return /^[!-~]$/.test(text) && !"$?{}\\`@#".includes(text) ? undefined : `'${text}' is not allowed in a filter`;
    default:
      return undefined;
  }
}

/** The quote at the end is not escaped: quotes inside come only in pairs. */
function isClosed(text: string, quote: string): boolean {
  return (
    text.length >= 2 &&
    text.endsWith(quote) &&
    !text
      .slice(1, -1)
      .replaceAll(quote + quote, "")
      .includes(quote)
  );
}

interface ConditionGroup {
  /** The parenthesis opens a subquery. */
  readonly selects: boolean;
  /** The FROM belongs to a function: `extract(hour FROM t)`. */
  readonly isCall: boolean;
  froms: number;
}

/** Whether parentheses match, and each `FROM` names one `sys_*` table. */
function shapeProblem(tokens: readonly Token[]): CheckedCondition | undefined {
  const groups: ConditionGroup[] = [{ selects: false, isCall: false, froms: 0 }];
  for (let i = 0; i < tokens.length; i++) {
    const token = present(tokens[i]);
    const group = present(groups.at(-1));
    if (token.text === "(" && token.kind === "symbol") {
      const before = tokens[i - 1];
      groups.push({ selects: tokens[i + 1]?.folded === "select", isCall: isCallOf(before), froms: 0 });
    } else if (token.text === ")" && token.kind === "symbol") {
      if (groups.length === 1) return invalid("the filter closes a parenthesis that it did not open");
      if (group.selects && group.froms === 0) return invalid("a subquery of a filter reads one of the sys_ tables");
      groups.pop();
    } else if (token.folded === "select" && token.kind === "word" && !(group.selects && tokens[i - 1]?.text === "(")) {
      return invalid("a filter is one condition, and 'SELECT' may only begin a subquery in parentheses");
    } else if (token.folded === "from" && token.kind === "word") {
      const problem = fromProblem(tokens, i, group);
      if (problem !== undefined) return problem;
    }
  }
  return groups.length === 1 ? undefined : invalid("the filter opens a parenthesis that it does not close");
}

/** A name right before the parenthesis makes it a call; a keyword such as `IN` or `EXISTS` does not. */
function isCallOf(before: Token | undefined): boolean {
  return before?.kind === "word" && ["extract", "substring", "trim", "overlay", "position"].includes(before.folded);
}

function fromProblem(tokens: readonly Token[], at: number, group: ConditionGroup): CheckedCondition | undefined {
  if (tokens[at - 1]?.folded === "distinct" && tokens[at - 1]?.kind === "word" && !startsSelectList(tokens, at - 1)) {
    return undefined; // IS DISTINCT FROM
  }
  if (!group.selects) return group.isCall ? undefined : invalid("a filter is one condition, and 'FROM' does not belong in it");
  group.froms++;
  const table = tokens[at + 1];
  if (group.froms > 1 || table?.kind !== "word" || !TABLE.test(table.folded)) {
    return invalid("a subquery of a filter reads one of the sys_ tables, without joins");
  }
  let next = at + 2;
  if (tokens[next]?.folded === "as") next++;
  const alias = tokens[next];
  if (alias?.kind === "word" && !AFTER_TABLE.has(alias.folded)) next++;
  const end = tokens[next];
  const ends = end === undefined || end.text === ")" || (end.kind === "word" && AFTER_TABLE.has(end.folded));
  return ends ? undefined : invalid("a subquery of a filter reads one of the sys_ tables, without joins");
}

/** `SELECT DISTINCT FROM t` is not a comparison. */
function startsSelectList(tokens: readonly Token[], at: number): boolean {
  return tokens[at - 1]?.folded === "select";
}

function invalid(message: string): CheckedCondition {
  return { kind: "invalid", message };
}
