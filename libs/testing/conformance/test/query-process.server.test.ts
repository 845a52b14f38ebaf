/** Statements run in a thread of the server: effects on their clients, and on calls beside them. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, type HttpAnswer, HttpClient, type IntrospectionRow, TestWorld } from "../src/index.js";
import { featureServices } from "../src/services/index.js";

/** Takes longer than any test waits. */
const ENDLESS = "select count(*) from range(100000000000) a";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: featureServices("") });
});
afterAll(() => world[Symbol.asyncDispose]());

const JSON_ROWS = { accept: "application/json" };

function post(client: HttpClient, query: string): Promise<HttpAnswer> {
  return client.request("POST", "/query", { json: { query }, headers: JSON_ROWS });
}

async function rowsOf(query: string): Promise<readonly IntrospectionRow[]> {
  return await world.admin.query(query);
}

/** Clients that wait for answers that do not come. `first` is an answer that came nevertheless; `leave` disconnects all. */
function waitFor(count: number, base: string): { first: Promise<HttpAnswer>; leave: () => Promise<unknown> } {
  const clients = Array.from({ length: count }, () => new HttpClient(base));
  const pending = clients.map((client) => post(client, ENDLESS));
  const answers = Promise.allSettled(pending);
  const first = Promise.any(pending);
  first.catch(() => undefined); // Mostly unused, and all of them disconnect.
  return {
    first,
    leave() {
      for (const client of clients) client[Symbol.dispose]();
      return answers;
    },
  };
}

describe("what a statement sees", () => {
  test("is what was committed when it began, the invocation that was just answered included", async () => {
    for (let i = 0; i < 20; i++) {
      const key = `seen-at-once-${i}`;
      await world.ingress.call(["Echo", "echo"], i, { idempotencyKey: key });
      const [row] = await rowsOf(
        `SELECT status, created_using_restate_version FROM sys_invocation WHERE idempotency_key = '${key}'`,
      );
      expect(row).toEqual({ status: "completed", created_using_restate_version: "1.7.12" });
    }
  });

  test("is one moment for all its tables, however many invocations come and go meanwhile", async () => {
    let isOver = false;
    // Bounded: statements have the lower priority, and each takes longer the more there are.
    const calling = Array.from({ length: 4 }, async () => {
      for (let i = 0; !isOver && i < 1_000; i++) await world.ingress.call(["Echo", "echo"], i);
    });
    for (let i = 0; i < 15; i++) {
      const [row] = await rowsOf(
        "SELECT (SELECT COUNT(*) FROM sys_invocation_status) AS stored, (SELECT COUNT(*) FROM sys_invocation) AS shown, (SELECT COUNT(DISTINCT id) FROM sys_journal WHERE index = 0) AS begun",
      );
      expect(row?.["shown"]).toBe(row?.["stored"]);
      expect(Number(row?.["begun"])).toBeLessThanOrEqual(Number(row?.["stored"]));
    }
    isOver = true;
    await Promise.all(calling);
  });
});

test("calls are answered while statements use all the time there is", async () => {
  const waiting = waitFor(4, world.server.adminUrl);
  for (let i = 0; i < 20; i++) expect((await world.ingress.call(["Echo", "echo"], i)).status).toBe(200);
  await waiting.leave();
  expect(await eventually("a turn", () => rowsOf("select 1 as one"))).toEqual([{ one: 1 }]);
});

test("beyond its capacity, callers get a retry time, and those that stayed get their answers afterwards", async () => {
  const waiting = waitFor(80, world.server.adminUrl);
  const refused = await waiting.first;
  expect(refused.status).toBe(429);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  await waiting.leave();
  expect(await eventually("a turn", () => rowsOf("select 1 as one"))).toEqual([{ one: 1 }]);
});

test.each([
  "COPY (SELECT 1) TO 'out.csv'",
  "ATTACH 'file.db'",
  "INSTALL httpfs",
  "LOAD httpfs",
  "SELECT * FROM read_text('/etc/passwd')",
  "SELECT * FROM '/etc/passwd'",
  "SELECT * FROM glob('/*')",
  "SELECT * FROM duckdb_settings()",
  "SELECT * FROM duckdb_secrets()",
  "SELECT current_setting('memory_limit')",
  "SELECT getenv('HOME')",
  "SET memory_limit = '10GB'",
  "PRAGMA database_list",
  "CREATE TABLE t (a int)",
  "INSERT INTO state VALUES (1)",
  "SELECT 1; SELECT 2",
  "PREPARE p AS SELECT 1",
  "SELECT $1",
  "",
])("refuses with a message: %s", async (query) => {
  const answer = await post(world.admin.http, query);
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({ message: expect.stringMatching(/.{5}/) });
});

test("refuses nesting without end", async () => {
  const answer = await post(world.admin.http, `SELECT ${"(".repeat(50_000)}1${")".repeat(50_000)}`);
  expect(answer.status).toBe(400);
});

test("a server that gets SIGTERM while statements run stops", async () => {
  const other = await TestWorld.start();
  await post(other.admin.http, "select 1"); // The thread is there.
  const waiting = waitFor(2, other.server.adminUrl);
  await other.server.stop();
  await waiting.leave();
  await other.server.startAgain();
  await other[Symbol.asyncDispose]();
});
