/** `/schedules` is our extension without recordings, so each endpoint is tested with valid requests, invalid requests and unknown ids. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore } from "@perdure/metadata";
import { createScheduleBook } from "@perdure/registry";
import { createTestRegistry } from "@perdure/registry/testing";
import { createScheduleEngine, type ScheduleEngine, type Schedules } from "@perdure/schedules";
import { aRegistry, FakePartitions } from "@perdure/schedules/testing";
import { createTestAdminApi, startServer, type TestServer } from "../src/testing/index.js";

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly status: string;
  readonly next_at: string | null;
  readonly [field: string]: unknown;
}

const GHOST = "sch_15ebSafJ8DrC3zq83Js1bNv";
/** Far enough in the future that nothing fires during a test. */
const YEARLY = { name: "yearly", cron: "0 12 1 1 *", target: { service: "Greeter", handler: "greet" } };

let server: TestServer;
let engine: ScheduleEngine;
let partitions: FakePartitions;

beforeEach(async () => {
  partitions = new FakePartitions();
  const registry = aRegistry({ Greeter: ["service", "greet"], Counter: ["virtualObject", "add"] });
  const ports = {
    metadata: createMemoryMetadataStore(),
    registry,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  };
  const manager = await createScheduleBook(ports, { scopesEnabled: false });
  engine = createScheduleEngine({ ...ports, book: manager, partitions });
  const schedules: Schedules = {
    get: (id) => manager.get(id),
    list: () => manager.list(),
    create: (spec, isPaused) => manager.create(spec, isPaused),
    replace: (id, spec, expected) => manager.replace(id, spec, expected),
    remove: (id, expected, undo) => manager.remove(id, expected, undo),
    restore: (operation) => manager.restore(operation),
    pause: (id) => manager.pause(id),
    resume: (id) => manager.resume(id),
    runNow: (id, key) => engine.runNow(id, key),
    backfill: (id, batch) => engine.backfill(id, batch),
  };
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), schedules }));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});

async function make(change: object = {}): Promise<Shown> {
  const answer = await server.send("POST", "/schedules", { ...YEARLY, ...change });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.json<Shown>();
}

const get = async (id: string) => (await server.send("GET", `/schedules/${id}`)).json<Shown>();

test("a schedule is made with every default filled in, shown, and ended", async () => {
  const answer = await server.send("POST", "/schedules", YEARLY);
  const made = answer.json<Shown>();
  expect(answer.headers["location"]).toBe(`schedules/${made.id}`);
  expect(made.id).toMatch(/^sch_1\w{22}$/);
  expect(made).toMatchObject({
    version: 1,
    cron: "0 12 1 1 *",
    zone: "UTC",
    jitter: "0s",
    overlap: "skip",
    catch_up: "last",
    status: "active",
    paused: false,
    content_type: null,
    recent: [],
    fired_count: 0,
  });
  expect(made.next_at).toMatch(/^\d{4}-01-01T12:00:00\.000000000Z$/);
  expect(await get(made.id)).toEqual(made);
  expect((await server.send("DELETE", `/schedules/${made.id}`)).status).toBe(202);
  expect((await server.send("GET", `/schedules/${made.id}`)).status).toBe(404);
});

test("every field is stored, and an answer can be sent back", async () => {
  const said = {
    name: "all",
    description: "of it",
    cron: "*/10 30 2 1 JAN *",
    zone: "Europe/Berlin",
    jitter: "30s",
    start_at: "2027-01-01T00:00:00Z",
    end_at: "2099-01-01T00:00:00+02:00",
    max_firings: 7,
    target: { service: "Counter", handler: "add", key: "{date}" },
    payload: { n: [1, null] },
    headers: { "X-Team": "blue" },
    overlap: "queue",
    max_queued: 3,
    catch_up: "all",
    max_caught_up: 5,
    catch_up_window: "2h",
    paused: true,
  };
  const made = await make(said);
  expect(made).toMatchObject({
    ...said,
    target: { ...said.target, scope: null },
    headers: { "x-team": "blue" },
    start_at: "2027-01-01T00:00:00.000000000Z",
    end_at: "2098-12-31T22:00:00.000000000Z",
    content_type: "application/json",
    status: "paused",
    next_at: null,
  });
  const put = await server.send("PUT", `/schedules/${made.id}?expected_version=1`, made);
  expect({ status: put.status, text: put.text }).toMatchObject({ status: 200 });
  const { version, modified_at: _modified, ...rest } = put.json<Shown>();
  const { version: _version, modified_at: _before, ...before } = made;
  expect([version, rest]).toEqual([2, before]);
});

test.each<[object, object]>([
  [{ payload: null }, { payload: null, content_type: "application/json" }],
  [{ payload_base64: "AAEC" }, { payload_base64: "AAEC", content_type: null }],
  [
    { payload_base64: "AAEC", content_type: "application/json" },
    { payload_base64: "AAEC", content_type: "application/json" },
  ],
  [{ payload: "text", content_type: "application/json; charset=utf-8" }, { payload_base64: btoa('"text"') }],
])("the payload %j is shown as %j", async (said, shown) => {
  expect(await make(said)).toMatchObject(shown);
});

describe("a body that is wrong is refused", () => {
  test.each<[object, number, string | null, string]>([
    [{ cron: "nope" }, 400, "META0100", "invalid 'cron'"],
    [{ zone: "Nowhere" }, 400, "META0100", "invalid 'zone'"],
    [{ target: { service: "Gone", handler: "x" } }, 400, "META0100", "invalid 'target.service'"],
    [{ target: { service: "Greeter", handler: "greet", scope: "s" } }, 400, "META0100", "flow control is not enabled"],
    [{ catchup: "all" }, 400, null, "The request body has unknown fields: 'catchup'"],
    [{ id: "sch_1" }, 400, null, "unknown fields: 'id'"],
    [{ target: { service: "Greeter", handler: "greet", limitKey: "l" } }, 400, null, "unknown fields: 'target.limitKey'"],
    [{ name: "" }, 422, null, "name: empty string"],
    [{ name: "a\nb" }, 422, null, "name: has control characters"],
    [{ name: undefined }, 422, null, "missing field `name`"],
    [{ jitter: "2h" }, 422, null, "jitter: is longer than 3600000 ms"],
    [{ jitter: "soon" }, 422, null, "jitter: is not a duration"],
    [{ start_at: "tomorrow" }, 422, null, "start_at: "],
    [{ overlap: "shrug" }, 422, null, "overlap: "],
    [{ max_queued: 3 }, 422, null, "max_queued: belongs to"],
    [{ overlap: "queue", max_queued: 101 }, 422, null, "max_queued: "],
    [{ catch_up: "last", catch_up_window: "1h" }, 422, null, "catch_up_window: belongs to"],
    [{ catch_up: "all", catch_up_window: "0s" }, 422, null, "catch_up_window: is empty"],
    [{ payload: 1, payload_base64: "AA==" }, 422, null, "payload_base64: there is a payload already"],
    [{ payload_base64: "%" }, 422, null, "payload_base64: is not base64"],
    [{ payload: "x".repeat(70_000) }, 422, null, "payload: is larger than 65536 bytes"],
    [{ headers: { "x-perdure-schedule-id": "me" } }, 422, null, "is a reserved header name"],
    [{ headers: { "a b": "c" } }, 422, null, "is not a header name"],
    [{ headers: { a: "b\nc" } }, 422, null, "is not a header value"],
    [{ target: { service: "Greeter", handler: "greet", priority: 9 } }, 422, null, "target.priority: "],
    [{ max_firings: 0 }, 422, null, "max_firings: "],
  ])("%j", async (change, status, code, text) => {
    const answer = await server.send("POST", "/schedules", { ...YEARLY, ...change });
    expect(answer.json()).toEqual({ message: expect.stringContaining(text), restate_code: code });
    expect(answer.status).toBe(status);
  });
});

describe("ids", () => {
  test.each([
    ["GET", ""],
    ["PUT", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["PATCH", "/pause"],
    ["POST", "/resume"],
    ["POST", "/run"],
    ["POST", "/backfill"],
    ["GET", "/next"],
  ])("%s %s of an unknown one is 404, of a malformed one 400", async (method, path) => {
    const body = method === "PUT" ? YEARLY : path === "/backfill" ? { from: "2026-01-01T00:00:00Z" } : undefined;
    const unknown = await server.send(method, `/schedules/${GHOST}${path}`, body);
    expect([unknown.status, unknown.json()]).toEqual([
      404,
      { message: `The requested schedule '${GHOST}' does not exist`, restate_code: null },
    ]);
    const malformed = await server.send(method, `/schedules/dp_1nope${path}`, body);
    expect([malformed.status, malformed.json<{ message: string }>().message]).toEqual([
      400,
      "Invalid URL: Cannot parse `schedule` with value `dp_1nope`: id doesn't match the expected type",
    ]);
  });
  test("other methods are 405", async () => {
    const answer = await server.send("PATCH", `/schedules/${GHOST}`, {});
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "GET,HEAD,PUT,DELETE"]);
  });
});

describe("changes", () => {
  test("with a version that is not the present one are refused, and of two at once one holds", async () => {
    const { id } = await make();
    const both = await Promise.all(
      ["a", "b"].map((name) => server.send("PUT", `/schedules/${id}?expected_version=1`, { ...YEARLY, name })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await get(id)).version).toBe(2);
    expect((await server.send("DELETE", `/schedules/${id}?expected_version=1`)).status).toBe(409);
    expect((await server.send("DELETE", `/schedules/${id}?expected_version=x`)).status).toBe(400);
    expect((await server.send("DELETE", `/schedules/${id}?expected_version=2`)).status).toBe(202);
  });
  test("to a name in use are refused", async () => {
    const { id } = await make();
    await make({ name: "other" });
    const answers = await Promise.all([
      server.send("POST", "/schedules", YEARLY),
      server.send("PUT", `/schedules/${id}`, { ...YEARLY, name: "other" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([409, 409]);
  });
  test("pause and resume, as often as one likes", async () => {
    const { id } = await make();
    for (const [verb, status] of [
      ["pause", "paused"],
      ["pause", "paused"],
      ["resume", "active"],
      ["resume", "active"],
    ] as const) {
      const answer = await server.send("POST", `/schedules/${id}/${verb}`);
      expect([answer.status, answer.json<Shown>().status]).toEqual([200, status]);
    }
  });
});

describe("lists", () => {
  test("come in pages that together are everything, also when one in between goes", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await make({ name: `s${i}` })).id);
    const listed = (await server.send("GET", "/schedules")).json<{ schedules: Shown[] }>();
    expect(listed.schedules.length).toBe(5);
    const order = listed.schedules.map(({ id }) => id);
    expect(new Set(order)).toEqual(new Set(ids));
    const receivedIds: string[] = [];
    let path: string | undefined = "/schedules?limit=2";
    while (path !== undefined) {
      const page: { schedules: Shown[]; next_cursor: string | null } = (await server.send("GET", path)).json();
      receivedIds.push(...page.schedules.map(({ id }) => id));
      if (receivedIds.length === 2) await server.send("DELETE", `/schedules/${receivedIds[1]}`);
      path = page.next_cursor === null ? undefined : `/schedules?limit=2&cursor=${page.next_cursor}`;
    }
    expect(receivedIds).toEqual(order);
  });
  test("can be narrowed", async () => {
    await make({ name: "a" });
    await make({ name: "b", paused: true });
    await make({ name: "c", target: { service: "Counter", handler: "add", key: "k" } });
    const names = async (query: string) =>
      (await server.send("GET", `/schedules?${query}`)).json<{ schedules: Shown[] }>().schedules.map(({ name }) => name);
    expect(await names("name=b")).toEqual(["b"]);
    expect(await names("status=paused")).toEqual(["b"]);
    expect(await names("service=Counter")).toEqual(["c"]);
    expect(await names("name=a&status=paused")).toEqual([]);
  });
  test.each(["limit=0", "limit=x", "cursor=%", "status=happy"])("%s is refused", async (query) => {
    expect((await server.send("GET", `/schedules?${query}`)).status).toBe(400);
  });
});

describe("next fire times", () => {
  test("in UTC and in local time", async () => {
    const { id } = await make({ cron: "30 2 29 3 *", zone: "Europe/Berlin", start_at: "2054-01-01T00:00:00Z", max_firings: 3 });
    const { next } = (await server.send("GET", `/schedules/${id}/next?count=5`)).json<{ next: unknown }>();
    expect(next).toEqual([
      // 29 March 2054 is a Sunday, on which clocks go forward.
      { at: "2054-03-29T01:00:00.000000000Z", local: "2054-03-29T03:00:00+02:00" },
      { at: "2055-03-29T00:30:00.000000000Z", local: "2055-03-29T02:30:00+02:00" },
      { at: "2056-03-29T00:30:00.000000000Z", local: "2056-03-29T02:30:00+02:00" },
    ]);
    expect((await server.send("GET", `/schedules/${id}/next?count=1001`)).status).toBe(400);
  });
});

describe("run now", () => {
  test("answers the invocation, and with an idempotency key the same again", async () => {
    const { id } = await make({ paused: true });
    const first = await server.send("POST", `/schedules/${id}/run`, undefined, { "idempotency-key": "k" });
    const again = await server.send("POST", `/schedules/${id}/run`, undefined, { "idempotency-key": "k" });
    const other = await server.send("POST", `/schedules/${id}/run`);
    expect([first.status, again.status, other.status]).toEqual([202, 200, 202]);
    const [invocation] = partitions.runs.keys();
    expect(first.json()).toEqual({ invocation_id: invocation, status: "Accepted" });
    expect(again.json()).toEqual({ invocation_id: invocation, status: "PreviouslyAccepted" });
    expect(partitions.runs.size).toBe(2);
    expect(await get(id)).toMatchObject({
      manual_count: 2,
      last_invocation_id: expect.any(String),
      recent: [{ cause: "manual" }, {}],
    });
  });
  test("is refused with a key that is none, and 503 when the partition is away", async () => {
    const { id } = await make();
    expect((await server.send("POST", `/schedules/${id}/run`, undefined, { "idempotency-key": "x".repeat(600) })).status).toBe(
      400,
    );
    partitions.fault = () => "refuse";
    const answer = await server.send("POST", `/schedules/${id}/run`);
    expect([answer.status, answer.json()]).toMatchObject([503, { restate_code: "ING0006" }]);
  });
});

test("the OpenAPI document has the schedules and the fields of a body", async () => {
  const { paths, components } = (await server.send("GET", "/openapi")).json<{
    paths: Record<string, Record<string, object>>;
    components: { schemas: Record<string, object> };
  }>();
  const ours = Object.entries(paths).filter(([path]) => path.startsWith("/schedules"));
  expect(ours.map(([path, operations]) => `${path}: ${Object.keys(operations).join(" ")}`)).toEqual([
    "/schedules: get post",
    "/schedules/{schedule}: get put delete",
    "/schedules/{schedule}/pause: post patch",
    "/schedules/{schedule}/resume: post patch",
    "/schedules/{schedule}/run: post",
    "/schedules/{schedule}/backfill: post",
    "/schedules/{schedule}/next: get",
  ]);
  expect(JSON.stringify(components.schemas["CreateScheduleRequest"])).toContain('"cancel_previous"');
});
