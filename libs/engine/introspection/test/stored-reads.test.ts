/** How little is read of a partition store for a statement. */
import { mock } from "node:test";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { partitionKeyOf } from "@perdure/base";
import type { SqlEngine } from "../src/options.js";
import { anEngine, rowsOf } from "./querying.js";
import type { JsonRow } from "./recorded.js";
import { openWorld, type World } from "./stored.js";
import { PARTITIONS } from "./stored-rows.js";

let world: World;
let engine: SqlEngine;
beforeAll(async () => {
  world = await openWorld();
  engine = anEngine(world.source);
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  world.source.counts.pointReads = 0;
  world.source.counts.rows = 0;
  world.source.counts.scans.length = 0;
});

const query = (sql: string): Promise<readonly JsonRow[]> => rowsOf(engine, sql);
const idsOf = (rows: readonly JsonRow[]) => rows.map((row) => row["id"]).sort();

describe("a statement over sys_invocation", () => {
  test("reads one row for a look-up by id", async () => {
    const rows = await query(`SELECT id FROM sys_invocation inv WHERE inv.id = '${world.ids.done}'  LIMIT 1`);
    expect(idsOf(rows)).toEqual([world.ids.done]);
    expect(world.source.counts).toEqual({ pointReads: 1, rows: 0, scans: [] });
  });

  test("reads two rows for two ids, also in a join and with further predicates", async () => {
    const rows = await query(
      `SELECT inv.id, dp.id IS NOT NULL as pinned_deployment_exists FROM sys_invocation inv
       LEFT JOIN sys_deployment dp ON dp.id = inv.pinned_deployment_id
       WHERE status != 'completed' AND inv.id in ('${world.ids.done}','${world.ids.paused}') ORDER BY inv.created_at DESC, inv.id`,
    );
    expect(rows).toEqual([{ id: world.ids.paused, pinned_deployment_exists: true }]);
    expect(world.source.counts).toEqual({ pointReads: 2, rows: 0, scans: [] });
  });

  describe("reads one row of each table that a join's key narrows:", () => {
    const both = { pointReads: 2, rows: 0, scans: ["journal"] };
    test.each([
      ["the key stands in ON", "sys_invocation i JOIN sys_journal j ON j.id = i.id WHERE i.id = '$id'"],
      [
        "of the padded side of an outer join",
        "sys_invocation i LEFT JOIN sys_journal j ON i.id = j.id AND j.index = 0 WHERE i.id = '$id'",
      ],
      ["the filter stands on the padded side", "sys_invocation i LEFT JOIN sys_journal j ON i.id = j.id WHERE j.id = '$id'"],
      ["of a full join", "sys_invocation i FULL JOIN sys_journal j ON i.id = j.id WHERE i.id = '$id'"],
      ["the key stands in WHERE", "sys_invocation i, sys_journal j WHERE i.id = j.id AND j.id IN ('$id')"],
    ])("%s", async (_what, from) => {
      const sql = `SELECT count(*) AS n FROM ${from.replace("$id", world.ids.done)}`;
      expect((await query(sql))[0]?.["n"]).toBeGreaterThan(0);
      expect(world.source.counts).toEqual(both);
    });

    test("a conjunct of ON itself", async () => {
      const on = `j.id = '${world.ids.done}' AND j.index = 0`;
      const rows = await query(
        `SELECT i.id, j.index FROM sys_service i LEFT JOIN sys_journal j ON ${on}`.replace("i.id", "i.name"),
      );
      expect(rows.length).toBeGreaterThan(0);
      expect(world.source.counts.pointReads).toBe(1);
    });

    test("but not of a side that the join preserves", async () => {
      const on = `i.id = j.id AND i.id = '${world.ids.done}'`;
      const [row] = await query(`SELECT count(DISTINCT i.id) AS n FROM sys_invocation i LEFT JOIN sys_journal j ON ${on}`);
      const [all] = await query("SELECT count(*) AS n FROM sys_invocation");
      expect(row).toEqual(all);
    });
  });

  describe("reads the journals of a few invocations when another table selects them:", () => {
    const OF_STEPS = "i.target LIKE '%/steps'";
    test.each([
      ["a join", `sys_journal j JOIN sys_invocation i ON j.id = i.id WHERE ${OF_STEPS}`],
      ["a join the other way round", `sys_invocation i JOIN sys_journal j ON j.id = i.id WHERE ${OF_STEPS}`],
      ["the padded side of an outer join", `sys_invocation i LEFT JOIN sys_journal j ON j.id = i.id WHERE ${OF_STEPS}`],
      ["an equality of WHERE", `sys_invocation i, sys_journal j WHERE j.id = i.id AND upper(i.target) LIKE '%/STEPS'`],
      ["IN", `sys_journal WHERE id IN (SELECT id FROM sys_invocation i WHERE ${OF_STEPS})`],
      ["IN with what a column has", "sys_journal WHERE id IN (SELECT id FROM sys_invocation WHERE journal_size > 8)"],
      [
        "IN with the first rows",
        "sys_journal WHERE id IN (SELECT id FROM sys_invocation WHERE target LIKE '%/steps' ORDER BY created_at LIMIT 2)",
      ],
      ["EXISTS", `sys_journal j WHERE EXISTS (SELECT 1 FROM sys_invocation i WHERE i.id = j.id AND ${OF_STEPS})`],
      [
        "a subquery of a subquery",
        "sys_journal WHERE id IN (SELECT id FROM sys_invocation WHERE target_handler_name IN (SELECT 'steps' FROM sys_service))",
      ],
      ["a time", `sys_journal j JOIN sys_invocation i ON j.id = i.id WHERE i.created_at < now() AND ${OF_STEPS}`],
      [
        "a union",
        `(SELECT j.id FROM sys_journal j JOIN sys_invocation i ON j.id = i.id WHERE ${OF_STEPS} UNION ALL SELECT NULL)`,
      ],
    ])("%s", async (_what, from) => {
      const [row] = await query(`SELECT count(*) AS n FROM ${from}`);
      expect(row?.["n"]).toBeGreaterThan(10);
      expect(world.source.counts.scans.filter((scan) => scan === "journal")).toEqual(["journal"]);
    });

    test("the other table is the one with the IN", async () => {
      const rows = await query(
        "SELECT target FROM sys_invocation WHERE target LIKE '%/steps' AND id IN (SELECT id FROM sys_journal WHERE entry_type = 'Command: Sleep')",
      );
      expect(rows).toEqual([{ target: "Greeter/steps" }]);
      expect(world.source.counts.scans.filter((scan) => scan === "journal")).toEqual(["journal"]);
    });

    test("none when no invocation is meant", async () => {
      const [row] = await query(
        "SELECT count(*) AS n FROM sys_journal WHERE id IN (SELECT id FROM sys_invocation WHERE target LIKE 'x%')",
      );
      expect(row).toEqual({ n: 0 });
      expect(world.source.counts.scans).not.toContain("journal");
    });

    test.each([
      ["the journal is on the side that is preserved", `sys_journal j LEFT JOIN sys_invocation i ON j.id = i.id AND ${OF_STEPS}`],
      ["NOT IN", `sys_journal WHERE id NOT IN (SELECT id FROM sys_invocation i WHERE ${OF_STEPS})`],
      ["OR", `sys_journal j WHERE j.index = 0 OR j.id IN (SELECT id FROM sys_invocation i WHERE ${OF_STEPS})`],
      [
        "a name of a WITH",
        `sys_journal j WHERE j.id IN (WITH sys_invocation AS (SELECT id FROM sys_promise) SELECT id FROM sys_invocation) OR true`,
      ],
    ])("but of all where they matter: %s", async (_what, from) => {
      const [row] = await query(`SELECT count(*) AS n FROM ${from}`);
      expect(row?.["n"]).toBeGreaterThan(5);
      expect(world.source.counts.scans.filter((scan) => scan === "journal").length).toBeGreaterThan(5);
    });

    test("returns the same for all statements as over all rows", async () => {
      // Without a table that is named once nothing is narrowed.
      const twice = "AND (SELECT count(*) FROM sys_journal) > 0 AND (SELECT count(*) FROM sys_invocation) > 0";
      for (const from of [
        "sys_journal j JOIN sys_invocation i ON j.id = i.id WHERE i.status = 'completed' AND i.created_at < now()",
        "sys_journal j JOIN sys_invocation i USING (id) WHERE i.status <> 'completed'",
        "sys_invocation i FULL JOIN sys_journal j ON j.id = i.id WHERE j.index IS NULL OR j.index < 2",
        "sys_journal j WHERE EXISTS (SELECT count(*) FROM sys_invocation i WHERE i.id = j.id AND i.status = 'nope')",
        "sys_invocation i LEFT JOIN sys_journal j ON i.id = j.id AND j.index = 1 WHERE j.id IS NULL",
        "sys_journal j WHERE j.id IN (SELECT i.id FROM sys_invocation i WHERE i.journal_size > j.index)",
      ]) {
        const [narrowed] = await query(`SELECT count(*) AS n FROM ${from}`);
        expect([from, narrowed]).toEqual([
          from,
          (await query(`SELECT count(*) AS n FROM ${from.replace("WHERE", `WHERE (`)}) ${twice}`))[0],
        ]);
      }
    });
  });

  test("returns no rows for a malformed id", async () => {
    expect(await query("select * from sys_invocation where id = 'inv_bad'")).toEqual([]);
    expect(world.source.counts).toEqual({ pointReads: 0, rows: 0, scans: [] });
  });

  test("does not read completed invocations that the statement excludes", async () => {
    const rows = await query(
      "SELECT id FROM sys_invocation inv WHERE status != 'completed' ORDER BY inv.created_at DESC, inv.id LIMIT 100",
    );
    expect(rows.length).toBe(7);
    expect(world.source.counts.scans).toEqual(Array(PARTITIONS).fill("unfinished"));
  });

  test("does not read unfinished invocations when only completed ones are needed", async () => {
    const rows = await query(
      "SELECT id FROM sys_invocation inv WHERE status = 'completed' AND inv.completion_result = 'failure'",
    );
    expect(idsOf(rows)).toEqual([world.ids.failed]);
    expect(world.source.counts.scans).toEqual(Array(PARTITIONS).fill("completed"));
  });

  test("stops reading at a LIMIT that nothing stands in the way of", async () => {
    expect(
      await query("SELECT COUNT(1) AS n FROM (SELECT * FROM sys_invocation inv LIMIT 2) WHERE inv.status IS NOT NULL"),
    ).toEqual([{ n: 2 }]);
    expect(world.source.counts.scans.length).toBeLessThan(2 * PARTITIONS);
    expect((await query("select id from sys_invocation where target_service_name = 'Greeter' limit 1 offset 1")).length).toBe(1);
  });

  test("reads one partition for a partition key, with all of its 64 bits", async () => {
    const key = partitionKeyOf(world.ids.done);
    expect(idsOf(await query(`select id from sys_invocation_status where partition_key = ${key}`))).toEqual([world.ids.done]);
    expect(world.source.counts.scans).toEqual(["unfinished", "completed"]);
    expect(await query(`select id from sys_invocation_status where partition_key = ${key ^ 1n}`)).toEqual([]);
  });

  test("narrows by deployment and does not read completed rows, for the query of draining", async () => {
    const [row] = await query(
      "SELECT COUNT(1) AS inv_count FROM sys_invocation_status WHERE pinned_deployment_id = 'dp_14pRvKO3JzniV4tg6GOFKOl' AND status != 'completed'",
    );
    expect(Number(row?.["inv_count"])).toBeGreaterThan(3);
    expect(world.source.counts.scans).toEqual(Array(PARTITIONS).fill("unfinished"));
  });

  test.each(["desc", "asc"])("shows the first rows by time as the engine would (%s), aliases and ties included", async (way) => {
    const all = await query(`select id, modified_at from sys_invocation order by modified_at ${way}, id`);
    expect(await query(`select id, modified_at from sys_invocation order by modified_at ${way}, id limit 3 offset 1`)).toEqual(
      all.slice(1, 4),
    );
    expect(await query(`select id as created_at from sys_invocation order by created_at ${way} limit 2`)).toEqual(
      (await query(`select id as created_at from sys_invocation order by 1 ${way}`)).slice(0, 2),
    );
    expect((await query(`select id from sys_invocation order by completed_at ${way}, id limit 2`)).length).toBe(2);
  });

  test("reads everything where a predicate does not decide alone", async () => {
    expect((await query(`select id from sys_invocation where id = '${world.ids.done}' or status = 'paused'`)).length).toBe(2);
    expect((await query(`select id from sys_invocation where not (id = '${world.ids.done}')`)).length).toBe(10);
    expect((await query(`select a.id from sys_invocation a, sys_invocation b where a.id = '${world.ids.done}'`)).length).toBe(11);
    expect((await query(`select count(*) as n from sys_invocation limit 1`))[0]).toEqual({ n: 11 });
    expect(
      (await query(`select id from sys_invocation where id = '${world.ids.done}' union all select id from sys_invocation`))
        .length,
    ).toBe(12);
    expect((await query("select distinct target_service_name from sys_invocation limit 3")).length).toBe(3);
    expect(
      (await query("select s.name, i.id from sys_service s left join sys_invocation i on i.id = 'x' order by 1")).length,
    ).toBe(3);
  });
});

test("a journal is shown without the services unless it has calls, and then they are read once", async () => {
  const services = mock.method(world.source.live, "services");
  const entries = (id: string) => query(`SELECT entry_json FROM sys_journal WHERE id = '${id}'`);
  expect(await entries(world.ids.failed)).toHaveLength(1);
  expect(services.mock.callCount()).toBe(0);
  expect((await entries(world.ids.done)).length).toBeGreaterThan(1);
  expect(services.mock.callCount()).toBe(1);
  services.mock.restore();
});
