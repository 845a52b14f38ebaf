/** Webhooks receive signed events; a delivery that they refuse is retried, then listed as failed, and can be replayed. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Context, service } from "@restatedev/restate-sdk";
import { Webhook } from "standardwebhooks";
import { eventually, SdkEndpoint, TestWorld } from "../src/index.js";

interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const requests: ReceivedRequest[] = [];
/** Responses by path, the last one for all further requests. */
const answers: Record<string, { status: number; headers?: Record<string, string> }[]> = {};
const jobs = service({
  name: "Jobs",
  handlers: {
    run: async (_ctx: unknown, n: number) => n,
    forge: (ctx: Context, subscription: string) =>
      ctx.genericCall<string, unknown>({
        service: "perdure.webhooks",
        method: subscription,
        key: "k",
        parameter: "forged",
        headers: { "x-perdure-event-id": "evt_forged" },
      }),
  },
});

let world: TestWorld;
let receiver: Server;
let base = "";
beforeAll(async () => {
  receiver = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const path = req.url ?? "";
      requests.push({ path, headers: req.headers, body: Buffer.concat(chunks).toString() });
      const queue = answers[path] ?? [];
      const answer = queue.length > 1 ? queue.shift() : queue[0];
      res
        .writeHead(answer?.status ?? 204, { ...answer?.headers, connection: "close" })
        .end(answer === undefined ? undefined : `an answer: no ${path}`);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  world = await TestWorld.start();
  await world.deploy({ services: [jobs] });
});
afterAll(async () => {
  const closed = new Promise((resolve) => receiver.close(resolve));
  receiver.closeAllConnections();
  await closed;
  await world[Symbol.asyncDispose]();
});

async function subscribe(path: string): Promise<{ readonly id: string; readonly secret: string }> {
  const answer = await world.admin.post("/event-subscriptions", { types: ["invocation.completed"], to: { url: base + path } });
  expect(answer.status).toBe(201);
  return answer.json as { id: string; secret: string };
}
const requestsTo = (path: string) => requests.filter((request) => request.path === path);
const deliveries = (id: string) =>
  world.admin.query(
    `select id, event_id, status, failure from sys_event_delivery where subscription_id = '${id}' order by created_at`,
  );
const verify = (secret: string, { headers, body }: ReceivedRequest): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

test("an event is signed with its subscription's secret, with both during a rotation, and with one after a revocation", async () => {
  const path = "/hooks/?a=b";
  const { id, secret } = await subscribe(path);
  expect((await world.admin.get(`/event-subscriptions/${id}`)).text).not.toContain("whsec_");
  const first = await world.ingress.send(["Jobs", "run"], 1);
  await eventually("the event", () => requestsTo(path).length === 1);
  const request = requestsTo(path)[0] as ReceivedRequest;
  const event = verify(secret, request) as { id: string; subject: string };
  expect(event).toMatchObject({ id: request.headers["webhook-id"], subject: first.invocationId, type: "invocation.completed" });
  expect(() => verify(`whsec_${Buffer.alloc(24).toString("base64")}`, request)).toThrow();
  expect(() => verify(secret, { ...request, body: `${request.body} ` })).toThrow();

  const rotated = (await world.admin.post(`/event-subscriptions/${id}/rotate-secret`, {})).json as { secret: string };
  await world.ingress.send(["Jobs", "run"], 2);
  await eventually("the next event", () => requestsTo(path).length === 2);
  const next = requestsTo(path)[1] as ReceivedRequest;
  expect(verify(secret, next)).toEqual(verify(rotated.secret, next));

  const revoked = await world.admin.post(`/event-subscriptions/${id}/revoke-old-secret`, {});
  expect([revoked.status, (revoked.json as { secret_count: number }).secret_count]).toEqual([200, 1]);
  expect(revoked.text).not.toContain("whsec_");
  await world.ingress.send(["Jobs", "run"], 20);
  await eventually("an event after the revocation", () => requestsTo(path).length === 3);
  const last = requestsTo(path)[2] as ReceivedRequest;
  verify(rotated.secret, last);
  expect(() => verify(secret, last)).toThrow();
  await eventually("both are delivered", async () => (await deliveries(id)).every(({ status }) => status === "delivered"));
  await world.admin.delete(`/event-subscriptions/${id}`);
});

test("a failure and a redirect are retried with the same id; the redirect is not followed", async () => {
  const path = "/retried";
  answers[path] = [
    { status: 302, headers: { location: `${base}/elsewhere` } },
    { status: 503, headers: { "retry-after": "1" } },
    { status: 200 },
  ];
  const { id, secret } = await subscribe(path);
  await world.ingress.send(["Jobs", "run"], 3);
  await eventually("three requests", () => requestsTo(path).length === 3);
  const ids = requestsTo(path).map((request) => (verify(secret, request) as { id: string }).id);
  expect(new Set(ids).size).toBe(1);
  expect(requestsTo("/elsewhere")).toEqual([]);
  await eventually("it is delivered", async () => (await deliveries(id))[0]?.["status"] === "delivered");
  await world.admin.delete(`/event-subscriptions/${id}`);
});

test("a receiver that requests no pause gets one, and a handler cannot have its own text signed", async () => {
  const path = "/eager";
  answers[path] = [
    { status: 429, headers: { "retry-after": "0" } },
    { status: 503, headers: { "retry-after": "0" } },
    { status: 200 },
  ];
  const { id } = await subscribe(path);
  const beganMs = performance.now();
  await world.ingress.send(["Jobs", "run"], 5);
  await eventually("it is delivered", async () => (await deliveries(id))[0]?.["status"] === "delivered");
  expect(performance.now() - beganMs).toBeGreaterThan(2_000); // Two pauses of at least a second each.
  const forged = await world.ingress.send(["Jobs", "forge"], id);
  const failure = async () => String((await world.admin.row(forged.invocationId))?.["last_failure"]);
  await eventually("the call is refused", async () => (await failure()).includes("perdure.webhooks cannot be called"));
  await world.admin.invocation(forged.invocationId, "kill");
  expect(requestsTo(path).length).toBe(3);
  await world.admin.delete(`/event-subscriptions/${id}`);
});

test("parts of an address that may be credentials are in no list, table, failure or log, and requests have them", async () => {
  const path = "/services/T0AAAAAAA/x7KdPq9Zl2?token=s3cr3t%2Fvalue";
  answers[path] = [{ status: 410 }];
  const { id } = await subscribe(path);
  const shown = `${base}/services/***?token=***`;
  const answer = await world.admin.get(`/event-subscriptions/${id}`);
  expect(answer.json).toMatchObject({ to: { url: shown, redacted: true } });
  const again = { types: ["invocation.completed"], to: { url: shown } };
  expect((await world.admin.post("/event-subscriptions", again)).status).toBe(400);
  expect(await world.admin.query(`select url from sys_event_subscription where id = '${id}'`)).toEqual([{ url: shown }]);
  await world.ingress.send(["Jobs", "run"], 8);
  await eventually("the request", () => requestsTo(path).length === 1);
  await eventually("the refusal", async () => (await deliveries(id))[0]?.["status"] === "failed");
  const [dead] = await deliveries(id);
  expect(dead?.["failure"]).toContain("no /services/***/***?token=***");
  const texts = [
    (await world.admin.get("/event-subscriptions")).text,
    (await world.admin.get(`/invocations/${String(dead?.["id"])}/bundle`)).text,
    JSON.stringify(await world.admin.query("select * from sys_invocation where target_service_name = 'perdure.webhooks'")),
    world.server.lines.join("\n"),
  ];
  for (const text of texts) for (const part of ["T0AAAAAAA", "x7KdPq9Zl2", "s3cr3t"]) expect(text).not.toContain(part);
  await world.admin.delete(`/event-subscriptions/${id}`);
});

test("an event of a subscription that was deleted meanwhile fails, after the registry had time to show it", async () => {
  const path = "/gone";
  answers[path] = [{ status: 500 }];
  const { id } = await subscribe(path);
  await world.ingress.send(["Jobs", "run"], 6);
  await eventually("the first request", () => requestsTo(path).length === 1);
  await world.admin.delete(`/event-subscriptions/${id}`);
  const [delivery] = await deliveries(id);
  await eventually("the delivery fails", async () => {
    // Its next attempt begins at once; the pauses between them are a minute in all.
    await world.admin.http.request("PATCH", `/invocations/${delivery?.["id"]}/resume`);
    return String((await deliveries(id))[0]?.["failure"]).includes("does not exist, or was deleted");
  });
}, 60_000);

test("the egress guard refuses a webhook inside the network, to which nothing is sent", async () => {
  await using endpoint = await SdkEndpoint.start({ services: [jobs] });
  await using guarded = await TestWorld.start();
  expect((await guarded.admin.post("/deployments", { uri: endpoint.url })).status).toBe(201);
  const subscription = { types: ["invocation.completed"], to: { url: `${base}/inside` } };
  expect((await guarded.admin.post("/event-subscriptions", subscription)).status).toBe(201);
  await guarded.server.stop();
  await guarded.server.startAgain({ "egress.policy": "guarded", "egress.allow": JSON.stringify([`${endpoint.url}/`]) });
  expect((await guarded.admin.post("/event-subscriptions", subscription)).status).toBe(400);
  await guarded.ingress.send(["Jobs", "run"], 7);
  const waiting = `select last_failure from sys_invocation where target_service_name = 'perdure.webhooks'`;
  const failure = async () => String((await guarded.admin.query(waiting))[0]?.["last_failure"]);
  await eventually("the delivery is refused", async () => (await failure()).includes("not allowed"));
  expect(requestsTo("/inside")).toEqual([]);
}, 120_000);

test("an event that the receiver refuses is listed as failed, and is delivered by a replay, also after a crash", async () => {
  const path = "/refused";
  answers[path] = [{ status: 410 }];
  const { id, secret } = await subscribe(path);
  await world.ingress.send(["Jobs", "run"], 4);
  await eventually("the dead letter", async () => (await deliveries(id))[0]?.["status"] === "failed");
  const [dead] = await deliveries(id);
  expect(dead?.["failure"]).toContain("the webhook answered 410: an answer");
  await world.server.kill();
  await world.server.startAgain();
  answers[path] = [{ status: 200 }];
  expect((await world.admin.post(`/event-deliveries/${String(dead?.["id"])}/replay`, {})).status).toBe(200);
  await eventually("the replay", () => requestsTo(path).length === 2);
  const [before, after] = requestsTo(path) as [ReceivedRequest, ReceivedRequest];
  expect(verify(secret, after)).toEqual(verify(secret, before));
  await eventually("it is delivered", async () =>
    (await deliveries(id)).some(({ status, event_id }) => status === "delivered" && event_id === dead?.["event_id"]),
  );
});
