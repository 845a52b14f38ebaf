/**
 * Names of columns without alias. Clients of the reference read such columns by the names its engine derives from their expressions:
 * `count(Int64(1))`, `min(sys_invocation.created_at)` (introspection-sql.md §2). Expressions without a rule here keep the name that this
 * engine gives.
 */
import { child, children, isNode, type SyntaxNode, text } from "./syntax-tree.js";

/** The name of each column, undefined where the engine's own name is kept; undefined when the tree does not show the columns. */
export function namesOf(tree: unknown): readonly (string | undefined)[] | undefined {
  const [statement] = isNode(tree) ? children(tree, "statements") : [];
  let node = statement && child(statement, "node");
  while (node !== undefined && text(node, "type") === "SET_OPERATION_NODE") node = child(node, "left");
  if (node === undefined || text(node, "type") !== "SELECT_NODE") return undefined;
  const items = children(node, "select_list");
  if (items.some((item) => text(item, "class") === "STAR")) return undefined;
  const from = child(node, "from_table");
  return items.map((item) =>
    text(item, "alias") !== undefined || text(item, "class") === "COLUMN_REF" ? undefined : nameOf(item, qualifierOf(from)),
  );
}

/** The qualifier of a column that names no table: none in a query without tables, undefined where there are several. */
type Qualifier = { readonly prefix: string } | undefined;

function qualifierOf(from: SyntaxNode | undefined): Qualifier {
  if (from === undefined) return undefined;
  const alias = text(from, "alias") ?? text(from, "table_name");
  switch (text(from, "type")) {
    case "BASE_TABLE":
    case "SUBQUERY":
      return { prefix: alias === undefined ? "" : `${alias.toLowerCase()}.` };
    default:
      return undefined;
  }
}

const COMPARISONS: Readonly<Record<string, string>> = {
  COMPARE_EQUAL: "=",
  COMPARE_NOTEQUAL: "!=",
  COMPARE_LESSTHAN: "<",
  COMPARE_GREATERTHAN: ">",
  COMPARE_LESSTHANOREQUALTO: "<=",
  COMPARE_GREATERTHANOREQUALTO: ">=",
};
const ARITHMETIC = new Set(["+", "-", "*", "/", "%"]);
/** This server's name, set by `rewrite.ts`; the reference's name. */
const FUNCTIONS: Readonly<Record<string, string>> = { first: "first_value", last: "last_value" };

function nameOf(node: SyntaxNode, qualifier: Qualifier): string | undefined {
  switch (text(node, "class")) {
    case "COLUMN_REF":
      return columnName(node["column_names"], qualifier);
    case "CONSTANT":
      return constantName(node);
    case "FUNCTION":
      return functionName(node, qualifier);
    case "OPERATOR":
      return operatorName(node, qualifier);
    case "CAST":
      return castName(node, qualifier);
    case "COMPARISON":
      return joined([child(node, "left"), child(node, "right")], COMPARISONS[text(node, "type") ?? ""], qualifier);
    default:
      return undefined;
  }
}

function columnName(names: unknown, qualifier: Qualifier): string | undefined {
  if (!Array.isArray(names) || names.length === 0 || names.length > 2) return undefined;
  const name = names.join(".").toLowerCase();
  if (names.length === 2) return name;
  return qualifier === undefined ? undefined : qualifier.prefix + name;
}

function constantName(node: SyntaxNode): string | undefined {
  const constant = child(node, "value");
  const type = constant && child(constant, "type");
  if (constant === undefined || type === undefined) return undefined;
  const { value } = constant;
  switch (text(type, "id")) {
    case "NULL":
      return "NULL";
    case "INTEGER":
    case "BIGINT":
      return `Int64(${String(value)})`;
    case "VARCHAR":
      return `Utf8("${String(value)}")`;
    case "DOUBLE":
      return `Float64(${String(value)})`;
    case "DECIMAL": {
      const scale = child(type, "type_info")?.["scale"];
      return typeof value === "number" && typeof scale === "number" ? `Float64(${value / 10 ** scale})` : undefined;
    }
    default:
      return undefined;
  }
}

function functionName(node: SyntaxNode, qualifier: Qualifier): string | undefined {
  const name = text(node, "function_name")?.toLowerCase();
  const args = children(node, "children");
  const hasOrder = children(child(node, "order_bys") ?? {}, "orders").length > 0;
  if (name === undefined || hasOrder || child(node, "filter") !== undefined) return undefined;
  if (node["is_operator"] === true) return ARITHMETIC.has(name) && args.length === 2 ? joined(args, name, qualifier) : undefined;
  if (name === "count_star") return "count(*)";
  const shown = args.map((arg) => nameOf(arg, qualifier));
  if (shown.includes(undefined)) return undefined;
  return `${FUNCTIONS[name] ?? name}(${node["distinct"] === true ? "DISTINCT " : ""}${shown.join(",")})`;
}

function operatorName(node: SyntaxNode, qualifier: Qualifier): string | undefined {
  const [first, ...others] = children(node, "children");
  const inner = first && nameOf(first, qualifier);
  if (first === undefined || inner === undefined) return undefined;
  switch (text(node, "type")) {
    case "OPERATOR_IS_NULL":
      return `${inner} IS NULL`;
    case "OPERATOR_IS_NOT_NULL":
      return `${inner} IS NOT NULL`;
    case "OPERATOR_NOT":
      return `NOT ${inner}`;
    case "OPERATOR_COALESCE": {
      const shown = others.map((other) => nameOf(other, qualifier));
      return shown.includes(undefined) ? undefined : `coalesce(${[inner, ...shown].join(",")})`;
    }
    default:
      return undefined;
  }
}

/** A cast is not part of the name, except that true and false are casts in this engine. */
function castName(node: SyntaxNode, qualifier: Qualifier): string | undefined {
  const inner = child(node, "child");
  if (inner === undefined) return undefined;
  const name = nameOf(inner, qualifier);
  if (text(child(node, "cast_type") ?? {}, "id") !== "BOOLEAN") return name;
  if (name === 'Utf8("t")') return "Boolean(true)";
  return name === 'Utf8("f")' ? "Boolean(false)" : name;
}

function joined(
  operands: readonly (SyntaxNode | undefined)[],
  operator: string | undefined,
  qualifier: Qualifier,
): string | undefined {
  const shown = operands.map((operand) => operand && nameOf(operand, qualifier));
  return operator === undefined || shown.includes(undefined) ? undefined : shown.join(` ${operator} `);
}
