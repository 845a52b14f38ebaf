/** The management API of a cluster, every process a real one, on a real database and a real Redis, with a service of the SDK. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ServiceProgram } from "@perdure/dev-cluster";
import { freePorts, type PostgresServer, type RedisServer, startPostgres, startRedis } from "@perdure/servers";
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { LOCAL, probe } from "./setup.js";

const gates: PromiseWithResolvers<void>[] = [];
const work = service({
  name: "Work",
  handlers: {
    echo: async (_ctx: Context, text: string) => text,
    hold: async (ctx: Context) => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return ctx.request().id.length > 0;
    },
    parent: async (ctx: Context): Promise<unknown> =>
      ctx.genericCall({ service: "Work", method: "echo", parameter: new TextEncoder().encode('"from the parent"') }),
    sleep: async (ctx: Context) => ctx.sleep(3_600_000),
  },
});
const box = object({
  name: "Box",
  handlers: {
    put: async (ctx: ObjectContext, text: string) => ctx.set("text", text),
    keep: async (ctx: ObjectContext) => ctx.sleep(3_600_000),
  },
});

let postgres: PostgresServer;
let redis: RedisServer;
let registry: ServiceProgram;
let admin: ServiceProgram;
let gateway: ServiceProgram;
let client: TestAdminClient;
let ingress: TestIngressClient;
let endpoint: SdkEndpoint;
let deployment: string;
const things: AsyncDisposable[] = [];
const use = <T extends AsyncDisposable>(thing: T): T => {
  things.push(thing);
  return thing;
};

beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  use(postgres);
  use(redis);
  endpoint = use(await SdkEndpoint.start({ services: [work, box] }));
  const [registryPort, registryProbes, workerPort] = (await freePorts(3)) as [number, number, number];
  const shared = {
    ...LOCAL,
    "metadata.postgres-url": postgres.url,
    "redis.url": redis.url,
    "registry.addresses": `127.0.0.1:${registryPort}`,
    "worker.addresses": `127.0.0.1:${workerPort}`,
    "ingress.bind-address": "127.0.0.1",
    "ingress.bind-port": 0,
    "admin.bind-address": "127.0.0.1",
    "admin.bind-port": 0,
    "grpc.bind-address": "127.0.0.1",
  };
  const only = (...names: readonly (keyof typeof shared)[]) => Object.fromEntries(names.map((name) => [name, shared[name]]));
  const local = { ...LOCAL };
  const { "probes.bind-address": _address, "probes.bind-port": _port, ...withoutProbes } = local;
  // All are started at once: each waits for those that it needs.
  [registry, gateway, admin] = await Promise.all([
    ServiceProgram.launch({
      service: "registry",
      settings: {
        ...local,
        ...only("metadata.postgres-url", "redis.url", "worker.addresses", "grpc.bind-address"),
        "grpc.bind-port": registryPort,
        "probes.bind-port": registryProbes,
      },
    }),
    ServiceProgram.launch({
      service: "ingress-gateway",
      settings: { ...local, ...only("registry.addresses", "worker.addresses", "ingress.bind-address", "ingress.bind-port") },
    }),
    ServiceProgram.launch({
      service: "admin-api",
      settings: {
        ...withoutProbes,
        ...only(
          "metadata.postgres-url",
          "redis.url",
          "registry.addresses",
          "worker.addresses",
          "admin.bind-address",
          "admin.bind-port",
        ),
      },
    }),
    ServiceProgram.launch({
      service: "invoker-worker",
      settings: {
        ...local,
        ...only("redis.url", "registry.addresses", "grpc.bind-address"),
        "grpc.bind-port": workerPort,
        "worker.num-partitions": 4,
      },
    }).then(use),
  ]);
  for (const program of [registry, gateway, admin]) use(program);
  const url = (await admin.ready())["admin"] as string;
  client = new TestAdminClient(url.replace("localhost", "127.0.0.1").replace(/\/$/, ""));
  ingress = new TestIngressClient(
    ((await gateway.ready())["ingress"] as string).replace("localhost", "127.0.0.1").replace(/\/$/, ""),
  );
  await registry.ready();
  const registered = await client.post("/deployments", { uri: endpoint.url });
  expect({ status: registered.status, text: registered.text }).toMatchObject({ status: 201 });
  deployment = (registered.json as { id: string }).id;
}, 120_000);
afterAll(async () => {
  for (const gate of gates) gate.resolve();
  client[Symbol.dispose]();
  ingress[Symbol.dispose]();
  for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
}, 60_000);

const sent = async (handler: string): Promise<string> => (await ingress.send(["Work", handler], "x")).invocationId;

describe("the management API of a cluster", () => {
  test("shows what the registry keeps, and calls of what it registered are answered", async () => {
    expect((await client.get(`/deployments/${deployment}`)).status).toBe(200);
    const { json } = await client.get("/services");
    expect((json as { services: { name: string }[] }).services.map(({ name }) => name).sort()).toEqual(["Box", "Work"]);
    const answer = await eventually("the gateway has the deployment", async () => {
      const result = await ingress.call(["Work", "echo"], "hello");
      return result.status === 200 && result;
    });
    expect(answer.json).toBe("hello");
  }, 60_000);

  test("queries partitions in Redis, together with what workers hold in memory and the registry knows", async () => {
    await ingress.call(["Work", "parent"], null);
    const id = await sent("hold");
    const row = await eventually("it is running", async () => {
      const [result] = await client.query(`SELECT status, retry_count, target FROM sys_invocation WHERE id = '${id}'`);
      return result?.["status"] === "running" && result;
    });
    expect(row).toMatchObject({ status: "running", retry_count: 1, target: "Work/hold" });
    const counts = await client.query("SELECT status, count(*) AS n FROM sys_invocation GROUP BY status ORDER BY status");
    expect(counts.map((each) => each["status"])).toEqual(["completed", "running"]);
    const [journal] = await client.query(
      "SELECT j.entry_json FROM sys_journal j JOIN sys_invocation i ON i.id = j.id WHERE i.target = 'Work/parent' AND j.entry_type = 'Command: Call'",
    );
    expect(String(journal?.["entry_json"])).toContain('"handler":"echo"');
    expect(await client.query("SELECT name FROM sys_service ORDER BY name")).toEqual([{ name: "Box" }, { name: "Work" }]);
    expect(await client.query("SELECT id FROM sys_deployment")).toEqual([{ id: deployment }]);

    await ingress.call(["Box", "k", "put"], "kept");
    expect(await client.query("SELECT service_key, key FROM state WHERE service_name = 'Box'")).toEqual([
      { service_key: "k", key: "text" },
    ]);
    const holder = (await ingress.send(["Box", "locked", "keep"], null)).invocationId;
    const locks = await eventually("the lock is shown", async () => {
      const result = await client.query("SELECT acquired_by, acquired_at FROM sys_locks WHERE lock_name = 'Box/locked'");
      return result.length === 1 && result;
    });
    expect(locks).toEqual([{ acquired_by: holder, acquired_at: expect.any(String) }]);
  }, 60_000);

  test("explains what an invocation waits for", async () => {
    const holder = await eventually(
      "the holder",
      async () => (await client.query("SELECT acquired_by FROM sys_locks WHERE lock_name = 'Box/locked'"))[0]?.["acquired_by"],
    );
    const waiting = (await ingress.send(["Box", "locked", "put"], "x")).invocationId;
    const explained = await eventually("it waits", async () => {
      const answer = await client.get(`/invocations/${waiting}/explain`);
      return answer.status === 200 && (answer.json as { waits_for: { kind: string }; blocked_by: { id: string } | null });
    });
    expect(explained).toMatchObject({ waits_for: { kind: "object_lock" }, blocked_by: { id: holder } });
    expect((await client.get(`/invocations/${waiting}/timeline`)).status).toBe(200);
  }, 60_000);

  test("carries verbs and batches to the workers", async () => {
    const ids = await Promise.all([sent("sleep"), sent("sleep"), sent("sleep")]);
    expect((await client.invocation(ids[0] as string, "kill")).status).toBe(200);
    const begun = await client.post("/invocations/batch", {
      operation: "cancel",
      filter: "target = 'Work/sleep' AND status <> 'completed'",
    });
    expect({ status: begun.status, text: begun.text }).toMatchObject({ status: 202 });
    const { id } = begun.json as { id: string };
    await eventually("the batch is over", async () => {
      const { json } = await client.get(`/invocations/batches/${id}`);
      return (json as { state: string }).state === "finished";
    });
    await eventually("all have ended", async () => {
      const [left] = await client.query(
        "SELECT count(*) AS n FROM sys_invocation WHERE target = 'Work/sleep' AND status <> 'completed'",
      );
      return Number(left?.["n"]) === 0;
    });
  }, 60_000);

  test("keeps schedules at the registry, which fires them", async () => {
    const target = { service: "Work", handler: "echo" };
    const made = await client.post("/schedules", { name: "often", cron: "* * * * * *", target, payload: "tick" });
    expect({ status: made.status, text: made.text }).toMatchObject({ status: 201 });
    const { id } = made.json as { id: string };
    await eventually("it fires", async () => {
      const { json } = await client.get(`/schedules/${id}`);
      return (json as { fired_count: number }).fired_count >= 2;
    });
    expect(await client.query("SELECT name, target_service_name FROM sys_schedule")).toEqual([
      { name: "often", target_service_name: "Work" },
    ]);
    expect((await client.post(`/schedules/${id}/run`, {})).status).toBe(202);
    const past = { from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:01:40Z" };
    const backfill = async (range: object) => (await client.post(`/schedules/${id}/backfill`, range)).json;
    expect(await backfill({ ...past, dry_run: true })).toMatchObject({ count: 100, new_count: 100 });
    expect(await backfill(past)).toMatchObject({ new_count: 100, already_ran_count: 0 });
    expect(await backfill(past)).toMatchObject({ new_count: 0, already_ran_count: 100 });
    expect((await client.delete(`/schedules/${id}`)).status).toBeLessThan(300);
    expect((await client.get(`/schedules/${id}`)).status).toBe(404);
  }, 60_000);

  test("keeps a deployment that unfinished invocations need, as the workers count them", async () => {
    const refused = await client.delete(`/deployments/${deployment}?force=false`);
    expect({ status: refused.status, text: refused.text }).toMatchObject({ status: 409 });
  }, 60_000);

  test("continues while the registry and the database are away, says what it cannot do, and recovers", async () => {
    await registry.kill();
    await postgres.kill();
    expect((await client.get("/services")).status).toBe(200);
    expect((await ingress.call(["Work", "echo"], "still")).json).toBe("still");
    const unfinished = await client.query("SELECT count(*) AS n FROM sys_invocation WHERE status <> 'completed'");
    expect(Number(unfinished[0]?.["n"])).toBeGreaterThan(2);
    // Some that are completed may be in the archive.
    expect((await client.post("/query", { query: "SELECT count(*) AS n FROM sys_invocation" })).status).toBe(503);
    const refused = await client.post("/deployments", { uri: endpoint.url, force: true });
    expect(refused.status).toBeGreaterThanOrEqual(500);
    expect(refused.text).toContain("registry");
    await postgres.startAgain();
    await registry.startAgain();
    await registry.ready();
    await eventually("registrations are accepted again", async () => {
      const { status } = await client.post("/deployments", { uri: endpoint.url, force: true });
      return status < 300;
    });
  }, 60_000);

  test("ends in order when it is stopped", async () => {
    expect(await probe(Number(new URL(String((await admin.ready())["admin"])).port))).toMatchObject({ status: 200 });
    expect(await admin.stop()).toMatchObject({ code: 0 });
  }, 60_000);
});
