/**
 * The one in-memory DuckDB that serves all statements. It holds no data, only views over table functions of this package, and it is
 * locked against files, network and settings before the first statement. Loaded at first use: the library is large and many servers never
 * need it.
 */
import { type DuckDBConnection, DuckDBInstance, type DuckDBPreparedStatement, StatementType } from "@duckdb/node-api";
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
  /** Plans a statement. Rejects with the engine's error, or with `NotAQuery` unless `text` is a single statement without placeholders. */
  prepare(text: string): Promise<PreparedText>;
  /** Makes a running statement reject soon. */
  interrupt(): void;
}

/** A planned statement, which is run again when its rows were missing. */
export interface PreparedText extends Disposable {
  /** Throws `NotAQuery` unless the statement only reads. */
  checkReads(): void;
  /** The whole result, held by the engine until it is read or released. Rejects with the engine's error. */
  run(rows: StatementRows, signal: AbortSignal): Promise<ResultRows>;
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

/** The engine's functions that turn the text of a query into a tree and back. */
const PARSE = "SELECT json_serialize_sql($1::VARCHAR)";
const PRINT = "SELECT json_deserialize_sql($1::JSON)";

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
  const idle: DuckdbSession[] = [];
  for (const connection of connections) {
    // Planned once: planning them takes longer than running them.
    const parser = acquired.adopt(await connection.prepare(PARSE), (prepared) => prepared.destroySync());
    const printer = acquired.adopt(await connection.prepare(PRINT), (prepared) => prepared.destroySync());
    idle.push(sessionOf({ connection, parser, printer, rows }));
  }
  const owned = acquired.move();
  return { idle, close: () => owned.dispose() };
}

interface SessionParts {
  readonly connection: DuckDBConnection;
  readonly parser: DuckDBPreparedStatement;
  readonly printer: DuckDBPreparedStatement;
  readonly rows: Map<number, StatementRows>;
}

function sessionOf({ connection, parser, printer, rows }: SessionParts): DuckdbSession {
  const id = connection.clientContext.connectionId;
  return {
    async parse(query) {
      const text = await textOf(parser, query);
      const tree = text === undefined ? undefined : parseTree(text);
      const { error, error_message: message } = isNode(tree) ? tree : {};
      if (error === false) return tree;
      throw new NotAQuery(typeof message === "string" ? plainMessage(message) : "only statements that read are supported");
    },
    async print(query) {
      const tree = printTree({ error: false, statements: [{ node: query, named_param_map: [] }] });
      const text = await textOf(printer, tree);
      invariant(text !== undefined, "the engine prints a tree as text");
      return text;
    },
    async prepare(text) {
      const statements = await connection.extractStatements(text);
      if (statements.count !== 1) throw new NotAQuery("only a single SQL statement is supported");
      const prepared = await statements.prepare(0);
      if (prepared.parameterCount === 0) return preparedText(prepared, { id, rows });
      prepared.destroySync();
      throw new NotAQuery("placeholders are not supported: there are no values for them");
    },
    interrupt: () => connection.interrupt(),
  };
}

/** The text that a planned function returns for its one argument. */
async function textOf(prepared: DuckDBPreparedStatement, argument: string): Promise<string | undefined> {
  prepared.bindVarchar(1, argument);
  const result = await prepared.run();
  const text = result.rowCount === 0 ? null : result.getChunk(0).getColumnVector(0).getItem(0);
  return typeof text === "string" ? text : undefined;
}

interface RowsById {
  readonly id: number;
  readonly rows: Map<number, StatementRows>;
}

function preparedText(prepared: DuckDBPreparedStatement, { id, rows }: RowsById): PreparedText {
  return {
    checkReads() {
      if (prepared.statementType !== StatementType.SELECT) throw new NotAQuery("only statements that read are supported");
    },
    async run(statementRows, signal) {
      rows.set(id, statementRows);
      try {
        return rowsOf(await prepared.run(), signal);
      } finally {
        rows.delete(id);
      }
    },
    [Symbol.dispose]: () => prepared.destroySync(),
  };
}
