/**
 * Events about the environment reach a handler once for each change, also when the server is killed in between: a limit at its maximum, a
 * Kafka subscription without a consumer, a deployment that no invocation needs any more.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, TestWorld } from "../src/index.js";
import { admissionGate, gateService } from "../src/services/admission-gate.js";
import { gate } from "./gate.js";

interface EnvironmentEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const LONG_TEST_MS = 120_000;
const received: EnvironmentEvent[] = [];
const alerts = service({
  name: "Alerts",
  handlers: {
    receive: async (_ctx: unknown, event: EnvironmentEvent) => {
      received.push(event);
    },
  },
});

/** Invocations of the old revision wait for this. */
let release: (() => void) | undefined;
const released = new Promise<void>((resolve) => {
  release = resolve;
});
const waits = (name: string) =>
  service({
    name,
    handlers: {
      wait: async (ctx: Context) => {
        await ctx.run("begin", () => 1);
        await released;
        return "done";
      },
    },
  });

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({
    settings: {
      "worker.invoker.max-protocol-version": 7,
      "events.check-interval": "200ms",
      "events.stuck-after": "2s",
      "events.saturated-after": "1s",
    },
  });
  await world.deploy({ services: [alerts, gateService] });
});
afterAll(() => world[Symbol.asyncDispose]());

const { send, rules, inside, done } = gate(() => world);

/** Conditions that hold, by SQL. */
const conditionsOf = (subject: string) =>
  world.admin.query(`SELECT type, services, handler, scope FROM sys_condition WHERE subject = '${subject}'`);

async function subscribe(types: readonly string[], filter: object = {}): Promise<string> {
  const to = { service: "Alerts", handler: "receive" };
  const answer = await world.admin.post("/event-subscriptions", { types, to, filter });
  expect(answer.status).toBe(201);
  return (answer.json as { id: string }).id;
}

async function killServer(): Promise<void> {
  await world.server.kill();
  await world.server.startAgain();
}

/** Ids of the received events of a subject, by type and without repeats. */
function typesOf(subject: string): string[] {
  const own = received.filter((event) => event.subject === subject);
  return [...new Map(own.map(({ id, type }) => [id, type])).values()];
}

test(
  "a limit at its maximum is an event, and its end is one, once each",
  async () => {
    const id = await subscribe(["limit.saturated", "limit.recovered"], { scope: "full" });
    await rules({ pattern: "full", limits: { concurrency: 1 } });
    const ids = [await send("full", { group: "full", name: "a" }), await send("full", { group: "full", name: "b" })];
    await inside("full", 1);
    await eventually("the event", () => typesOf("full").length === 1);
    expect(received.find(({ subject }) => subject === "full")).toMatchObject({
      type: "limit.saturated",
      data: { scope: "full", rule: "full", running: 1, concurrency: 1, waiting_queues: 1 },
    });
    await killServer();
    expect(await conditionsOf("full")).toEqual([{ type: "limit.saturated", services: [], scope: "full" }]);
    await inside("full", 1);
    admissionGate.group("full").isOpen = true;
    for (const leave of admissionGate.group("full").leaving.values()) leave();
    await done(ids);
    await eventually("the end", () => typesOf("full").length === 2);
    expect(typesOf("full")).toEqual(["limit.saturated", "limit.recovered"]);
    await eventually("no condition", async () => (await conditionsOf("full")).length === 0);
    const rows = await world.admin.query(
      `select event_type, subject, status from sys_event_delivery where subscription_id = '${id}' order by created_at`,
    );
    expect(rows).toMatchObject([
      { event_type: "limit.saturated", subject: "full", status: "delivered" },
      { event_type: "limit.recovered", subject: "full", status: "delivered" },
    ]);
    await world.admin.delete(`/event-subscriptions/${id}`);
  },
  LONG_TEST_MS,
);

test(
  "a subscription whose cluster cannot be reached is stuck, once, although the server is killed",
  async () => {
    const id = await subscribe(["subscription.stuck"]);
    const properties = { "bootstrap.servers": "127.0.0.1:1" };
    expect((await world.admin.post("/kafka-clusters", { name: "away", properties })).status).toBe(201);
    const created = await world.admin.post("/subscriptions", { source: "kafka://away/orders", sink: "service://Gate/pass" });
    const subject = (created.json as { id: string }).id;
    await eventually("the event", () => typesOf(subject).length === 1, 30_000);
    expect(received.find((event) => event.subject === subject)).toMatchObject({
      type: "subscription.stuck",
      data: { source: "kafka://away/orders", consuming: false, lag: 0 },
    });
    expect(await conditionsOf(subject)).toEqual([{ type: "subscription.stuck", services: ["Gate"], handler: "pass" }]);
    await killServer();
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(typesOf(subject)).toEqual(["subscription.stuck"]);
    await world.admin.delete(`/subscriptions/${subject}`);
    await world.admin.delete(`/event-subscriptions/${id}`);
  },
  LONG_TEST_MS,
);

test(
  "a deployment is drained when the last invocation on an old revision has ended",
  async () => {
    const old = await world.deploy({ services: [waits("Slow")] });
    const { invocationId } = await world.ingress.send(["Slow", "wait"]);
    await eventually("it is pinned", async () => {
      const row = await world.admin.row(invocationId);
      return row?.["pinned_deployment_id"] === old.id;
    });
    const id = await subscribe(["deployment.drained"], { service: "Slow" });
    await world.deploy({ services: [waits("Slow")] });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(typesOf(old.id)).toEqual([]);
    await killServer();
    release?.();
    expect(await world.ingress.outcome(invocationId, 60_000)).toBe("done");
    await eventually("the event", () => typesOf(old.id).length === 1, 30_000);
    expect(received.find(({ subject }) => subject === old.id)).toMatchObject({
      type: "deployment.drained",
      data: { deployment: old.id, services: [{ name: "Slow", revision: 1 }] },
    });
    await world.admin.delete(`/event-subscriptions/${id}`);
  },
  LONG_TEST_MS,
);
