/** Events about invocations reach a handler at least once and in order, also when the server is killed in between. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type ObjectContext, object, service, TerminalError } from "@restatedev/restate-sdk";
import { eventually, TestWorld } from "../src/index.js";

interface PerdureEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly target: string; readonly failure?: { readonly message: string } };
}

const KILLS = 4;
const JOBS = 120;
const received: PerdureEvent[] = [];
let isReceiving = true;
let failsUntil = 0;

const alerts = service({
  name: "Alerts",
  handlers: {
    receive: async (_ctx: unknown, event: PerdureEvent) => {
      if (!isReceiving) throw new Error("not now");
      received.push(event);
    },
    refuse: async () => {
      throw new TerminalError("never");
    },
  },
});
const log = object({
  name: "EventLog",
  handlers: {
    add: async (ctx: ObjectContext, event: PerdureEvent) => {
      ctx.set("types", [...((await ctx.get<string[]>("types")) ?? []), event.type]);
    },
    types: async (ctx: ObjectContext) => (await ctx.get<string[]>("types")) ?? [],
  },
});
const jobs = service({
  name: "Jobs",
  handlers: {
    run: async (_ctx: unknown, n: number) => {
      if (n % 3 === 0) throw new TerminalError(`job ${n}`);
      return n;
    },
    pauses: async () => {
      if (failsUntil-- > 0) throw new Error("again");
    },
  },
});

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({
    settings: {
      "worker.invoker.default-retry-policy.initial-interval": "10ms",
      "worker.invoker.default-retry-policy.max-interval": "50ms",
      "worker.invoker.default-retry-policy.max-attempts": 2,
      "worker.invoker.default-retry-policy.on-max-attempts": "pause",
    },
  });
  await world.deploy({ services: [alerts, log, jobs] });
});
afterAll(() => world[Symbol.asyncDispose]());

async function subscribe(types: readonly string[], to: object, filter: object = {}): Promise<string> {
  const answer = await world.admin.post("/event-subscriptions", { types, to, filter });
  expect(answer.status).toBe(201);
  return (answer.json as { id: string }).id;
}
const deliveries = (id: string, status: string) =>
  world.admin.query(
    `select id, event_id, subject, failure from sys_event_delivery where subscription_id = '${id}' and status = '${status}'`,
  );

test("every end of an invocation is delivered, with unique ids, although the server is killed", async () => {
  const id = await subscribe(
    ["invocation.completed", "invocation.failed"],
    { service: "Alerts", handler: "receive" },
    {
      service: "Jobs",
    },
  );
  const sent: string[] = [];
  for (let n = 0; n < JOBS; n++) {
    sent.push((await world.ingress.send(["Jobs", "run"], n, { idempotencyKey: `job ${n}` })).invocationId);
    if (n % (JOBS / KILLS) !== JOBS / KILLS - 1) continue;
    await world.server.kill();
    await world.server.startAgain();
  }
  const subjects = () => new Set(received.map(({ subject }) => subject));
  await eventually("all events", () => sent.every((one) => subjects().has(one)));
  const idsOf = new Map<string, Set<string>>();
  for (const { subject, id: eventId } of received) idsOf.set(subject, (idsOf.get(subject) ?? new Set()).add(eventId));
  expect([...idsOf.values()].filter(({ size }) => size !== 1)).toEqual([]);
  expect(new Set([...idsOf.values()].flatMap((ids) => [...ids])).size).toBe(JOBS);
  expect(received.find(({ subject }) => subject === sent[3])).toMatchObject({
    type: "invocation.failed",
    data: { target: "Jobs/run", failure: { message: "job 3" } },
  });
  await eventually("all are delivered", async () => (await deliveries(id, "delivered")).length === JOBS);
  expect((await world.admin.delete(`/event-subscriptions/${id}`)).status).toBe(202);
});

test("the events of one invocation arrive in order, whatever happens between them", async () => {
  const id = await subscribe(
    ["invocation.paused", "invocation.completed"],
    { service: "EventLog", handler: "add" },
    {
      handler: "pauses",
    },
  );
  failsUntil = 4;
  const { invocationId } = await world.ingress.send(["Jobs", "pauses"]);
  for (let pause = 0; pause < 2; pause++) {
    await eventually("a pause", async () => (await world.admin.row(invocationId))?.["status"] === "paused");
    await eventually("its event", async () => (await deliveries(id, "delivered")).length === pause + 1);
    if (pause === 0) {
      await world.server.kill();
      await world.server.startAgain();
    }
    expect((await world.admin.invocation(invocationId, "resume")).status).toBe(200);
  }
  await eventually("the end", async () => (await deliveries(id, "delivered")).length === 3);
  expect(await world.ingress.result(["EventLog", `${id}.${invocationId}`, "types"])).toEqual([
    "invocation.paused",
    "invocation.paused",
    "invocation.completed",
  ]);
  await world.admin.delete(`/event-subscriptions/${id}`);
});

test("deliveries that ended without success are listed, and can be replayed", async () => {
  isReceiving = false;
  const id = await subscribe(["invocation.completed"], { service: "Alerts", handler: "receive" }, { service: "Jobs" });
  const refused = await subscribe(["invocation.completed"], { service: "Alerts", handler: "refuse" }, { service: "Jobs" });
  await world.ingress.result(["Jobs", "run"], 1);
  await eventually("the pause", async () => (await deliveries(id, "paused")).length === 1);
  await eventually("the failure", async () => (await deliveries(refused, "failed")).length === 1);
  const [paused] = await deliveries(id, "paused");
  const [failed] = await deliveries(refused, "failed");
  expect(failed?.["failure"]).toContain("never");
  const before = received.length;
  isReceiving = true;
  const resumed = await world.admin.post(`/event-deliveries/${String(paused?.["id"])}/replay`, {});
  expect(resumed.json).toEqual({ invocation_id: paused?.["id"] });
  await eventually("the event", () => received.length === before + 1);
  const copied = await world.admin.post(`/event-deliveries/${String(failed?.["id"])}/replay`, {});
  expect(copied.status).toBe(200);
  await eventually("the copy", async () => (await deliveries(refused, "failed")).length === 2);
  const event = await world.admin.query(
    `select count(distinct event_id) as n from sys_event_delivery where subscription_id = '${refused}'`,
  );
  expect(Number(event[0]?.["n"])).toBe(1);
  const { invocationId } = await world.ingress.send(["Jobs", "run"], 2);
  expect((await world.admin.post(`/event-deliveries/${invocationId}/replay`, {})).status).toBe(404);
});
