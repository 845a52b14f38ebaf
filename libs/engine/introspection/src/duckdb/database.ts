/**
 * The one in-memory DuckDB that serves all statements. It holds no data, only views over table functions of this package, and it is
 * locked against files, network and settings before the first statement. Loaded at first use: the library is large and many servers never
 * need it.
 */
import { type DuckDBConnection, DuckDBInstance, StatementType } from "@duckdb/node-api";
import { invariant } from "@perdure/base";
import type { ResultRows } from "../encode/result.js";
import { NotAQuery, plainMessage } from "../errors.js";
import { isNode, parseTree, printTree, type SyntaxNode } from "../query/syntax-tree.js";
import type { SqlTable } from "../table.js";
import { registerByteFunctions } from "./byte-functions.js";
import { informationSchema } from "./information-schema.js";
import { rowsOf } from "./result.js";
import { ENTER, LOCK, MACROS, PREPARE } from "./setup.js";
import { registerTable, type StatementRows } from "./table-function.js";

/** Runs one statement at a time. */
export interface DuckdbSession {
  /** The query's tree as the engine prints it. Rejects with `NotAQuery` when the text is not a query. */
  parse(query: string): Promise<unknown>;
  /** The text of a query, given by its tree (`SELECT_NODE`). */
  print(query: SyntaxNode): Promise<string>;
  /** Rejects with `NotAQuery` unless `query` is a single statement that only reads. */
  check(query: string): Promise<void>;
  /** The whole result, held by the engine until it is read or released. Rejects with the engine's error. */
  run(text: string, rows: StatementRows, signal: AbortSignal): Promise<ResultRows>;
  /** Makes a running statement reject soon. */
  interrupt(): void;
}

export interface SqlDatabase {
  /** Connections that are not in use. */
  readonly idle: DuckdbSession[];
  close(): void;
}

interface DatabaseOptions {
  readonly sessions: number;
  readonly memoryBytesMax: number;
}

/** Rejects with the engine's error; then no memory of the engine stays in use. */
export async function openDatabase(tables: readonly SqlTable[], options: DatabaseOptions): Promise<SqlDatabase> {
  using acquired = new DisposableStack();
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "1", // The calling thread: statements do not compete with the rest of the process for cores.
    memory_limit: `${Math.floor(options.memoryBytesMax / 1024)}KiB`,
    autoload_known_extensions: "false",
    autoinstall_known_extensions: "false",
  });
  acquired.defer(() => instance.closeSync());
  const rows = new Map<number, StatementRows>();
  const connections: DuckDBConnection[] = [];
  for (let i = 0; i < options.sessions; i++) {
    const connection = await instance.connect();
    acquired.defer(() => connection.closeSync());
    connections.push(connection);
  }
  const [first] = connections;
  if (first !== undefined) {
    for (const sql of PREPARE) await first.run(sql);
    for (const connection of connections) await connection.run(ENTER);
    registerByteFunctions(first);
    for (const sql of MACROS) await first.run(sql);
    for (const table of tables) await registerTable(first, table, rows);
    for (const sql of informationSchema(tables)) await first.run(sql);
    for (const sql of LOCK) await first.run(sql);
  }
  const owned = acquired.move();
  return { idle: connections.map((connection) => sessionOf(connection, rows)), close: () => owned.dispose() };
}

function sessionOf(connection: DuckDBConnection, rows: Map<number, StatementRows>): DuckdbSession {
  const id = connection.clientContext.connectionId;
  return {
    async parse(query) {
      const result = await connection.run("SELECT json_serialize_sql($1::VARCHAR)", [query]);
      const [[text] = []] = await result.getRows();
      const tree = typeof text === "string" ? parseTree(text) : undefined;
      const { error, error_message: message } = isNode(tree) ? tree : {};
      if (error === false) return tree;
      throw new NotAQuery(typeof message === "string" ? plainMessage(message) : "only statements that read are supported");
    },
    async print(query) {
      const tree = printTree({ error: false, statements: [{ node: query, named_param_map: [] }] });
      const result = await connection.run("SELECT json_deserialize_sql($1::JSON)", [tree]);
      const [[text] = []] = await result.getRows();
      invariant(typeof text === "string", "the engine prints a tree as text");
      return text;
    },
    async check(query) {
      const statements = await connection.extractStatements(query);
      if (statements.count !== 1) throw new NotAQuery("only a single SQL statement is supported");
      const prepared = await statements.prepare(0);
      try {
        if (prepared.statementType !== StatementType.SELECT) throw new NotAQuery("only statements that read are supported");
        if (prepared.parameterCount > 0) throw new NotAQuery("placeholders are not supported: there are no values for them");
      } finally {
        prepared.destroySync();
      }
    },
    async run(text, statementRows, signal) {
      rows.set(id, statementRows);
      try {
        return rowsOf(await connection.run(text), signal);
      } finally {
        rows.delete(id);
      }
    },
    interrupt: () => connection.interrupt(),
  };
}
