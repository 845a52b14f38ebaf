import { mock } from "node:test";
import { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterEach, expect, test } from "@jest/globals";
import { anEngine, NO_SOURCE, rowsOf } from "../../test/querying.js";
import type { SqlTable } from "../table.js";
import { openDatabase } from "./database.js";

const OPTIONS = { sessions: 2, memoryBytesMax: 64 * 1024 * 1024 };
const table: SqlTable = { name: "sys_one", columns: [{ name: "id", type: "text" }], scan: async function* () {} };

afterEach(() => mock.restoreAll());

test("an engine that cannot be set up is closed, with all its connections", async () => {
  const closedConnections = mock.method(DuckDBConnection.prototype, "closeSync");
  const closedInstances = mock.method(DuckDBInstance.prototype, "closeSync");
  await expect(openDatabase([table, table], OPTIONS)).rejects.toThrow("sys_one");
  expect(closedConnections.mock.callCount()).toBe(OPTIONS.sessions);
  expect(closedInstances.mock.callCount()).toBe(1);
  const database = await openDatabase([table], OPTIONS);
  expect(closedInstances.mock.callCount()).toBe(1);
  database.close();
  expect(closedConnections.mock.callCount()).toBe(2 * OPTIONS.sessions);
  expect(closedInstances.mock.callCount()).toBe(2);
});

test("the engine plans a statement once, although it runs again when its rows are gathered", async () => {
  const engine = anEngine(NO_SOURCE, {}, [table]);
  await rowsOf(engine, "SELECT 1"); // Sets up the engine.
  const planned = mock.method(DuckDBConnection.prototype, "extractStatements");
  const plannedAndRun = mock.method(DuckDBConnection.prototype, "run");
  expect(await rowsOf(engine, "SELECT count(*) AS n FROM sys_one WHERE id LIKE 'x%'")).toEqual([{ n: 0 }]);
  expect(planned.mock.callCount()).toBe(1);
  expect(plannedAndRun.mock.callCount()).toBe(0);
  await engine[Symbol.asyncDispose]();
});
