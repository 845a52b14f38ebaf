/** The tables over a real partition store: what they show, and how little is read for it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { partitionKeyOf } from "@perdure/base";
import type { SqlEngine } from "../src/options.js";
import { anEngine, rowsOf } from "./querying.js";
import type { JsonRow } from "./recorded.js";
import { openWorld, PARTITIONS, type World } from "./stored.js";

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

describe("sys_invocation", () => {
  test("shows the status for users, derived from stored rows and from the invoker's memory", async () => {
    const rows = await query("select id, status from sys_invocation");
    const status = new Map(rows.map((row) => [row["id"], row["status"]]));
    const byRole = Object.fromEntries(Object.entries(world.ids).map(([role, id]) => [role, status.get(id)]));
    expect(byRole).toEqual({
      running: "running",
      retrying: "backing-off",
      ready: "ready",
      suspended: "suspended",
      inboxed: "pending",
      scheduled: "scheduled",
      paused: "paused",
      done: "completed",
      failed: "completed",
      workflow: "completed",
      child: "completed",
    });
  });

  test("joins the invoker's view of a failing invocation", async () => {
    expect(await query(`select * from sys_invocation where id = '${world.ids.retrying}'`)).toEqual([
      {
        id: world.ids.retrying,
        target: "Greeter/retry",
        target_service_name: "Greeter",
        target_handler_name: "retry",
        target_service_ty: "service",
        invoked_by: "ingress",
        pinned_deployment_id: "dp_14pRvKO3JzniV4tg6GOFKOl",
        pinned_service_protocol_version: 6,
        trace_id: "0af7651916cd43dd8448eb211c80319c",
        journal_size: 1,
        journal_commands_size: 1,
        created_at: "2026-11-21T07:25:50.242Z",
        created_using_restate_version: "1.7.12",
        modified_at: "2026-11-21T07:25:50.252Z",
        running_at: "2026-11-21T07:25:50.243Z",
        completion_retention: "PT86400S",
        journal_retention: "PT1.5S",
        retry_count: 3,
        last_start_at: "2026-11-21T07:25:50.244Z",
        next_retry_at: "2026-11-21T07:26:50.242Z",
        last_attempt_deployment_id: "dp_14pRvKO3JzniV4tg6GOFKOl",
        last_attempt_server: "restate-sdk-typescript/1.17.2",
        last_failure: "[500 Internal] boom\nError: boom\n    at handler",
        last_failure_error_code: "RT0007",
        last_failure_related_command_index: 2,
        last_failure_related_command_name: "flaky step",
        last_failure_related_command_type: "Run",
        status: "backing-off",
      },
    ]);
  });

  test("shows which invocations wait for a slot, and since when", async () => {
    expect(await query("select id, service, is_continuation, queued_at, retry_count from sys_slot_wait")).toEqual([
      {
        id: world.ids.retrying,
        service: "Greeter",
        is_continuation: true,
        queued_at: "2026-11-21T07:25:50.243Z",
        retry_count: 3,
      },
    ]);
  });

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

describe("sys_invocation_status", () => {
  test("shows the stored status and the partition key", async () => {
    expect(
      await query(`select partition_key, status, journal_size from sys_invocation_status where id = '${world.ids.inboxed}'`),
    ).toEqual([{ partition_key: exact(partitionKeyOf(world.ids.inboxed)), status: "inboxed" }]);
    expect((await query("select id from sys_invocation_status where status in ('invoked', 'suspended')")).length).toBe(4);
  });

  test("shows what a suspended invocation waits for", async () => {
    const columns =
      "suspended_waiting_for_completions as c, suspended_waiting_for_signals as s, suspended_waiting_future_json as f";
    expect(await query(`select ${columns} from sys_invocation_status where status = 'suspended'`)).toEqual([
      { c: [1], s: [1], f: '{"Unknown":[{"Single":{"CompletionId":1}},{"Single":{"SignalIndex":1}}]}' },
    ]);
  });

  test("shows how invocations ended and which invocation called them", async () => {
    const columns =
      "completion_result, completion_failure, invoked_by, invoked_by_id, invoked_by_target, invoked_by_service_name";
    expect(
      await query(
        `select ${columns} from sys_invocation_status where id in ('${world.ids.failed}', '${world.ids.child}') order by 1`,
      ),
    ).toEqual([
      { completion_result: "failure", completion_failure: "[418] teapot", invoked_by: "ingress" },
      {
        completion_result: "success",
        invoked_by: "service",
        invoked_by_id: world.ids.done,
        invoked_by_target: "Greeter/steps",
        invoked_by_service_name: "Greeter",
      },
    ]);
  });
});

test("sys_invocation_state shows what the invoker holds, also by id", async () => {
  expect(await query("select id, in_flight, retry_count from sys_invocation_state order by retry_count")).toEqual([
    { id: world.ids.running, in_flight: true, retry_count: 1 },
    { id: world.ids.retrying, in_flight: false, retry_count: 3 },
  ]);
  expect((await query(`select id from sys_invocation_state where id = '${world.ids.running}'`)).length).toBe(1);
  expect(await query(`select id from sys_invocation_state where id = '${world.ids.done}'`)).toEqual([]);
});

describe("sys_journal", () => {
  test("shows each entry with the texts that the CLI parses", async () => {
    const rows = await query(
      `select index, entry_type, name, version, entry_json, entry_lite_json from sys_journal where id = '${world.ids.done}' order by index`,
    );
    const { child } = world.ids;
    const target = '{"VirtualObject":{"name":"Counter","key":"k2","handler":"add","handler_ty":"Exclusive","scope":null}}';
    const span =
      '"span_context":{"span_context":{"trace_id":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"span_id":[0,0,0,0,0,0,0,0],"trace_flags":0,"is_remote":false,"trace_state":""},"cause":null}';
    expect(rows.map((row) => [row["entry_type"], row["name"], row["entry_json"], row["entry_lite_json"]])).toEqual([
      [
        "Command: Input",
        "",
        '{"Command":{"Input":{"headers":[{"name":"content-type","value":"application/json"}],"payload":[51],"name":""}}}',
        '{"Command":{"Input":{}}}',
      ],
      [
        "Command: Run",
        "step a",
        '{"Command":{"Run":{"completion_id":1,"name":"step a"}}}',
        '{"Command":{"Run":{"completion_id":1,"name":"step a"}}}',
      ],
      [
        "Notification: Run",
        undefined,
        '{"Notification":{"Completion":{"Run":{"completion_id":1,"result":{"Success":[123,125]}}}}}',
        '{"Notification":{"ty":{"Completion":"Run"},"id":{"CompletionId":1},"result":"Success"}}',
      ],
      [
        "Command: Sleep",
        "",
        '{"Command":{"Sleep":{"wake_up_time":1795245950242,"completion_id":2,"name":""}}}',
        '{"Command":{"Sleep":{"wake_up_time":1795245950242,"completion_id":2}}}',
      ],
      [
        "Notification: Sleep",
        undefined,
        '{"Notification":{"Completion":{"Sleep":{"completion_id":2}}}}',
        '{"Notification":{"ty":{"Completion":"Sleep"},"id":{"CompletionId":2},"result":"Void"}}',
      ],
      [
        "Command: Call",
        "",
        `{"Command":{"Call":{"request":{"invocation_id":"${child}","invocation_target":${target},${span},"parameter":[49],"headers":[],"idempotency_key":null,"completion_retention_duration":{"secs":86400,"nanos":0},"journal_retention_duration":{"secs":1,"nanos":500000000}},"invocation_id_completion_id":3,"result_completion_id":4,"name":""}}}`,
        `{"Command":{"Call":{"invocation_id":"${child}","invocation_target":${target},"invocation_id_completion_id":3,"result_completion_id":4}}}`,
      ],
      [
        "Notification: CallInvocationId",
        undefined,
        `{"Notification":{"Completion":{"CallInvocationId":{"completion_id":3,"invocation_id":"${child}"}}}}`,
        '{"Notification":{"ty":{"Completion":"CallInvocationId"},"id":{"CompletionId":3},"result":"InvocationId"}}',
      ],
      [
        "Command: OneWayCall",
        "",
        `{"Command":{"OneWayCall":{"request":{"invocation_id":"","invocation_target":{"Workflow":{"name":"Wf","key":"w9","handler":"signal","handler_ty":"Shared","scope":null}},${span},"parameter":[49],"headers":[{"name":"a","value":"b"}],"idempotency_key":"i","completion_retention_duration":{"secs":0,"nanos":0},"journal_retention_duration":{"secs":0,"nanos":0}},"invoke_time":1795245950242,"invocation_id_completion_id":9,"name":""}}}`,
        '{"Command":{"OneWayCall":{"invocation_id":"","invocation_target":{"Workflow":{"name":"Wf","key":"w9","handler":"signal","handler_ty":"Shared","scope":null}},"invoke_time":1795245950242,"invocation_id_completion_id":9}}}',
      ],
      [
        "Notification: Signal",
        undefined,
        '{"Notification":{"Signal":{"id":{"Index":17},"result":{"Success":[123,125]}}}}',
        '{"Notification":{"ty":"Signal","id":{"SignalIndex":17},"result":"Success"}}',
      ],
      ["Command: Run", undefined, undefined, undefined], // Damaged: shown by its type.
      [
        "Command: Output",
        "",
        '{"Command":{"Output":{"result":{"Failure":{"code":418,"message":"teapot","metadata":[{"key":"a","value":"b"}]}},"name":""}}}',
        '{"Command":{"Output":{"result":"Failure"}}}',
      ],
    ]);
    expect(world.source.counts.scans).toEqual(["journal"]);
  });

  test("reads no journal for what stands elsewhere, and one for an id", async () => {
    await query(`select id from sys_journal where id = '${world.ids.done}' and index = 0`);
    expect(world.source.counts).toEqual({ pointReads: 1, rows: 0, scans: ["journal"] });
  });

  test("gives raw bytes and their length", async () => {
    expect(
      await query(
        `select index, raw, raw_length, version, appended_at from sys_journal where id = '${world.ids.done}' and index = 4`,
      ),
    ).toEqual([{ index: 4, raw: "08022200", raw_length: 4, version: 2, appended_at: "2026-11-21T07:25:50.242Z" }]);
  });
});

test("sys_journal_events shows failures and pauses", async () => {
  const rows = await query(
    "select id, after_journal_entry_index, appended_at, event_type, event_json from sys_journal_events order by appended_at",
  );
  const failure =
    '"error_code":500,"error_message":"boom","error_stacktrace":"Error: boom\\n    at handler","restate_doc_error_code":"RT0007","related_command_index":2,"related_command_name":"flaky step","related_command_type":"Run"';
  expect(rows).toEqual([
    {
      id: world.ids.retrying,
      after_journal_entry_index: 0,
      appended_at: "2026-11-21T07:25:50.247Z",
      event_type: "TransientError",
      event_json: `{"ty":"TransientError",${failure}}`,
    },
    {
      id: world.ids.paused,
      after_journal_entry_index: 0,
      appended_at: "2026-11-21T07:25:50.251Z",
      event_type: "Paused",
      event_json: `{"ty":"Paused","last_failure":{${failure}}}`,
    },
  ]);
});

describe("keyed tables", () => {
  test("state is found by service and key without a scan", async () => {
    expect(
      await query(
        "select key, value, value_utf8, key_length, value_length from state where service_name = 'Counter' and service_key = 'k1' order by key ;",
      ),
    ).toEqual([
      { key: "raw", value: "00fffe", key_length: 3, value_length: 3 },
      { key: "zähler", value: "3132", value_utf8: "12", key_length: 7, value_length: 2 },
    ]);
    expect(world.source.counts.scans).toEqual(["stateOf"]);
  });

  test("state of a service is scanned, state of a key is read by key", async () => {
    expect((await query("select * from state where service_name = 'Counter'")).length).toBe(3);
    expect(world.source.counts.scans).toEqual(Array(PARTITIONS).fill("state"));
    world.source.counts.scans.length = 0;
    expect((await query("select * from state where service_key = 'w1' and service_name = 'Counter'")).length).toBe(0);
    expect(world.source.counts.scans).toEqual(["stateOf"]);
    world.source.counts.scans.length = 0;
    // A statement without service and scope may mean a workflow in any scope, in any partition.
    expect((await query("select * from state where service_key = 'w1'")).length).toBe(1);
    expect(world.source.counts.scans).toEqual(Array(PARTITIONS).fill("state"));
  });

  test("locks and inboxes show holders and waiting invocations", async () => {
    expect(await query("select service_name, service_key, invocation_id from sys_keyed_service_status")).toEqual([
      { service_name: "Counter", service_key: "k1", invocation_id: world.ids.running },
    ]);
    expect(
      await query("select service_name, service_key, id, sequence_number from sys_inbox where service_name in ('Counter', 'Wf')"),
    ).toEqual([{ service_name: "Counter", service_key: "k1", id: world.ids.inboxed, sequence_number: 0 }]);
  });

  test("promises show how they ended", async () => {
    expect(
      await query(
        "select key, completed, completion_success_value, completion_success_value_utf8, completion_failure from sys_promise order by key",
      ),
    ).toEqual([
      { key: "go", completed: true, completion_success_value: "226e6f7722", completion_success_value_utf8: '"now"' },
      { key: "no", completed: true, completion_failure: "[500 Internal] no way" },
      { key: "open", completed: false },
    ]);
  });

  test("all of them carry the partition key of their object", async () => {
    const rows = await query(
      "select partition_key from state where service_key = 'k1' union select partition_key from sys_inbox union select partition_key from sys_keyed_service_status",
    );
    expect(rows).toEqual([{ partition_key: exact(partitionKeyOf(world.ids.running)) }]);
  });
});

test("rows of the registry are shown", async () => {
  expect(await query("select * from sys_deployment")).toEqual([
    {
      id: "dp_14pRvKO3JzniV4tg6GOFKOl",
      ty: "http",
      endpoint: "http://localhost:9080/",
      created_at: "2026-11-21T07:25:50.242Z",
      min_service_protocol_version: 5,
      max_service_protocol_version: 7,
      services: ["Greeter", "Counter", "Wf"],
    },
  ]);
  expect(await query("select * from sys_service where name = 'Wf'")).toEqual([
    { name: "Wf", revision: 2, public: false, ty: "workflow", deployment_id: "dp_14pRvKO3JzniV4tg6GOFKOl" },
  ]);
  expect(await query("select * from sys_rules")).toEqual([
    { pattern: "s1/*", concurrency: 5, disabled: false, version: 1, last_modified: "2026-11-21T07:25:50.242Z" },
  ]);
});

test("tables of flow control are empty where nothing flows", async () => {
  for (const table of ["sys_vqueues", "sys_vqueue_meta", "sys_vqueue_entry_status", "sys_scheduler", "sys_user_limits"]) {
    expect(await query(`select * from ${table}`)).toEqual([]);
  }
});

/** As `parseJson` gives it. */
function exact(key: bigint): number | bigint {
  return key > BigInt(Number.MAX_SAFE_INTEGER) ? key : Number(key);
}
