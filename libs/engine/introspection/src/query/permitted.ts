/**
 * Refuses statements that do more than query this environment. The engine's catalog shows settings and paths, some functions run text as
 * SQL, sleep, or take memory that no limit counts (`functions.ts` lists the allowed ones), and a plan of very many parts takes minutes
 * that no interrupt ends. So a statement's tree is checked before anything is planned: which tables, which functions, how many parts.
 */
import { DESCRIBED_SCHEMA } from "../duckdb/information-schema.js";
import { CATALOG } from "../duckdb/setup.js";
import { NotAQuery } from "../errors.js";
import { QUERY_PARTS_MAX, TABLE_REFERENCES_MAX } from "../limits.js";
import { ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS } from "./functions.js";
import { child, children, nodes, type SyntaxNode, text } from "./syntax-tree.js";

/** Throws `NotAQuery`. `tables` are the allowed names; `tree` is the output of the engine's `json_serialize_sql`. */
export function checkPermitted(tree: unknown, tables: ReadonlySet<string>): void {
  const references: SyntaxNode[] = [];
  const named = new Set<string>();
  let parts = 0;
  for (const node of nodes(tree)) {
    const type = text(node, "type");
    const name = text(node, "function_name")?.toLowerCase();
    for (const { key } of children(child(node, "cte_map") ?? {}, "map")) named.add(String(key).toLowerCase());
    if (type === "SHOW_REF" || type === "PIVOT") throw new NotAQuery("only queries can stand in FROM");
    if (type === "BASE_TABLE") references.push(node);
    else if (type === "TABLE_FUNCTION") checkTableFunction(node, references);
    else if (name !== undefined && !ALLOWED_FUNCTIONS.has(name) && !isOfTableFunction(references, node))
      throw new NotAQuery(`the function ${name} is not available`);
    if (type === "SELECT_NODE" || type === "SET_OPERATION_NODE" || type === "SUBQUERY") parts++;
  }
  if (references.length > TABLE_REFERENCES_MAX)
    throw new NotAQuery(`a statement may name at most ${TABLE_REFERENCES_MAX} tables`);
  if (parts > QUERY_PARTS_MAX) throw new NotAQuery(`a statement may have at most ${QUERY_PARTS_MAX} queries in it`);
  for (const reference of references) if (text(reference, "type") === "BASE_TABLE") checkTable(reference, tables, named);
}

function checkTableFunction(node: SyntaxNode, references: SyntaxNode[]): void {
  const call = child(node, "function");
  const name = (call && text(call, "function_name")?.toLowerCase()) ?? "";
  if (!ALLOWED_TABLE_FUNCTIONS.has(name)) throw new NotAQuery(`the table function ${name} is not available`);
  references.push(node);
}

/**
 * In FROM the engine makes rows as they are needed; the same function elsewhere makes a list at once. The tree has the outer node first.
 */
function isOfTableFunction(references: readonly SyntaxNode[], node: SyntaxNode): boolean {
  return references.some((reference) => reference["function"] === node);
}

function checkTable(reference: SyntaxNode, tables: ReadonlySet<string>, named: ReadonlySet<string>): void {
  const name = text(reference, "table_name")?.toLowerCase() ?? "";
  const schema = text(reference, "schema_name")?.toLowerCase() ?? "";
  const catalog = text(reference, "catalog_name")?.toLowerCase() ?? "";
  if (schema === DESCRIBED_SCHEMA && (catalog === "" || catalog === CATALOG)) return;
  const isOurs =
    tables.has(name) &&
    (schema === "" || schema === "public" || schema === "restate") &&
    (catalog === "" || catalog === "restate");
  if (isOurs || (schema === "" && named.has(name))) return;
  throw new NotAQuery(`table '${schema === "" ? name : `${schema}.${name}`}' not found`);
}
