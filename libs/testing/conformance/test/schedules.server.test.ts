/**
 * Why: schedules end to end: a real server fires at real services of the SDK, every second, and is killed in the middle of it. What
 * is proved: no time is lost, none fires twice, and policies hold while it happens.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Context, type ObjectContext, object, service, type WorkflowContext, workflow } from "@restatedev/restate-sdk";
import { eventually, type IntrospectionRow, probe, TestWorld } from "../src/index.js";

const KILLS = 4;
/** Longer than a period of the schedules here, so that runs would overlap. */
const SLOW_MS = 2500;
/** Longer than what counts as late (`OVERDUE_AFTER_MS`). */
const ABSENT_MS = 14_000;

/** Resolves when a backfill has called its handler for the first time. */
const firstPastCall = Promise.withResolvers<void>();

const ticks = service({
  name: "Ticks",
  handlers: {
    tick: async (ctx: Context, payload: unknown) => {
      probe.push("tick", { headers: Object.fromEntries(ctx.request().headers), payload });
      return "ticked";
    },
    past: async (ctx: Context) => {
      firstPastCall.resolve();
      return ctx.request().headers.get("x-perdure-scheduled-time");
    },
    bytes: async (_ctx: Context, payload: unknown) => payload,
    slow: async (ctx: Context) => {
      probe.put("running", probe.bump("running"));
      probe.put("most", Math.max(probe.get<number>("most") ?? 0, probe.count("running")));
      await ctx.run("work", () => delay(SLOW_MS));
      probe.bump("running", -1);
    },
    endless: async (ctx: Context) => ctx.sleep(3_600_000),
  },
});
const counterObject = object({
  name: "Tally",
  handlers: {
    add: async (ctx: ObjectContext) => ctx.set("count", ((await ctx.get<number>("count")) ?? 0) + 1),
    read: async (ctx: ObjectContext) => ctx.get<number>("count"),
  },
});
const daily = workflow({ name: "Daily", handlers: { run: async (ctx: WorkflowContext) => ctx.key } });

interface Shown {
  readonly id: string;
  readonly fired_count: number;
  readonly skipped_count: number;
  readonly last_invocation_id: string | null;
  readonly active_invocation_id: string | null;
  readonly [field: string]: unknown;
}

const clockFolder = mkdtempSync(join(tmpdir(), "perdure-clock-"));
/** How far the server's clock is ahead from its next start on. */
const clockAhead = join(clockFolder, "ahead");
let world: TestWorld;

beforeAll(async () => {
  writeFileSync(clockAhead, "0");
  const preload = pathToFileURL(join(import.meta.dirname, "clock-ahead.mjs")).href;
  world = await TestWorld.start({ environment: { PERDURE_NODE_OPTIONS: `--import ${preload}`, CLOCK_AHEAD: clockAhead } });
  await world.deploy({ services: [ticks, counterObject, daily] });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(clockFolder, { recursive: true, force: true });
});

async function make(name: string, handler: string, change: object = {}): Promise<string> {
  const target = { service: "Ticks", handler };
  const answer = await world.admin.post("/schedules", { name, cron: "* * * * * *", target, ...change });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return (answer.json as Shown).id;
}

async function shown(id: string): Promise<Shown> {
  return (await world.admin.get(`/schedules/${id}`)).json as Shown;
}

const end = (id: string) => world.admin.delete(`/schedules/${id}`);
const fired = (id: string, count: number) => eventually(`${count} firings`, async () => (await shown(id)).fired_count >= count);

/** Invocations of a schedule by the time they are for. */
async function invocationsOf(id: string): Promise<readonly IntrospectionRow[]> {
  return world.admin.query(
    `SELECT id, idempotency_key, status, invoked_by FROM sys_invocation WHERE idempotency_key LIKE '${id}/%' ORDER BY idempotency_key`,
  );
}

/** Milliseconds since 1970 of the time in an idempotency key. */
const timeOf = (row: IntrospectionRow): number => Date.parse(String(row["idempotency_key"]).split("/")[1] ?? "");

describe("a schedule", () => {
  test("calls its handler with what it was given, and says which one it is and for which time", async () => {
    const change = { payload: { hello: [1] }, headers: { "X-Team": "blue" }, max_firings: 2, overlap: "allow" };
    const id = await make("hello", "tick", change);
    await fired(id, 2);
    await eventually("its calls", () => probe.list("tick").length >= 2);
    const [first, second] = probe.list<{ headers: Record<string, string>; payload: unknown }>("tick");
    expect(first).toMatchObject({
      payload: { hello: [1] },
      headers: { "x-team": "blue", "x-perdure-schedule-id": id, "x-perdure-schedule-name": "hello" },
    });
    const times = [first, second].map((one) => Date.parse(one!.headers["x-perdure-scheduled-time"]!));
    expect(times[1]! - times[0]!).toBe(1000);
    expect(await shown(id)).toMatchObject({ status: "ended", next_at: null, fired_count: 2 });
    expect((await invocationsOf(id)).map((row) => row["invoked_by"])).toEqual(["ingress", "ingress"]);
  });

  test("is visible in SQL", async () => {
    const id = await make("visible", "tick", { cron: "0 12 1 1 *", zone: "Asia/Tokyo", overlap: "queue", max_queued: 2 });
    const [row] = await world.admin.query(`SELECT * FROM sys_schedule WHERE id = '${id}'`);
    expect(row).toMatchObject({
      name: "visible",
      status: "active",
      cron: "0 12 1 1 *",
      zone: "Asia/Tokyo",
      target: "Ticks/tick",
      overlap: "queue",
      max_queued: 2,
      catch_up: "last",
      fired_count: 0,
      recent_json: "[]",
      version: 1,
    });
    expect(String(row!["next_at"])).toMatch(/^\d{4}-01-01T03:00:00/);
    await end(id);
    expect(await world.admin.query(`SELECT id FROM sys_schedule WHERE id = '${id}'`)).toEqual([]);
  });

  test("fires by hand, and the result can be had at the ingress", async () => {
    const id = await make("by hand", "bytes", { cron: "@yearly", payload: [1, 2, 3] });
    const answer = await world.admin.post(`/schedules/${id}/run`, {});
    expect(answer.status).toBe(202);
    const { invocation_id } = answer.json as { invocation_id: string };
    expect(await world.ingress.outcome(invocation_id)).toEqual([1, 2, 3]);
    expect(await shown(id)).toMatchObject({ manual_count: 1, last_invocation_id: invocation_id, fired_count: 0 });
    await end(id);
  });

  test("of a workflow starts one for each time, of an object calls its key", async () => {
    const flows = await make("daily", "run", { target: { service: "Daily", handler: "run" }, max_firings: 2 });
    const counts = await make("tally", "add", { target: { service: "Tally", handler: "add", key: "{name}" }, max_firings: 2 });
    await fired(flows, 2);
    await fired(counts, 2);
    const { last_invocation_id } = await shown(flows);
    expect(await world.ingress.outcome(last_invocation_id!)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    await eventually("both", async () => (await world.ingress.result(["Tally", "tally", "read"])) === 2);
  });
});

describe("overlap", () => {
  test("skip: runs follow each other, and the times in between are skipped", async () => {
    const id = await make("slow", "slow", { overlap: "skip" });
    await eventually("a skip after two firings", async () => {
      const { fired_count, skipped_count } = await shown(id);
      return fired_count >= 2 && skipped_count >= 2;
    });
    await end(id);
    expect(probe.get("most")).toBe(1);
  });

  test("cancel_previous: the run before is cancelled, then the next begins", async () => {
    const id = await make("impatient", "endless", { overlap: "cancel_previous" });
    await fired(id, 3);
    const { active_invocation_id } = await shown(id);
    await end(id);
    const rows = await world.admin.query(
      `SELECT id, completion_failure FROM sys_invocation WHERE idempotency_key LIKE '${id}/%' AND status = 'completed'`,
    );
    expect(rows.length).toBeGreaterThanOrEqual(2);
    for (const row of rows) expect(String(row["completion_failure"]).toLowerCase()).toContain("cancel");
    await world.admin.invocation(active_invocation_id!, "kill");
  });
});

describe("a backfill", () => {
  interface Backfilled {
    readonly new_count: number;
    readonly already_ran_count: number;
    readonly times: readonly { readonly at: string; readonly outcome: string; readonly invocation_id: string }[];
  }
  const from = "2026-01-01T00:00:00Z";
  const to = "2026-01-01T16:40:00Z";
  const COUNT = 1000;

  test("that is killed in its middle and repeated has run each time once", async () => {
    const id = await make("past", "past", { cron: "* * * * *", paused: true });
    const backfill = (range: object) => world.admin.post(`/schedules/${id}/backfill`, range);
    const stored = async () => (await invocationsOf(id)).length;
    expect((await backfill({ from, to, dry_run: true })).json).toMatchObject({ count: COUNT, new_count: COUNT });
    expect(await stored()).toBe(0);

    const lost = backfill({ from, to }).then(
      ({ status }) => status,
      () => "the connection broke",
    );
    await firstPastCall.promise;
    await world.server.kill();
    expect(await lost).toBe("the connection broke");
    await world.server.startAgain();
    const before = await stored();
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(COUNT);

    const repeated = (await backfill({ from, to })).json as Backfilled;
    expect(repeated).toMatchObject({ new_count: COUNT - before, already_ran_count: before });
    expect((await backfill({ from, to })).json).toMatchObject({ new_count: 0, already_ran_count: COUNT });
    await eventually("all have run", async () => {
      const rows = await invocationsOf(id);
      return rows.length === COUNT && rows.every((row) => row["status"] === "completed");
    });
    const times = (await invocationsOf(id)).map(timeOf);
    expect(times).toEqual(Array.from({ length: COUNT }, (_, minute) => Date.parse(from) + minute * 60_000));
    const [first] = repeated.times;
    expect(await world.ingress.outcome(first!.invocation_id)).toBe("2026-01-01T00:00:00Z");
    await end(id);
  }, 60_000);
});

describe("a server that is killed again and again", () => {
  test("fires every second once: none twice, none lost", async () => {
    const id = await make("through crashes", "tick", { overlap: "allow", catch_up: "all" });
    const slow = await make("one at a time", "slow", { overlap: "queue", max_queued: 2 });
    for (let kill = 0; kill < KILLS; kill++) {
      const before = (await shown(id)).fired_count;
      await fired(id, before + 1);
      // Somewhere within the second, another place each time, the moments around a firing among them.
      await delay(1000 - (Date.now() % 1000) + kill * 7);
      await world.server.kill();
      await delay(kill * 400);
      await world.server.startAgain();
    }
    await fired(id, (await shown(id)).fired_count + 2);
    await world.admin.post(`/schedules/${id}/pause`, {});
    await end(slow);
    const state = await shown(id);
    const rows = await invocationsOf(id);
    const seconds = rows.map(timeOf).map((ms) => ms / 1000);
    expect(seconds).toEqual(Array.from({ length: seconds.length }, (_, i) => seconds[0]! + i));
    expect(state).toMatchObject({ fired_count: rows.length, missed_count: 0, failed_count: 0, skipped_count: 0 });
    await eventually("all have run", async () => (await invocationsOf(id)).every((row) => row["status"] === "completed"));
  }, 60_000);

  test("makes up for its absence as the policy says", async () => {
    const [none, last] = await Promise.all([
      make("none", "tick", { overlap: "allow", catch_up: "none", cron: "every 1s" }),
      make("last", "tick", { overlap: "allow", catch_up: "last", cron: "every 1s" }),
    ]);
    await fired(none, 1);
    await world.server.kill();
    writeFileSync(clockAhead, String(ABSENT_MS));
    await world.server.startAgain();
    await eventually("both know what they missed", async () => {
      const states = await Promise.all([shown(none), shown(last)]);
      return states.every(({ missed_count }) => Number(missed_count) > 0);
    });
    const caughtUp = async (id: string) =>
      ((await shown(id))["recent"] as { cause: string }[]).filter(({ cause }) => cause === "caught_up").length;
    await eventually("one is caught up", async () => (await caughtUp(last)) === 1);
    expect(await caughtUp(none)).toBe(0);
    await fired(none, (await shown(none)).fired_count + 1);
    await Promise.all([end(none), end(last)]);
  }, 60_000);
});
