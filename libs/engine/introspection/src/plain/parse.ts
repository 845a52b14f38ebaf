/**
 * Recognizes plain queries: columns of one table, rows by the values of columns, in the order of columns, or their number. Most statements of the CLI and
 * the console that look something up are plain, and need no engine. Any other text is left to the engine, wrong ones included, so this
 * parser may be small: it accepts a text only when it means the same to both.
 */
import { LIMIT_DIGITS_MAX } from "../limits.js";
import type { ColumnFilter } from "../query/hints.js";
import { type Token, tokenize } from "../query/tokenizer.js";
import type { ColumnHeader, SqlTable } from "../table.js";

export interface PlainQuery {
  readonly table: SqlTable;
  /** Columns of the result, by their index in the table. */
  readonly columns: readonly { readonly index: number; readonly name: string }[];
  /** Filters by column name; a row passes all of them. */
  readonly filters: ReadonlyMap<string, ColumnFilter>;
  /** Name of the result's one column when the rows are counted; then there are no columns, order or limit. */
  readonly countName: string | undefined;
  readonly order: readonly OrderKey[];
  readonly limit: number | undefined;
}

export interface OrderKey {
  /** In the table's columns. */
  readonly index: number;
  readonly isDescending: boolean;
}

/** Undefined when the text is not a plain query. */
export function plainQueryOf(text: string, tables: readonly SqlTable[]): PlainQuery | undefined {
  try {
    return new PlainParser(tokenize(text), tables).query();
  } catch (cause) {
    if (cause instanceof NotPlain) return undefined;
    throw cause;
  }
}

class NotPlain extends Error {}

/** A column as a query names it. */
interface ColumnName {
  readonly qualifier: string | undefined;
  readonly name: string;
}

const CLAUSES: ReadonlySet<string> = new Set(["where", "order", "limit"]);
const COMPARABLE: ReadonlySet<string> = new Set(["text", "u32", "u64"]);
const ORDERED: ReadonlySet<string> = new Set(["text", "u32", "u64", "bool", "timestamp", "duration"]);
/** Integers that a double holds exactly. */
const PLAIN_INTEGER = /^(?:0|[1-9]\d{0,14})$/;

class PlainParser {
  readonly #tokens: readonly Token[];
  readonly #tables: readonly SqlTable[];
  #at = 0;
  #table: SqlTable | undefined;
  /** The one name that may qualify columns. */
  #alias = "";

  constructor(tokens: readonly Token[], tables: readonly SqlTable[]) {
    this.#tokens = tokens;
    this.#tables = tables;
  }

  query(): PlainQuery {
    this.#expect("select");
    const countName = this.#count();
    const items = countName === undefined ? this.#items() : [];
    this.#expect("from");
    const table = this.#from();
    const columns = items === "all" ? table.columns.map(({ name }, index) => ({ index, name })) : this.#columns(items);
    const filters = new Map<string, ColumnFilter>();
    if (this.#accept("where")) {
      do this.#predicate(filters);
      while (this.#accept("and"));
    }
    const order = countName === undefined ? this.#order() : [];
    const limit = countName === undefined && this.#accept("limit") ? this.#limit() : undefined;
    if (this.#at < this.#tokens.length) throw new NotPlain();
    return { table, columns, filters, countName, order, limit };
  }

  /** `COUNT(*)` or `COUNT(1)`, by its alias or the name that `query/names.ts` gives it. */
  #count(): string | undefined {
    if (this.#tokens[this.#at + 1]?.text !== "(" || !this.#accept("count")) return undefined;
    this.#next();
    const counted = this.#next().text;
    if ((counted !== "*" && counted !== "1") || !this.#acceptSymbol(")")) throw new NotPlain();
    if (this.#accept("as")) return this.#word();
    return counted === "*" ? "count(*)" : "count(Int64(1))";
  }

  #order(): readonly OrderKey[] {
    const order: OrderKey[] = [];
    if (!this.#accept("order")) return order;
    this.#expect("by");
    do order.push(this.#orderKey());
    while (this.#acceptSymbol(","));
    return order;
  }

  #items(): "all" | (ColumnName & { readonly alias: string | undefined })[] {
    if (this.#acceptSymbol("*")) return "all";
    const items: (ColumnName & { readonly alias: string | undefined })[] = [];
    do items.push({ ...this.#columnName(), alias: this.#accept("as") ? this.#word() : undefined });
    while (this.#acceptSymbol(","));
    return items;
  }

  #from(): SqlTable {
    const name = this.#word();
    this.#table = this.#tables.find((table) => table.name === name);
    if (this.#table === undefined) throw new NotPlain();
    const next = this.#tokens[this.#at];
    this.#alias = next?.kind === "word" && !CLAUSES.has(next.folded) ? this.#word() : name;
    return this.#table;
  }

  #columns(items: readonly (ColumnName & { readonly alias: string | undefined })[]): PlainQuery["columns"] {
    const { columns } = this.#scope();
    return items.map(({ alias, ...column }) => {
      const index = this.#indexOf(column);
      // Such an alias would hide the column from ORDER BY.
      const hides = alias !== undefined && alias !== column.name && columns.some(({ name }) => name === alias.toLowerCase());
      if (hides) throw new NotPlain();
      return { index, name: alias ?? column.name };
    });
  }

  /** Adds `column = value`, `column <> value` or `column IN (values)`. */
  #predicate(filters: Map<string, ColumnFilter>): void {
    const column = this.#column();
    if (!COMPARABLE.has(column.type)) throw new NotPlain();
    const before = filters.get(column.name) ?? { allowed: undefined, denied: new Set<string>() };
    if (this.#acceptSymbols("!=") || this.#acceptSymbols("<>")) {
      filters.set(column.name, { ...before, denied: new Set([...before.denied, this.#constant(column)]) });
      return;
    }
    const values = this.#accept("in") ? this.#list(column) : this.#equal(column);
    const { allowed } = before;
    filters.set(column.name, {
      ...before,
      allowed: new Set(allowed === undefined ? values : values.filter((v) => allowed.has(v))),
    });
  }

  #equal(column: ColumnHeader): readonly string[] {
    if (!this.#acceptSymbols("==") && !this.#acceptSymbol("=")) throw new NotPlain();
    return [this.#constant(column)];
  }

  #list(column: ColumnHeader): readonly string[] {
    if (!this.#acceptSymbol("(")) throw new NotPlain();
    const values: string[] = [];
    do values.push(this.#constant(column));
    while (this.#acceptSymbol(","));
    if (!this.#acceptSymbol(")")) throw new NotPlain();
    return values;
  }

  /** A value of the column's own type, as filters have it. */
  #constant({ type }: ColumnHeader): string {
    const token = this.#next();
    if (
      type === "text" &&
      token.kind === "text" &&
      token.text.length >= 2 &&
      token.text.startsWith("'") &&
      token.text.endsWith("'")
    )
      return token.text.slice(1, -1).replaceAll("''", "'");
    if (type !== "text" && token.kind === "number" && PLAIN_INTEGER.test(token.text)) return token.text;
    throw new NotPlain();
  }

  #orderKey(): OrderKey {
    const name = this.#columnName();
    const index = this.#indexOf(name);
    if (!ORDERED.has(this.#scope().columns[index]?.type ?? "")) throw new NotPlain();
    const isDescending = this.#accept("desc");
    if (!isDescending) this.#accept("asc");
    return { index, isDescending };
  }

  #limit(): number {
    const { kind, text } = this.#next();
    if (kind !== "number" || !PLAIN_INTEGER.test(text) || text.length > LIMIT_DIGITS_MAX) throw new NotPlain();
    return Number(text);
  }

  #column(): ColumnHeader {
    const column = this.#scope().columns[this.#indexOf(this.#columnName())];
    if (column === undefined) throw new NotPlain();
    return column;
  }

  #columnName(): ColumnName {
    const name = this.#word();
    return this.#acceptSymbol(".") ? { qualifier: name, name: this.#word() } : { qualifier: undefined, name };
  }

  /** Names in another case are left to the engine, which shows them in the result. */
  #indexOf({ qualifier, name }: ColumnName): number {
    const index = this.#scope().columns.findIndex((column) => column.name === name);
    if (index < 0 || (qualifier !== undefined && qualifier !== this.#alias)) throw new NotPlain();
    return index;
  }

  #scope(): SqlTable {
    if (this.#table === undefined) throw new NotPlain();
    return this.#table;
  }

  #next(): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new NotPlain();
    return token;
  }

  #word(): string {
    const { kind, text } = this.#next();
    if (kind !== "word") throw new NotPlain();
    return text;
  }

  #accept(keyword: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "word" || token.folded !== keyword) return false;
    this.#at++;
    return true;
  }

  #expect(keyword: string): void {
    if (!this.#accept(keyword)) throw new NotPlain();
  }

  #acceptSymbol(symbol: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "symbol" || token.text !== symbol) return false;
    this.#at++;
    return true;
  }

  /** An operator of two characters without space between them. */
  #acceptSymbols(operator: string): boolean {
    const [first, second] = [this.#tokens[this.#at], this.#tokens[this.#at + 1]];
    const isOperator = first?.kind === "symbol" && second?.kind === "symbol" && first.text + second.text === operator;
    if (!isOperator || first.end !== second.start) return false;
    this.#at += operator.length;
    return true;
  }
}
