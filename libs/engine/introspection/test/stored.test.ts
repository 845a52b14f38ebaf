/** The tables over a real partition store: what they show, and how little is read for it. */
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
