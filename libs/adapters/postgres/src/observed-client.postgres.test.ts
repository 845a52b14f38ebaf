/** Every statement of a process to a real database is reported: by promise, in a transaction, and when it is refused. */
import { expect, test } from "@jest/globals";
import { type OperationObserver, silentLogger } from "@perdure/base";
import { startDatabase } from "@perdure/servers";
import pg from "pg";
import { openPostgresMetadataStore } from "./metadata-store.js";
import { clientOption } from "./observed-client.js";

test("statements of a store and of a pool are reported with their result", async () => {
  await using database = await startDatabase();
  const log: string[] = [];
  const observer: OperationObserver = {
    begin: (name, target) => ({
      traceparent: undefined,
      run: (work) => work(),
      end: (error) => void log.push(`${name} ${target} ${error ?? "ok"}`),
    }),
  };
  await using store = await openPostgresMetadataStore({ url: database.url, environment: "env_seen", observer }, silentLogger);
  await store.write([{ kind: "put", key: "a", value: 1, expectedVersion: undefined }]);
  await store.get("a");
  expect(log).toEqual(["SELECT write ok", "SELECT documents ok"]);
  expect(store.connections()).toEqual({ idle: 1, used: 0, waiting: 0 });

  log.length = 0;
  const pool = new pg.Pool({ connectionString: database.url, ...clientOption(observer) });
  const client = await pool.connect();
  await client.query("BEGIN");
  await expect(client.query("SELECT * FROM perdure_nowhere")).rejects.toThrow("perdure_nowhere");
  await client.query("ROLLBACK");
  client.release();
  await pool.end();
  expect(log).toEqual(["BEGIN other ok", "SELECT nowhere 42", "ROLLBACK other ok"]);
}, 120_000);
