/** A process that starts before its database, and databases that several processes meet at the same time. */
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { startPostgres } from "@perdure/servers";
import { anId } from "@perdure/state-machine/testing";
import { deferredPostgresArchive, openPostgresArchive, openPostgresMetadataStore } from "./index.js";
import { migrations } from "./migrations/index.js";
import { emptyDatabase, runSql } from "./testing/direct.js";

const ports = { clock: systemClock, logger: silentLogger };

test("an archive whose database is down rejects, and works from the moment the database is up", async () => {
  await using server = await startPostgres();
  await server.stop();
  await using archive = deferredPostgresArchive({ url: server.url, environment: "env_late" }, ports);
  for (let n = 0; n < 3; n++) await expect(archive.find([anId(1)])).rejects.toThrow("STO0001");
  await expect(archive.expire(1, 1)).rejects.toThrow("STO0001");
  await server.startAgain();
  const answer = async (): Promise<unknown> => {
    for (const deadline = performance.now() + 10_000; ; ) {
      try {
        return await archive.find([anId(1)]);
      } catch (cause) {
        if (performance.now() > deadline) throw cause;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  expect(await answer()).toEqual([]); // Migrated: the table is there.
  expect(await archive.put({ partition: 0, epoch: 1 }, [])).toEqual({ kind: "done" });
  expect(await archive.storedBytes()).toBe(0);
}, 60_000);

test("the first of archive and metadata migrates for both, also when they start together", async () => {
  await using server = await startPostgres();
  const options = { url: server.url, environment: "env_order" };
  const appliedNumbers = async (): Promise<unknown> => {
    const rows = await runSql<{ number: number }>(server.url, "SELECT number FROM perdure_migrations ORDER BY number");
    return rows.map(({ number }) => number);
  };
  const all = migrations.map(({ number }) => number);
  for (const first of ["archive", "metadata", "both"] as const) {
    await using deferred = deferredPostgresArchive(options, ports);
    const openings = {
      archive: () => deferred.find([]).then(() => openPostgresArchive(options, silentLogger)),
      metadata: () => openPostgresMetadataStore(options, silentLogger),
    };
    const opened =
      first === "both"
        ? await Promise.all([openings.archive(), openings.metadata(), openings.archive(), openings.metadata()])
        : [await openings[first](), await openings[first === "archive" ? "metadata" : "archive"]()];
    expect(await deferred.find([anId(1)])).toEqual([]);
    expect(await appliedNumbers()).toEqual(all);
    for (const each of opened) await each[Symbol.asyncDispose]();
    await emptyDatabase(server.url);
  }
}, 60_000);

test("a database that is newer than this version is not written to", async () => {
  await using server = await startPostgres();
  const options = { url: server.url, environment: "env_newer" };
  await using _store = await openPostgresMetadataStore(options, silentLogger);
  await runSql(server.url, "INSERT INTO perdure_migrations (number, name) VALUES (900, 'of a later version')");
  await using archive = deferredPostgresArchive(options, ports);
  await expect(archive.find([anId(1)])).rejects.toThrow("META0010");
  await expect(archive.put({ partition: 0, epoch: 1 }, [])).rejects.toThrow("META0010");
}, 60_000);
