/** `POST /schedules/{schedule}/backfill`: calls for past times of a schedule. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore } from "@perdure/metadata";
import { openSchedules } from "@perdure/registry";
import { createTestRegistry } from "@perdure/registry/testing";
import { aRegistry, FakePartitions } from "@perdure/schedules/testing";
import { createTestAdminApi, startServer, type TestServer } from "../src/testing/index.js";

let server: TestServer;
let partitions: FakePartitions;
let schedules: Awaited<ReturnType<typeof openSchedules>>;

beforeEach(async () => {
  partitions = new FakePartitions();
  schedules = await openSchedules({
    metadata: createMemoryMetadataStore(),
    registry: aRegistry({ Greeter: ["service", "greet"], Report: ["workflow", "run"] }),
    partitions,
    scopesEnabled: false,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), schedules }));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await schedules[Symbol.asyncDispose]();
});

async function make(change: object = {}): Promise<{ readonly id: string }> {
  const schedule = { name: "nightly", cron: "0 12 1 1 *", target: { service: "Greeter", handler: "greet" }, ...change };
  return (await server.send("POST", "/schedules", schedule)).json<{ id: string }>();
}

const send = async (id: string, body: object) => server.send("POST", `/schedules/${id}/backfill`, body);
const minutes = { cron: "* * * * *", paused: true };
const from = "2026-03-29T00:00:00Z";

test("lists the times without calling them, then calls each, and no time twice", async () => {
  const { id } = await make({ cron: "30 2 * * *", zone: "Europe/Berlin", paused: true });
  const range = { from, to: "2026-03-31T00:00:00Z" };
  const preview = (await send(id, { ...range, dry_run: true })).json<{ times: object[] }>();
  expect(preview).toEqual({
    schedule_id: id,
    dry_run: true,
    count: 2,
    first: "2026-03-29T01:00:00.000000000Z",
    last: "2026-03-30T00:30:00.000000000Z",
    new_count: 2,
    already_ran_count: 0,
    failed_count: 0,
    times: [
      {
        at: "2026-03-29T01:00:00.000000000Z",
        local: "2026-03-29T03:00:00+02:00",
        outcome: "new",
        invocation_id: expect.stringMatching(/^inv_/),
        detail: null,
      },
      expect.objectContaining({ local: "2026-03-30T02:30:00+02:00" }),
    ],
  });
  expect(partitions.runs.size).toBe(0);
  expect((await send(id, range)).json()).toEqual({ ...preview, dry_run: false });
  expect(partitions.times).toEqual(["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
  const again = (await send(id, { ...range, to: undefined, from })).json<{ count: number; new_count: number }>();
  expect(again).toMatchObject({ already_ran_count: 2, failed_count: 0, new_count: again.count - 2 });
});

test("calls a thousand times in batches", async () => {
  const { id } = await make(minutes);
  const to = new Date(Date.parse(from) + 1000 * 60_000).toISOString();
  expect((await send(id, { from, to })).json()).toMatchObject({ count: 1000, new_count: 1000 });
  expect(new Set(partitions.times).size).toBe(1000);
  expect((await server.send("GET", `/schedules/${id}`)).json()).toMatchObject({ manual_count: 1000, fired_count: 0 });
});

test("of no time answers with none", async () => {
  const { id } = await make();
  const nothing = { count: 0, first: null, last: null, new_count: 0, times: [] };
  expect((await send(id, { from, to: "2026-04-01T00:00:00Z" })).json()).toMatchObject(nothing);
});

test.each<[object, number, string | null, string]>([
  [{ from, to: "2026-03-29T16:41:00Z" }, 400, "META0104", "1,001 times in this range, and a backfill calls at most 1,000"],
  [{ from, to: "2026-03-29T16:41:00Z" }, 400, "META0104", "with 'to' 2026-03-29T16:40:00.000000000Z it calls the first 1,000"],
  [{ from, to: "2026-05-29T00:00:00Z", dry_run: true }, 400, "META0104", "has more than 10,000 times"],
  [{ from, to: "2099-01-01T00:00:00Z" }, 400, "META0104", "'to' is in the future"],
  [{ from, to: from }, 400, "META0104", "'from' is not before 'to'"],
  [{ from: "2099-01-01T00:00:00Z" }, 400, "META0104", "'from' is not before 'to'"],
  [{ from: "yesterday" }, 422, null, "from"],
  [{ from, dryrun: true }, 400, null, "dryrun"],
])("%j is refused", async (body, status, code, text) => {
  const { id } = await make(minutes);
  const answer = await send(id, body);
  expect([answer.status, answer.json()]).toEqual([status, { message: expect.stringContaining(text), restate_code: code }]);
  expect(partitions.runs.size).toBe(0);
});

test("a dry run shows that a workflow with one key is called once", async () => {
  const { id } = await make({ cron: "@daily", paused: true, target: { service: "Report", handler: "run", key: "once" } });
  const range = { from, to: "2026-04-01T00:00:00Z" };
  expect((await send(id, { ...range, dry_run: true })).json()).toMatchObject({ new_count: 1, failed_count: 2 });
  expect((await send(id, range)).json()).toMatchObject({ new_count: 1, failed_count: 2 });
});
