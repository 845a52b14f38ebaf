/**
 * Finds keys in other tables that narrow a table. `sys_journal WHERE id IN (SELECT id FROM sys_invocation WHERE …)` needs the journals of
 * a few invocations, whose ids are in another table. For each table this finds the columns whose values must be among those of another
 * table or a subquery, with a query for these values; the query runs first, and if the values are few, they filter the table like any
 * other filter.
 *
 * This is correct for the same reasons as `pushdown.ts`: a row whose value is not among the keys matches no row of the other table, so
 * the statement drops it, or the row that an outer join shows in its place. A query for keys may omit conjuncts, as it then finds more
 * keys than necessary.
 */

import type { ColumnHeader, ColumnType } from "../table.js";
import {
  type ColumnReference,
  columnOf,
  conjunctsOf,
  isAbsent,
  isRowByRow,
  joinsOf,
  notPreserved,
  partsOf,
  type Reference,
  referencesOf,
  type StatementParts,
  type TableColumns,
  tableNameOf,
  tablesByName,
  typeOf,
} from "./from.js";
import { child, children, isNode, nodes, type SyntaxNode, text } from "./syntax-tree.js";

/** States that only rows matter whose column has one of the values that a query returns. */
export interface KeySource {
  readonly column: string;
  readonly type: ColumnType;
  /** A SELECT of one column. It may be unable to run alone; the engine reports that. */
  readonly query: SyntaxNode;
  /** Tables that the query reads. */
  readonly tables: ReadonlySet<string>;
  /** The statement runs the query itself, so it runs whatever its tables cost. */
  readonly isPart: boolean;
}

/** Key sources by table. */
export function keySourcesOf(
  tree: unknown,
  tables: readonly { name: string; columns: readonly ColumnHeader[] }[],
): ReadonlyMap<string, readonly KeySource[]> {
  const tableColumns = tablesByName(tables);
  const parts = partsOf(tree);
  const finder = new Finder(tableColumns, parts ?? { uses: new Map(), selects: [] });
  if (parts === undefined || hidesTables(tree, tableColumns)) return finder.sources;
  for (const select of parts.selects) finder.addSelect(select);
  return finder.sources;
}

/** Whether a WITH defines the name of a table differently. */
function hidesTables(tree: unknown, tableColumns: TableColumns): boolean {
  for (const node of nodes(tree)) {
    const entries = children(child(node, "cte_map") ?? {}, "map");
    if (entries.some((entry) => tableColumns.has((text(entry, "key") ?? "").toLowerCase()))) return true;
  }
  return false;
}

class Finder {
  readonly sources = new Map<string, KeySource[]>();
  readonly #tables: TableColumns;
  readonly #uses: StatementParts["uses"];

  constructor(tableColumns: TableColumns, { uses }: StatementParts) {
    this.#tables = tableColumns;
    this.#uses = uses;
  }

  addSelect(select: SyntaxNode): void {
    const from = referencesOf(child(select, "from_table"), this.#tables);
    if (from === undefined) return;
    const scope: SelectScope = { select, from, conjuncts: conjunctsOf(child(select, "where_clause")) };
    for (const conjunct of scope.conjuncts) {
      const pair = equatedColumns(conjunct, from);
      if (pair !== undefined) this.#addPair(pair, scope, scope);
      if (text(conjunct, "type") === "SUBQUERY") this.#addSubquery(conjunct, scope);
    }
    for (const join of joinsOf(child(select, "from_table"))) {
      const aliases = notPreserved(join);
      for (const conjunct of join.conjuncts) {
        const [one, other] = equatedColumns(conjunct, from) ?? [];
        if (one === undefined || other === undefined) continue;
        const isInner = aliases.has(one.owner.alias) && aliases.has(other.owner.alias);
        if (aliases.has(one.owner.alias)) this.#add(one, other, scope, isInner);
        if (aliases.has(other.owner.alias)) this.#add(other, one, scope, isInner);
      }
    }
  }

  /** Two columns that must be equal; each is narrowed by the table of the other. */
  #addPair([one, other]: readonly [ColumnReference, ColumnReference], ofOne: SelectScope, ofOther: SelectScope): void {
    this.#add(one, other, ofOther, true);
    this.#add(other, one, ofOne, true);
  }

  /** Records that only rows of `narrowed` with values of `by` matter. `isInner`: a row of `by` without a match is not shown either. */
  #add(narrowed: ColumnReference, by: ColumnReference, scope: SelectScope, isInner: boolean): void {
    const query = selectOf(by, scope, isInner);
    if (query !== undefined) this.#put(narrowed, query, new Set([by.owner.table]), false);
  }

  #put({ owner, column }: ColumnReference, query: SyntaxNode, tables: ReadonlySet<string>, isPart: boolean): void {
    const type = typeOf({ owner, column });
    if (this.#uses.get(owner.table) !== 1 || tables.has(owner.table)) return;
    if (type !== "text" && type !== "u64" && type !== "u32") return;
    const sources = this.sources.get(owner.table) ?? [];
    sources.push({ column, type, query, tables, isPart });
    this.sources.set(owner.table, sources);
  }

  #addSubquery(conjunct: SyntaxNode, outer: SelectScope): void {
    const query = child(child(conjunct, "subquery") ?? {}, "node");
    if (query === undefined) return;
    if (text(conjunct, "subquery_type") === "EXISTS") return this.#addExists(query, outer);
    const isIn = text(conjunct, "subquery_type") === "ANY" && text(conjunct, "comparison_type") === "COMPARE_EQUAL";
    const column = isIn ? columnOf(child(conjunct, "child") ?? {}, outer.from) : undefined;
    if (column === undefined) return;
    if (this.#answersAlways(query)) this.#put(column, query, tablesOf(query), true);
    const inner = this.#rowsOf(query);
    const [item, ...others] = inner === undefined ? [] : children(query, "select_list");
    const selected = item === undefined || inner === undefined ? undefined : columnOf(item, inner.from);
    if (selected !== undefined && others.length === 0 && typeOf(selected) === typeOf(column))
      this.#add(selected, column, outer, true);
  }

  /** `EXISTS (SELECT … FROM inner WHERE inner.a = outer.b)`. */
  #addExists(query: SyntaxNode, outer: SelectScope): void {
    const inner = this.#rowsOf(query, "any items");
    if (inner === undefined) return;
    for (const conjunct of inner.conjuncts) {
      if (text(conjunct, "type") !== "COMPARE_EQUAL") continue;
      const operands = [child(conjunct, "left") ?? {}, child(conjunct, "right") ?? {}];
      const own = operands.map((operand) => columnOf(operand, inner.from));
      const others = operands.map((operand) => (this.#mayBeOf(operand, inner.from) ? undefined : columnOf(operand, outer.from)));
      for (const [one, two] of [[own[0], others[1]] as const, [own[1], others[0]] as const]) {
        if (one !== undefined && two !== undefined && typeOf(one) === typeOf(two)) this.#addPair([one, two], inner, outer);
      }
    }
  }

  /** A SELECT that shows each row of its tables that WHERE leaves; undefined when it does more. */
  #rowsOf(query: SyntaxNode, items: "plain" | "any items" = "plain"): SelectScope | undefined {
    if (text(query, "type") !== "SELECT_NODE" || children(query, "modifiers").length > 0) return undefined;
    const constants = children(query, "select_list").every((item) => text(item, "type") === "VALUE_CONSTANT");
    const shown = items === "any items" && constants ? { ...query, select_list: [] } : query;
    const from = isRowByRow(shown) ? referencesOf(child(query, "from_table"), this.#tables) : undefined;
    if (from === undefined || from.includes("other")) return undefined;
    return { select: query, from, conjuncts: conjunctsOf(child(query, "where_clause")) };
  }

  /** Whether a name may refer to a column of these tables, which hide outer columns. */
  #mayBeOf(node: SyntaxNode, from: readonly Reference[]): boolean {
    const path = node["column_names"];
    if (!Array.isArray(path)) return true;
    const names = path.map((name) => String(name).toLowerCase());
    return from.some((reference) => {
      if (reference === "other") return true;
      return names.length === 1 ? reference.columns.has(names[0] ?? "") : reference.alias === names[0];
    });
  }

  /** Whether the query returns the same result at each run, as long as its tables are gathered once. */
  #answersAlways(query: SyntaxNode): boolean {
    if (!isRepeatable(query, VOLATILE)) return false;
    let isLimited = false;
    for (const node of nodes(query)) {
      if (!isAbsent(node["sample"])) return false;
      isLimited ||= /LIMIT/.test(text(node, "type") ?? "");
    }
    return !isLimited || [...tablesOf(query)].every((table) => this.#uses.get(table) === 1);
  }
}

interface SelectScope {
  readonly select: SyntaxNode;
  readonly from: readonly Reference[];
  /** Conjuncts of WHERE. */
  readonly conjuncts: readonly SyntaxNode[];
}

function equatedColumns(
  conjunct: SyntaxNode,
  from: readonly Reference[],
): readonly [ColumnReference, ColumnReference] | undefined {
  if (text(conjunct, "type") !== "COMPARE_EQUAL") return undefined;
  const left = columnOf(child(conjunct, "left") ?? {}, from);
  const right = columnOf(child(conjunct, "right") ?? {}, from);
  return left !== undefined && right !== undefined && typeOf(left) === typeOf(right) ? [left, right] : undefined;
}

/** The values of a column in the rows that pass the conjuncts on its table alone. */
function selectOf(
  { owner, column }: ColumnReference,
  { select, from, conjuncts }: SelectScope,
  isInner: boolean,
): SyntaxNode | undefined {
  const table = tableNode(child(select, "from_table"), owner.alias);
  if (table === undefined) return undefined;
  const others = isInner ? VOLATILE : TIMES;
  const own = conjuncts.filter((conjunct) => isAbout(conjunct, owner.alias, from) && isRepeatable(conjunct, others));
  return {
    ...select,
    modifiers: [],
    cte_map: { map: [] },
    select_list: [{ class: "COLUMN_REF", type: "COLUMN_REF", alias: "", column_names: [owner.alias, column] }],
    from_table: table,
    where_clause: own.length === 0 ? null : { class: "CONJUNCTION", type: "CONJUNCTION_AND", alias: "", children: own },
    group_expressions: [],
    group_sets: [],
    aggregate_handling: "STANDARD_HANDLING",
    having: null,
    sample: null,
    qualify: null,
  };
}

function tableNode(from: SyntaxNode | undefined, alias: string): SyntaxNode | undefined {
  if (from === undefined) return undefined;
  if (text(from, "type") === "JOIN") return tableNode(child(from, "left"), alias) ?? tableNode(child(from, "right"), alias);
  return (text(from, "alias") ?? tableNameOf(from)).toLowerCase() === alias ? from : undefined;
}

/** Whether an expression consists of columns of one table and constants. */
function isAbout(expression: SyntaxNode, alias: string, from: readonly Reference[]): boolean {
  for (const node of nodes(expression)) {
    const type = text(node, "type");
    if (type === "SUBQUERY" || type === "VALUE_PARAMETER") return false;
    if (type === "COLUMN_REF" && columnOf(node, from)?.owner.alias !== alias) return false;
  }
  return true;
}

/** Whether the expression calls none of these functions, and has no number that the tree cannot represent. */
function isRepeatable(expression: SyntaxNode, volatile: ReadonlySet<string>): boolean {
  for (const node of nodes(expression)) {
    if (volatile.has(text(node, "function_name") ?? "")) return false;
    const value = child(node, "value");
    if (text(node, "type") === "VALUE_CONSTANT" && value?.["is_null"] === false && isAbsent(value["value"])) return false;
  }
  return true;
}

const VOLATILE: ReadonlySet<string> = new Set(["random", "error"]);
/**
 * The value of these functions is different when the statement runs. Where rows are shown only with matches, that is as if all had run a
 * moment earlier.
 */
const TIMES: ReadonlySet<string> = new Set([
  ...VOLATILE,
  ...["now", "today", "current_date", "current_time", "current_timestamp", "get_current_time", "get_current_timestamp", "ago"],
  ...["transaction_timestamp", "current_localtime", "current_localtimestamp", "age"],
]);

function tablesOf(query: SyntaxNode): ReadonlySet<string> {
  const tables = new Set<string>();
  for (const node of nodes(query)) if (isNode(node) && text(node, "type") === "BASE_TABLE") tables.add(tableNameOf(node));
  return tables;
}
