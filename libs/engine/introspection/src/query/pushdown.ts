/**
 * Derives hints from a statement's tree, so that a look-up by id does not read every invocation: the predicates on plain columns that
 * every row of a table must pass to matter, and a LIMIT that nothing prevents, with the time that the rows are ordered by.
 *
 * This is correct because it uses only simple cases: a table that is named exactly once, in a SELECT whose joins match rows by their
 * values only, and conjuncts of its WHERE that compare a column with texts or whole numbers. Such a predicate is never true for NULL, so
 * it may also be applied to the padded side of an outer join: a row it removes too early is one that WHERE would have removed. It holds
 * as well for a column that WHERE or a join's ON equates with that column: rows with another value match only rows that WHERE removes. A
 * conjunct of ON itself removes rows of a side that the join does not preserve.
 */
import { TOP_ROWS_MAX } from "../limits.js";
import type { ColumnHeader } from "../table.js";
import {
  columnOf,
  conjunctsOf,
  isAbsent,
  isRowByRow,
  type Join,
  joinsOf,
  notPreserved,
  partsOf,
  type Reference,
  referencesOf,
  type TableReference,
  tablesByName,
  typeOf,
} from "./from.js";
import type { ColumnFilter, ScanHints, TopHint } from "./hints.js";
import { child, children, type SyntaxNode, text } from "./syntax-tree.js";

/** Hints by table name; tables without hints are missing. `tree` is the output of the engine's `json_serialize_sql`. */
export function hintsOf(
  tree: unknown,
  tables: readonly { name: string; columns: readonly ColumnHeader[] }[],
): Map<string, ScanHints> {
  const hints = new Map<string, ScanHints>();
  const tableColumns = tablesByName(tables);
  const parts = partsOf(tree);
  if (parts === undefined) return hints;
  const { uses, selects } = parts;
  for (const select of selects) {
    const from = referencesOf(child(select, "from_table"), tableColumns);
    if (from === undefined) continue;
    const conjuncts = conjunctsOf(child(select, "where_clause"));
    const predicates = conjuncts.map((conjunct) => predicateOf(conjunct, from));
    const joins = joinsOf(child(select, "from_table"));
    const equated = equatedPredicates(predicates, [...conjuncts, ...joins.flatMap(({ conjuncts }) => conjuncts)], from);
    const joined = joins.flatMap((join) => predicatesOfJoin(join, from));
    for (const reference of from) {
      if (reference === "other" || uses.get(reference.table) !== 1) continue;
      const filters = filtersFor(reference, [...predicates, ...equated, ...joined]);
      const isFiltered = !predicates.includes(undefined);
      const limit = isFiltered ? limitOf(select, from) : undefined;
      const top = isFiltered ? topOf(select, from, reference) : undefined;
      if (filters.size > 0 || limit !== undefined || top !== undefined) {
        hints.set(reference.table, { filters, limit, top, columns: undefined });
      }
    }
  }
  return hints;
}

/** Conditions of ON for rows that appear only when they match. */
function predicatesOfJoin(join: Join, from: readonly Reference[]): Predicate[] {
  const aliases = notPreserved(join);
  return join.conjuncts.flatMap((conjunct) => {
    const predicate = predicateOf(conjunct, from);
    return predicate !== undefined && aliases.has(predicate.owner.alias) ? [predicate] : [];
  });
}

/** Filters of columns that a conjunct equates with columns whose values WHERE names. */
function equatedPredicates(
  predicates: readonly (Predicate | undefined)[],
  conjuncts: readonly SyntaxNode[],
  from: readonly Reference[],
): Predicate[] {
  const pairs = conjuncts.flatMap((conjunct) => {
    if (text(conjunct, "type") !== "COMPARE_EQUAL") return [];
    const left = columnOf(child(conjunct, "left") ?? {}, from);
    const right = columnOf(child(conjunct, "right") ?? {}, from);
    if (left === undefined || right === undefined || typeOf(left) !== typeOf(right)) return [];
    return [[left, right] as const, [right, left] as const];
  });
  const named = predicates.filter((predicate) => predicate !== undefined).filter(({ isDenial }) => !isDenial);
  const equated: Predicate[] = [];
  for (let frontier = named; frontier.length > 0; ) {
    const derived: Predicate[] = [];
    for (const { owner, column, values } of frontier) {
      for (const [one, other] of pairs) {
        if (one.owner !== owner || one.column !== column) continue;
        const isDerived = [...named, ...equated, ...derived].some((p) => p.owner === other.owner && p.column === other.column);
        if (!isDerived) derived.push({ ...other, values, isDenial: false });
      }
    }
    equated.push(...derived);
    frontier = derived;
  }
  return equated;
}

/** A column compared with texts or whole numbers. */
interface Predicate {
  readonly owner: TableReference;
  readonly column: string;
  readonly values: readonly string[];
  readonly isDenial: boolean;
}

function predicateOf(node: SyntaxNode, from: readonly Reference[]): Predicate | undefined {
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
  from: readonly Reference[],
  isDenial: boolean,
): Predicate | undefined {
  if (constants.length === 0) return undefined;
  const reference = columnOf(operand, from);
  const type = reference?.owner.columns.get(reference.column)?.type;
  if (reference === undefined || (type !== "text" && type !== "u64" && type !== "u32")) return undefined;
  const values: string[] = [];
  for (const constant of constants) {
    const value = type === "text" ? textConstant(constant) : integerConstant(constant);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return { ...reference, values, isDenial };
}

function textConstant(node: SyntaxNode): string | undefined {
  const value = text(node, "type") === "VALUE_CONSTANT" ? child(node, "value") : undefined;
  if (value === undefined || value["is_null"] === true) return undefined;
  return text(child(value, "type") ?? {}, "id") === "VARCHAR" ? text(value, "value") : undefined;
}

const INTEGERS = new Set(["INTEGER", "BIGINT", "UBIGINT", "HUGEINT"]);

/** A whole number not below zero, as text, exactly as the engine prints it (`parseTree`). */
function integerConstant(node: SyntaxNode): string | undefined {
  const value = text(node, "type") === "VALUE_CONSTANT" ? child(node, "value") : undefined;
  if (value === undefined || value["is_null"] === true) return undefined;
  if (!INTEGERS.has(text(child(value, "type") ?? {}, "id") ?? "")) return undefined;
  const wide = child(value, "value");
  const number = wide === undefined ? value["value"] : wide["upper"] === 0 ? wide["lower"] : undefined;
  if (typeof number === "bigint" || (typeof number === "number" && Number.isSafeInteger(number))) {
    return number >= 0 ? String(number) : undefined;
  }
  return undefined;
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

/**
 * How many rows a SELECT of plain columns from one table can use, OFFSET included. The caller has checked that all its conjuncts are
 * filters.
 */
function limitOf(select: SyntaxNode, from: readonly unknown[]): number | undefined {
  const [modifier, ...others] = children(select, "modifiers");
  return others.length === 0 && from.length === 1 && isRowByRow(select) ? rowsOfLimit(modifier) : undefined;
}

/** The first rows by a time: all rows that `ORDER BY time, … LIMIT n` can show. The caller has checked that all conjuncts are filters. */
function topOf(select: SyntaxNode, from: readonly Reference[], { columns }: TableReference): TopHint | undefined {
  const modifiers = children(select, "modifiers");
  const order = modifiers.find((modifier) => text(modifier, "type") === "ORDER_MODIFIER");
  const count = rowsOfLimit(modifiers.find((modifier) => text(modifier, "type") === "LIMIT_MODIFIER"));
  if (modifiers.length !== 2 || order === undefined || count === undefined || count > TOP_ROWS_MAX) return undefined;
  if (from.length !== 1 || !isRowByRow(select)) return undefined;
  const [first] = children(order, "orders");
  const reference = columnOf((first && child(first, "expression")) ?? {}, from);
  if (first === undefined || reference === undefined || columns.get(reference.column)?.type !== "timestamp") return undefined;
  // In ORDER BY a plain name first refers to the alias of a selected expression.
  const isShadowed = children(select, "select_list").some((item) => text(item, "alias")?.toLowerCase() === reference.column);
  return isShadowed ? undefined : { column: reference.column, isDescending: text(first, "type") === "DESCENDING", count };
}

/** Returns the number of rows that a LIMIT passes, including those that OFFSET skips. */
function rowsOfLimit(modifier: SyntaxNode | undefined): number | undefined {
  if (modifier === undefined || text(modifier, "type") !== "LIMIT_MODIFIER") return undefined;
  const limit = wholeConstant(child(modifier, "limit"));
  const offset = isAbsent(modifier["offset"]) ? 0 : wholeConstant(child(modifier, "offset"));
  return limit === undefined || offset === undefined ? undefined : limit + offset;
}

function wholeConstant(node: SyntaxNode | undefined): number | undefined {
  const value = node !== undefined && text(node, "type") === "VALUE_CONSTANT" ? child(node, "value")?.["value"] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
