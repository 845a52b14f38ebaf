/**
 * Reads the FROM clauses of a statement's tree: which tables they have, how these are joined, and to which table a column name belongs.
 */
import type { ColumnHeader, ColumnType } from "../table.js";
import { child, children, isNode, nodes, type SyntaxNode, text } from "./syntax-tree.js";

/** A table named in a FROM. */
export interface TableReference {
  /** The name that may qualify columns. */
  readonly alias: string;
  readonly table: string;
  readonly columns: ReadonlyMap<string, ColumnHeader>;
}

/** `other`: not one of the `sys_*` tables. */
export type Reference = TableReference | "other";

/** A plain column of a table. */
export interface ColumnReference {
  readonly owner: TableReference;
  readonly column: string;
}

export type TableColumns = ReadonlyMap<string, ReadonlyMap<string, ColumnHeader>>;

/** Tables by name, with their columns by name. */
export function tablesByName(tables: readonly { name: string; columns: readonly ColumnHeader[] }[]): TableColumns {
  return new Map(tables.map(({ name, columns }) => [name, new Map(columns.map((column) => [column.name, column]))]));
}

/** Tables and queries that a statement reads, with their places in its tree. */
export interface StatementParts {
  /** Number of times that each table is named. */
  readonly uses: ReadonlyMap<string, number>;
  readonly selects: readonly SyntaxNode[];
}

/** Undefined when a function may hide what is read, e.g. `query()`. */
export function partsOf(tree: unknown): StatementParts | undefined {
  const uses = new Map<string, number>();
  const selects: SyntaxNode[] = [];
  for (const node of nodes(tree)) {
    const type = text(node, "type");
    if (type === "TABLE_FUNCTION") return undefined;
    if (type === "SELECT_NODE") selects.push(node);
    if (type === "BASE_TABLE") {
      const name = tableNameOf(node);
      uses.set(name, (uses.get(name) ?? 0) + 1);
    }
  }
  return { uses, selects };
}

export function tableNameOf(node: SyntaxNode): string {
  return text(node, "table_name")?.toLowerCase() ?? "";
}

/** The tables of a FROM, `other` for any other relation; undefined when a join compares more than two rows at a time. */
export function referencesOf(from: SyntaxNode | undefined, tables: TableColumns): Reference[] | undefined {
  if (from === undefined || isNode(from["sample"])) return undefined;
  switch (text(from, "type")) {
    case "BASE_TABLE": {
      const table = tableNameOf(from);
      const columns = tables.get(table);
      const isRenamed = !isAbsent(from["column_name_alias"]);
      if (columns === undefined || isRenamed) return ["other"];
      return [{ alias: (text(from, "alias") ?? table).toLowerCase(), table, columns }];
    }
    case "JOIN": {
      const isPlain = MATCHING_REFS.has(text(from, "ref_type") ?? "") && MATCHING_JOINS.has(text(from, "join_type") ?? "");
      const left = referencesOf(child(from, "left"), tables);
      const right = referencesOf(child(from, "right"), tables);
      return isPlain && left !== undefined && right !== undefined ? [...left, ...right] : undefined;
    }
    default:
      return ["other"];
  }
}

export interface Join {
  readonly node: SyntaxNode;
  readonly conjuncts: readonly SyntaxNode[];
}

/** All joins of a FROM, and the conditions in their ON. */
export function joinsOf(from: SyntaxNode | undefined): Join[] {
  if (from === undefined || text(from, "type") !== "JOIN") return [];
  const conjuncts = conjunctsOf(child(from, "condition"));
  return [{ node: from, conjuncts }, ...joinsOf(child(from, "left")), ...joinsOf(child(from, "right"))];
}

/** Aliases of the sides of a join whose rows appear only when they match. */
export function notPreserved({ node }: Join): ReadonlySet<string> {
  const fields = NOT_PRESERVED[text(node, "join_type") ?? ""] ?? [];
  return new Set(fields.flatMap((field) => aliasesOf(child(node, field))));
}

const NOT_PRESERVED: Readonly<Record<string, readonly ("left" | "right")[]>> = {
  INNER: ["left", "right"],
  LEFT: ["right"],
  RIGHT: ["left"],
};

function aliasesOf(from: SyntaxNode | undefined): string[] {
  if (from === undefined) return [];
  if (text(from, "type") === "JOIN") return [...aliasesOf(child(from, "left")), ...aliasesOf(child(from, "right"))];
  return [(text(from, "alias") ?? text(from, "table_name") ?? "").toLowerCase()];
}

export function typeOf({ owner, column }: ColumnReference): ColumnType | undefined {
  return owner.columns.get(column)?.type;
}

const MATCHING_REFS = new Set(["REGULAR", "CROSS"]);
const MATCHING_JOINS = new Set(["INNER", "LEFT", "RIGHT", "OUTER", "FULL"]);

export function conjunctsOf(where: SyntaxNode | undefined): SyntaxNode[] {
  if (where === undefined) return [];
  if (text(where, "type") === "CONJUNCTION_AND") return children(where, "children").flatMap(conjunctsOf);
  return [where];
}

/** The table of an expression that is a plain column. */
export function columnOf(node: SyntaxNode, from: readonly Reference[]): ColumnReference | undefined {
  const path = text(node, "type") === "COLUMN_REF" ? node["column_names"] : undefined;
  const names = Array.isArray(path) ? path.map((name) => String(name).toLowerCase()) : [];
  const column = names.at(-1) ?? "";
  const owner = names.length === 2 ? ownerByAlias(names[0] ?? "", from) : ownerByColumn(names.length === 1 ? column : "", from);
  return owner?.columns.has(column) === true ? { owner, column } : undefined;
}

function ownerByAlias(alias: string, from: readonly Reference[]): TableReference | undefined {
  const owners = from.filter((reference) => reference !== "other").filter((table) => table.alias === alias);
  return owners.length === 1 ? owners[0] : undefined;
}

/** A plain name belongs to the one table that has it, provided that all tables are resolved. */
function ownerByColumn(column: string, from: readonly Reference[]): TableReference | undefined {
  const tables = from.filter((reference) => reference !== "other");
  if (tables.length < from.length) return undefined;
  const owners = tables.filter((table) => table.columns.has(column));
  return owners.length === 1 ? owners[0] : undefined;
}

/** The engine prints an absent part of a statement as null or as an empty list. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/**
 * Whether a SELECT shows plain columns of unchanged rows, each row that its WHERE leaves. Its modifiers (ORDER BY, LIMIT) are not
 * considered.
 */
export function isRowByRow(select: SyntaxNode): boolean {
  const isPlain = children(select, "select_list").every(
    (item) => PLAIN_ITEMS.has(text(item, "type") ?? "") && isAbsent(item["replace_list"]),
  );
  const isGrouped = ["having", "qualify", "sample", "group_expressions", "group_sets"].some((key) => !isAbsent(select[key]));
  return isPlain && !isGrouped && text(select, "aggregate_handling") === "STANDARD_HANDLING";
}

const PLAIN_ITEMS = new Set(["COLUMN_REF", "STAR"]);
