import { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { expect, jest, test } from "@jest/globals";
import type { SqlTable } from "../table.js";
import { openDatabase } from "./database.js";

const OPTIONS = { sessions: 2, memoryBytesMax: 64 * 1024 * 1024 };
const table: SqlTable = { name: "sys_one", columns: [{ name: "id", type: "text" }], scan: async function* () {} };

test("an engine that cannot be set up is closed, with all its connections", async () => {
  const closedConnections = jest.spyOn(DuckDBConnection.prototype, "closeSync");
  const closedInstances = jest.spyOn(DuckDBInstance.prototype, "closeSync");
  await expect(openDatabase([table, table], OPTIONS)).rejects.toThrow("sys_one");
  expect(closedConnections).toHaveBeenCalledTimes(OPTIONS.sessions);
  expect(closedInstances).toHaveBeenCalledTimes(1);
  const database = await openDatabase([table], OPTIONS);
  expect(closedInstances).toHaveBeenCalledTimes(1);
  database.close();
  expect(closedConnections).toHaveBeenCalledTimes(2 * OPTIONS.sessions);
  expect(closedInstances).toHaveBeenCalledTimes(2);
});
