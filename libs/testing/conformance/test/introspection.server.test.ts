/** What SQL and the official command line show of a running server: every status, journals, state, failures, and nothing old. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";
import { eventually, type IntrospectionRow, invocationIdOf, probe, SdkEndpoint, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";
import { featureServices, mended } from "../src/services/index.js";
import { lifecycleObject, lifecycleService } from "../src/services/lifecycle.js";

const CLI = join(ROOT, "node_modules/.bin/restate");

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.cleanup-interval": "100ms" } });
  await world.deploy({ services: [...featureServices(""), lifecycleService, lifecycleObject] });
});
afterAll(() => world[Symbol.asyncDispose]());

let names = 0;
const newName = () => `seen-${++names}`;
const untilRow = (id: string, expected: IntrospectionRow): Promise<IntrospectionRow> =>
  eventually(`a row like ${JSON.stringify(expected)}`, async () => {
    const row = await world.admin.row(id);
    expect(row).toMatchObject(expected);
    return row;
  });

describe("sys_invocation shows an invocation that is", () => {
  test("running, suspended, paused, backing off, scheduled, pending and completed", async () => {
    const { ingress, admin } = world;
    const running = await ingress.send(["Life", "waiting"], newName());
    await untilRow(running.invocationId, {
      status: "running",
      target: "Life/waiting",
      target_service_ty: "service",
      invoked_by: "ingress",
      retry_count: 1,
      last_attempt_server: "restate-sdk-typescript/1.17.2",
    });
    // It has done nothing yet that another deployment could not do as well.
    expect(await admin.row(running.invocationId)).not.toHaveProperty("pinned_deployment_id");

    const suspended = await ingress.send(["Life", "suspended"], newName());
    const waiting = await untilRow(suspended.invocationId, { status: "suspended", pinned_service_protocol_version: 6 });
    expect(String(waiting["suspended_waiting_future_json"])).toContain('"SignalIndex":17');

    const backingOff = await ingress.send(["Life", "backsOff"], newName());
    const failed = await untilRow(backingOff.invocationId, {
      status: "backing-off",
      last_failure_error_code: "RT0007",
      next_retry_at: expect.any(String),
    });
    expect(String(failed["last_failure"])).toContain("not fixed");
    expect(Date.parse(String(failed["next_retry_at"]))).toBeGreaterThan(Date.parse(String(failed["last_start_at"])));

    const key = newName();
    const paused = await ingress.send(["Locked", key, "failing"], key);
    await untilRow(paused.invocationId, { status: "paused", target: `Locked/${key}/failing`, target_service_key: key });
    const pending = await ingress.send(["Locked", key, "next"], 1);
    await untilRow(pending.invocationId, { status: "pending" });
    expect(await admin.query(`SELECT id FROM sys_inbox WHERE service_key = '${key}'`)).toEqual([{ id: pending.invocationId }]);
    expect(await admin.query(`SELECT invocation_id FROM sys_keyed_service_status WHERE service_key = '${key}'`)).toEqual([
      { invocation_id: paused.invocationId },
    ]);

    const scheduled = await ingress.send(["Echo", "echo"], 1, { delay: "1h" });
    const later = await untilRow(scheduled.invocationId, { status: "scheduled" });
    expect(Date.parse(String(later["scheduled_start_at"]))).toBeGreaterThan(Date.now() + 3_500_000);

    const idempotencyKey = newName();
    const completed = invocationIdOf(await ingress.call(["Echo", "echo"], 1, { idempotencyKey }));
    await untilRow(completed, {
      status: "completed",
      completion_result: "success",
      idempotency_key: idempotencyKey,
      completion_retention: "PT86400S",
    });
    const killed = running.invocationId;
    await admin.invocation(killed, "kill");
    await untilRow(killed, { status: "completed", completion_result: "failure", completion_failure: "[409] killed" });

    // The shape of the command line's own count.
    const counts = await admin.query("SELECT status, COUNT(1) AS n FROM sys_invocation GROUP BY status ORDER BY status");
    expect(counts.map(({ status }) => status)).toEqual([
      "backing-off",
      "completed",
      "paused",
      "pending",
      "scheduled",
      "suspended",
    ]);
    for (const { invocationId } of [suspended, backingOff, paused, pending, scheduled])
      await admin.invocation(invocationId, "kill");
  });

  test("called by another, restarted from another, and deleted after its retention", async () => {
    const parent = invocationIdOf(await world.ingress.call(["Calls", "echo"], 1));
    const [child] = await eventually("the callee", async () => {
      const rows = await world.admin.query(`SELECT * FROM sys_invocation WHERE invoked_by_id = '${parent}'`);
      return rows.length === 1 ? rows : undefined;
    });
    expect(child).toMatchObject({ invoked_by: "service", invoked_by_target: "Calls/echo", target: "Echo/echo" });

    const name = newName();
    const { invocationId } = await world.ingress.send(["Life", "twoSteps"], name);
    await world.ingress.attach(invocationId);
    probe.put(mended(name), true);
    const restarted = await world.admin.invocation(invocationId, "restart-as-new");
    const { new_invocation_id: again } = restarted.json as { new_invocation_id: string };
    await untilRow(again, { invoked_by: "restart_as_new", restarted_from: invocationId, completion_result: "success" });

    const key = newName();
    const run = invocationIdOf(await world.ingress.call(["Brief", key, "run"], "v"));
    const promises = () => world.admin.query(`SELECT key, completed FROM sys_promise WHERE service_key = '${key}'`);
    expect(await promises()).toEqual([{ key: "done", completed: true }]);
    await eventually("its end", async () => (await world.admin.row(run)) === undefined);
    expect(await promises()).toEqual([]);
  });
});

describe("SQL shows", () => {
  test("the journal of an invocation, and what went wrong between its entries", async () => {
    const name = newName();
    const id = invocationIdOf(await world.ingress.call(["Steps", "once"], name));
    const journal = await world.admin.query(`SELECT index, entry_type, name FROM sys_journal WHERE id = '${id}' ORDER BY index`);
    expect(journal.map((row) => row["entry_type"])).toEqual([
      "Command: Input",
      "Command: Run",
      "Notification: Run",
      "Command: Output",
    ]);
    expect(journal[1]).toMatchObject({ index: 1, name: "step" });
    const events = await world.admin.query(`SELECT event_type, event_json FROM sys_journal_events WHERE id = '${id}'`);
    // Two attempts failed alike, and the third succeeded.
    expect(events.map(({ event_type }) => event_type)).toEqual(["TransientError"]);
    const event: unknown = JSON.parse(String(events[0]?.["event_json"]));
    expect(event).toMatchObject({ restate_doc_error_code: "RT0007", error_message: "transient" });
  });

  test("the state of a key as the handlers left it, and as it is edited", async () => {
    const key = newName();
    await world.ingress.result(["Store", key, "put"], { a: { b: 1 }, c: "ü" });
    const state = () =>
      world.admin.query(
        `SELECT key, value_utf8, value FROM state WHERE service_name = 'Store' AND service_key = '${key}' ORDER BY key`,
      );
    expect(await state()).toEqual([
      { key: "a", value_utf8: '{"b":1}', value: Buffer.from('{"b":1}').toString("hex") },
      { key: "c", value_utf8: '"ü"', value: Buffer.from('"ü"').toString("hex") },
    ]);
    await world.admin.post("/services/Store/state", { object_key: key, new_state: {} });
    await eventually("no state", async () => (await state()).length === 0);
  });

  test("services and deployments, joined", async () => {
    const [row] = await world.admin.query(
      "SELECT s.name, s.ty, s.revision, d.ty AS how, d.endpoint FROM sys_service s JOIN sys_deployment d ON d.id = s.deployment_id WHERE s.name = 'Store'",
    );
    expect(row).toMatchObject({ name: "Store", ty: "virtual_object", revision: 1, how: "http" });
  });

  test("errors as errors", async () => {
    const postQuery = (query: string) =>
      world.admin.http.request("POST", "/query", { json: { query }, headers: { accept: "application/json" } });
    for (const query of ["selec", "select a from sys_nowhere", "drop table state", "select 1; select 2", ""]) {
      const answer = await postQuery(query);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(typeof (answer.json as { message?: unknown }).message).toBe("string");
    }
    expect((await postQuery("select 1 as one")).json).toEqual({ rows: [{ one: 1 }] });
  });
});

describe("the official command line", () => {
  /** Its output without colours; rejects when it fails. */
  function restate(...args: string[]): Promise<string> {
    const env = {
      PATH: process.env["PATH"],
      HOME: world.server.baseDir,
      RESTATE_CLI_CONFIG_HOME: join(world.server.baseDir, "cli"),
      RESTATE_ADMIN_URL: world.server.adminUrl,
      RESTATE_INGRESS_URL: world.server.ingressUrl,
      NO_COLOR: "1",
      DO_NOT_TRACK: "1",
      CI: "",
    };
    return new Promise((resolve, reject) => {
      execFile(CLI, ["-y", ...args], { env, timeout: 20_000 }, (error, out, err) => {
        if (error === null) resolve(`${out}\n${err}`);
        else reject(new Error(`restate ${args.join(" ")}: ${out}\n${err}`, { cause: error }));
      });
    });
  }

  test("registers, lists, describes and removes deployments and services", async () => {
    const endpoint = world.own(await SdkEndpoint.start({ services: [echoService("Cli")] }));
    expect(await restate("deployments", "register", endpoint.url)).toContain("EchoCli");
    const { deployment_id: id } = (await world.admin.get("/services/EchoCli")).json as { deployment_id: string };
    expect(await restate("deployments", "list")).toContain(id);
    expect(await restate("deployments", "describe", id)).toContain("EchoCli");
    expect(await restate("services", "list")).toContain("EchoCli");
    expect(await restate("services", "describe", "EchoCli")).toContain("describe");
    expect(await restate("services", "status")).toContain("Echo");
    await restate("deployments", "remove", id, "--force");
    expect((await world.admin.get(`/deployments/${id}`)).status).toBe(404);
    await expect(restate("deployments", "describe", id)).rejects.toThrow();
  });

  test("lists, describes, cancels, kills, pauses, resumes, restarts and purges invocations", async () => {
    const name = newName();
    const { invocationId } = await world.ingress.send(["Failures", "stuck"], name);
    await eventually("the error", async () => (await restate("invocations", "describe", invocationId)).includes("stuck"));
    expect(await restate("invocations", "list", "--service", "Failures")).toContain(invocationId);
    await restate("invocations", "pause", invocationId);
    await untilRow(invocationId, { status: "paused" });
    probe.put(mended(name), true);
    await restate("invocations", "resume", invocationId);
    expect(await world.ingress.outcome(invocationId)).toBe(1);
    expect(await restate("invocations", "restart-as-new", invocationId)).toMatch(/inv_1/);
    await restate("invocations", "purge", invocationId);
    await eventually("the purge", async () => (await world.admin.row(invocationId)) === undefined);
    for (const verb of ["cancel", "kill"]) {
      const sleeping = await world.ingress.send(["Echo", "sleep"], 3_600_000);
      await delay(50);
      await restate("invocations", verb, sleeping.invocationId);
      expect((await world.ingress.attach(sleeping.invocationId)).status).toBe(409);
    }
  });

  test("reads, edits and clears state, and runs SQL", async () => {
    const key = newName();
    await world.ingress.result(["Store", key, "put"], { color: "cli blue" });
    expect(await restate("state", "get", "Store", key)).toContain("cli blue");
    await restate("state", "clear", `Store/${key}`);
    await eventually("no state", async () => JSON.stringify(await world.ingress.result(["Store", key, "keys"])) === "[]");
    expect(await restate("sql", "select name from sys_service where name = 'Store'")).toContain("Store");
    expect(await restate("services", "config", "view", "Echo")).toContain("Echo");
    await restate("kafka-clusters", "list");
    await restate("subscriptions", "list");
  });
});
