import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { anId, anInvocation } from "@perdure/state-machine/testing";
import { type Archive, archiveRecord } from "@perdure/storage";
import { describeArchive } from "@perdure/storage/testing";
import pg from "pg";
import { openPostgresArchive } from "./archive.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

let environments = 0;
const open = (environment = `env_${++environments}`): Promise<Archive> =>
  openPostgresArchive({ url: server.url, environment }, silentLogger);

describeArchive("PostgreSQL", () => open());

describe("an archive in PostgreSQL", () => {
  const record = archiveRecord(
    { ...anInvocation("completed"), journal: { ...anInvocation("completed").journal, length: 0 } },
    [],
    [],
  );
  const leader = { partition: 0, epoch: 1 };

  test("of one environment is not that of another", async () => {
    await using one = await open();
    await using two = await open();
    await one.put({ partition: 0, epoch: 9 }, [record]);
    expect(await two.find([anId(1)])).toEqual([]);
    expect(await two.put(leader, [])).toEqual({ kind: "done" });
    expect(await two.expire(Number.MAX_SAFE_INTEGER, 10)).toBe(0);
    expect(await one.find([anId(1)])).toHaveLength(1);
  });

  test("gives up a slow read, and answers the next one", async () => {
    await using archive = await open();
    await archive.put(leader, [record]);
    const other = new pg.Client({ connectionString: server.url });
    await other.connect();
    await other.query("BEGIN; LOCK TABLE perdure_archive IN ACCESS EXCLUSIVE MODE");
    await expect(archive.find([anId(1)])).rejects.toThrow("STO0001");
    await other.query("ROLLBACK");
    await other.end();
    expect(await archive.find([anId(1)])).toHaveLength(1);
  });

  test("rejects reads while the database is down, and still has its records when that is back", async () => {
    await using archive = await open();
    await archive.put(leader, [record]);
    await server.kill();
    await expect(archive.find([anId(1)])).rejects.toThrow("STO0001");
    await expect(archive.put(leader, [record])).rejects.toThrow("STO0001");
    await server.startAgain();
    expect(await archive.find([anId(1)])).toMatchObject([{ id: anId(1) }]);
  }, 60_000);
});
