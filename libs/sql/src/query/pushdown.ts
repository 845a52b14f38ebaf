/**
 * Why: a look-up by id must not read every invocation. The engine's own parser gives a statement's tree; from it this takes the
 * predicates on plain columns that every row of a table must pass to matter, and a LIMIT that nothing stands in the way of.
 *
 * Sound because it takes little: a table that is named exactly once, in a SELECT whose joins match rows by their values only, and
 * conjuncts of its WHERE that compare a column with texts. Such a predicate is never true for NULL, so it may also be applied
 * to the padded side of an outer join: a row it removes too early is one that WHERE would have removed.
 */
import type { ColumnHeader } from "../table.js";
import type { ColumnFilter, ScanHints } from "./hints.js";
import { child, children, isNode, nodes, type SyntaxNode, text } from "./syntax-tree.js";

/** A table named in a FROM. */
interface TableReference {
  /** What columns may be qualified with. */
  readonly alias: string;
  readonly table: string;
  readonly columns: ReadonlyMap<string, ColumnHeader>;
}

type Tables = ReadonlyMap<string, ReadonlyMap<string, ColumnHeader>>;

/** Hints by table name; tables without any are missing. `tree` is what the engine's `json_serialize_sql` answers. */
export function hintsOf(
  tree: unknown,
  tables: readonly { name: string; columns: readonly ColumnHeader[] }[],
): Map<string, ScanHints> {
  const hints = new Map<string, ScanHints>();
  const known: Tables = new Map(
    tables.map(({ name, columns }) => [name, new Map(columns.map((column) => [column.name, column]))]),
  );
  const uses = new Map<string, number>();
  const selects: SyntaxNode[] = [];
  for (const node of nodes(tree)) {
    const type = text(node, "type");
    if (type === "TABLE_FUNCTION") return hints; // Functions such as query() hide what they read.
    if (type === "SELECT_NODE") selects.push(node);
    if (type === "BASE_TABLE") {
      const name = text(node, "table_name")?.toLowerCase() ?? "";
      uses.set(name, (uses.get(name) ?? 0) + 1);
    }
  }
  for (const select of selects) {
    const from = referencesOf(child(select, "from_table"), known);
    if (from === undefined) continue;
    const conjuncts = conjunctsOf(child(select, "where_clause"));
    const predicates = conjuncts.map((conjunct) => predicateOf(conjunct, from));
    for (const reference of from) {
      if (reference === "other" || uses.get(reference.table) !== 1) continue;
      const filters = filtersFor(reference, predicates);
      const limit = predicates.includes(undefined) ? undefined : limitOf(select, from);
      if (filters.size > 0 || limit !== undefined)
        hints.set(reference.table, { filters, limit, top: undefined, columns: undefined });
    }
  }
  return hints;
}

/** The tables of a FROM, `other` for what is not one of ours; undefined when a join looks at more than two rows at a time. */
function referencesOf(from: SyntaxNode | undefined, known: Tables): (TableReference | "other")[] | undefined {
  if (from === undefined || isNode(from["sample"])) return undefined;
  switch (text(from, "type")) {
    case "BASE_TABLE": {
      const table = text(from, "table_name")?.toLowerCase() ?? "";
      const columns = known.get(table);
      const isRenamed = !isAbsent(from["column_name_alias"]);
      if (columns === undefined || isRenamed) return ["other"];
      return [{ alias: (text(from, "alias") ?? table).toLowerCase(), table, columns }];
    }
    case "JOIN": {
      const isPlain = MATCHING_REFS.has(text(from, "ref_type") ?? "") && MATCHING_JOINS.has(text(from, "join_type") ?? "");
      const left = referencesOf(child(from, "left"), known);
      const right = referencesOf(child(from, "right"), known);
      return isPlain && left !== undefined && right !== undefined ? [...left, ...right] : undefined;
    }
    default:
      return ["other"];
  }
}

const MATCHING_REFS = new Set(["REGULAR", "CROSS"]);
const MATCHING_JOINS = new Set(["INNER", "LEFT", "RIGHT", "OUTER", "FULL"]);

function conjunctsOf(where: SyntaxNode | undefined): SyntaxNode[] {
  if (where === undefined) return [];
  if (text(where, "type") === "CONJUNCTION_AND") return children(where, "children").flatMap(conjunctsOf);
  return [where];
}

/** A column compared with texts. */
interface Predicate {
  readonly owner: TableReference;
  readonly column: string;
  readonly values: readonly string[];
  readonly isDenial: boolean;
}

function predicateOf(node: SyntaxNode, from: readonly (TableReference | "other")[]): Predicate | undefined {
  const type = text(node, "type");
  switch (type) {
    case "COMPARE_EQUAL":
    case "COMPARE_NOTEQUAL": {
      const [left, right] = [child(node, "left"), child(node, "right")];
      if (left === undefined || right === undefined) return undefined;
      const isDenial = type === "COMPARE_NOTEQUAL";
      return comparison(left, [right], from, isDenial) ?? comparison(right, [left], from, isDenial);
    }
    case "COMPARE_IN":
    case "COMPARE_NOT_IN": {
      const [operand, ...values] = children(node, "children");
      return operand === undefined ? undefined : comparison(operand, values, from, type === "COMPARE_NOT_IN");
    }
    default:
      return undefined;
  }
}

function comparison(
  operand: SyntaxNode,
  constants: readonly SyntaxNode[],
  from: readonly (TableReference | "other")[],
  isDenial: boolean,
): Predicate | undefined {
  if (text(operand, "type") !== "COLUMN_REF" || constants.length === 0) return undefined;
  const values: string[] = [];
  for (const constant of constants) {
    const value = textConstant(constant);
    if (value === undefined) return undefined;
    values.push(value);
  }
  const path = operand["column_names"];
  const names = Array.isArray(path) ? path.map((name) => String(name).toLowerCase()) : [];
  const column = names.at(-1) ?? "";
  const owner = names.length === 2 ? ownerByAlias(names[0] ?? "", from) : ownerByColumn(names.length === 1 ? column : "", from);
  return owner?.columns.get(column)?.type === "text" ? { owner, column, values, isDenial } : undefined;
}

function ownerByAlias(alias: string, from: readonly (TableReference | "other")[]): TableReference | undefined {
  const owners = from.filter((reference) => reference !== "other" && reference.alias === alias);
  return owners.length === 1 ? (owners[0] as TableReference) : undefined;
}

/** A plain name belongs to the one table that has it, provided that all are known. */
function ownerByColumn(column: string, from: readonly (TableReference | "other")[]): TableReference | undefined {
  if (from.includes("other")) return undefined;
  const owners = from.filter((reference) => reference !== "other" && reference.columns.has(column));
  return owners.length === 1 ? (owners[0] as TableReference) : undefined;
}

function textConstant(node: SyntaxNode): string | undefined {
  const value = text(node, "type") === "VALUE_CONSTANT" ? child(node, "value") : undefined;
  if (value === undefined || value["is_null"] === true) return undefined;
  return text(child(value, "type") ?? {}, "id") === "VARCHAR" ? text(value, "value") : undefined;
}

function filtersFor(reference: TableReference, predicates: readonly (Predicate | undefined)[]): Map<string, ColumnFilter> {
  const filters = new Map<string, ColumnFilter>();
  for (const predicate of predicates) {
    if (predicate === undefined || predicate.owner !== reference) continue;
    const { allowed, denied } = filters.get(predicate.column) ?? { allowed: undefined, denied: new Set<string>() };
    const { values } = predicate;
    filters.set(
      predicate.column,
      predicate.isDenial
        ? { allowed, denied: new Set([...denied, ...values]) }
        : { allowed: new Set(allowed === undefined ? values : values.filter((value) => allowed.has(value))), denied },
    );
  }
  return filters;
}

/** How many rows a SELECT of plain columns from one table can use, OFFSET included. All its conjuncts are known to be filters. */
function limitOf(select: SyntaxNode, from: readonly unknown[]): number | undefined {
  const modifiers = children(select, "modifiers");
  const [modifier] = modifiers;
  const isPlain = children(select, "select_list").every(
    (item) => PLAIN_ITEMS.has(text(item, "type") ?? "") && isAbsent(item["replace_list"]),
  );
  const isGrouped = ["having", "qualify", "sample", "group_expressions", "group_sets"].some((key) => !isAbsent(select[key]));
  if (text(select, "aggregate_handling") !== "STANDARD_HANDLING") return undefined;
  if (from.length !== 1 || modifiers.length !== 1 || modifier === undefined || !isPlain || isGrouped) return undefined;
  if (text(modifier, "type") !== "LIMIT_MODIFIER") return undefined;
  const limit = wholeConstant(child(modifier, "limit"));
  const offset = isAbsent(modifier["offset"]) ? 0 : wholeConstant(child(modifier, "offset"));
  return limit === undefined || offset === undefined ? undefined : limit + offset;
}

const PLAIN_ITEMS = new Set(["COLUMN_REF", "STAR"]);

/** The engine prints what a statement does not have as null or as an empty list. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function wholeConstant(node: SyntaxNode | undefined): number | undefined {
  const value = node !== undefined && text(node, "type") === "VALUE_CONSTANT" ? child(node, "value")?.["value"] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
