/**
 * The threats of cloud.md §7 tried on the real programs: two customers with an environment each, behind one gateway, with guarded
 * runtimes. Threats that need no whole cloud are tested beside the code; docs/operating/threats.md lists both.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { mock } from "node:test";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { bareOf } from "@perdure/cloud";
import { freePorts } from "@perdure/servers";
import { handlers, service } from "@restatedev/restate-sdk";
import { eventually, type HttpAnswer, HttpClient, SdkEndpoint, TestListener } from "../../src/index.js";
import { type CloudEnvironment, CloudWorld, type Customer, DOMAIN } from "./cloud-world.js";

const TEST_MS = 120_000;
/** Change events take milliseconds; cloud.md §4.5 requires 5 s with them and 30 s without. */
const REVOKED_MS = 5_000;

interface Party {
  readonly customer: Customer;
  readonly environment: CloudEnvironment;
  readonly key: { readonly id: string; readonly text: string };
}

let world: CloudWorld;
let a: Party;
let b: Party;
/** Accepts only what A's environment signed. */
let endpoint: SdkEndpoint;
/** What was shown to the endpoint, by path. */
const shown = new Map<string, Readonly<Record<string, string | string[] | undefined>>>();
const SECRET = "it-is-a-secret-that-nobody-shall-read";

const echo = service({
  name: "Echo",
  handlers: { headers: handlers.handler({}, async (ctx) => Object.fromEntries(ctx.request().headers)) },
});

async function party(): Promise<Party> {
  const customer = await world.customer();
  const environment = await customer.environment();
  return { customer, environment, key: await environment.key() };
}

beforeAll(async () => {
  const [port, nosyPort] = (await freePorts(2)) as [number, number];
  world = await CloudWorld.start({ gateways: 2, onlyOrigins: [`http://127.0.0.1:${port}`, `http://127.0.0.1:${nosyPort}`] });
  [a, b] = await Promise.all([party(), party()]);
  endpoint = await SdkEndpoint.start({
    services: [echo],
    port,
    identityKeys: [a.environment.signingPublicKey],
    onRequest: (path, headers) => shown.set(path, headers),
  });
  nosy = { port: nosyPort, origin: `http://127.0.0.1:${nosyPort}` };
  expect((await register(a, endpoint.url)).status).toBe(201);
}, TEST_MS);
afterAll(async () => {
  await endpoint?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);
afterEach(() => mock.timers.reset());

/** An endpoint that is not an SDK's. */
let nosy: { readonly port: number; readonly origin: string };

const register = ({ environment, key }: Party, uri: string, more: object = {}): Promise<HttpAnswer> =>
  environment.request("admin", "POST", "/deployments", key.text, { uri, ...more });

async function rowsOf({ environment, key }: Party, query: string): Promise<readonly Record<string, unknown>[]> {
  const answer = await environment.request("admin", "POST", "/query", key.text, { query });
  expect([answer.status, answer.status === 200 ? "" : answer.text]).toEqual([200, ""]);
  return (answer.json as { rows: Record<string, unknown>[] }).rows;
}

const refusal = ({ status, json }: HttpAnswer): readonly unknown[] => [status, (json as { restate_code?: string })?.restate_code];

test("T1: a key opens its own environment only, at its ports and by its name", async () => {
  for (const by of ["request", "requestByName"] as const) {
    expect((await a.environment[by]("ingress", "POST", "/Echo/headers", a.key.text)).status).toBe(200);
    expect(refusal(await b.environment[by]("ingress", "POST", "/Echo/headers", a.key.text))).toEqual([403, "PERD0403"]);
    expect(refusal(await b.environment[by]("admin", "GET", "/services", a.key.text))).toEqual([403, "PERD0403"]);
  }
  expect(await rowsOf(b, "SELECT id FROM sys_invocation")).toEqual([]);
});

describe("T4, T6: where a tenant's runtime connects to", () => {
  test.each([
    ["a private address", () => "http://10.0.0.1:9080/"],
    ["the machine's metadata", () => "http://169.254.169.254/latest/meta-data/"],
    ["…written as an IPv6 address", () => "https://[::ffff:169.254.169.254]/"],
    ["the machine itself, as one number", () => "http://2130706433:9080/"],
    ["the Cloud API", () => world.apiUrl],
    ["another environment's management", () => b.environment.adminUrl],
    ["another environment by name", () => `https://${bareOf(b.environment.id)}.env.us.${DOMAIN}:8080`],
    ["the platform's API by name", () => `https://api.us.${DOMAIN}`],
  ])("%s: the destination is not allowed, and nothing more is said", async (_what, uri) => {
    const refused = await register(a, uri());
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: "[META0003] destination not allowed", restate_code: "META0003" },
    ]);
  });
});

test("T5: an answer from something other than a service reveals little: no header, and 256 characters of text", async () => {
  const listener = await TestListener.open(
    createServer((_req, res) => {
      res.writeHead(500, { "content-type": "text/plain", "x-secret": SECRET });
      res.end(`${"-".repeat(256)}${SECRET}`);
    }),
    nosy.port,
  );
  const refused = await register(a, nosy.origin, { use_http_11: true });
  await listener.close();
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.text).toContain("----");
  expect(refused.text).not.toContain(SECRET);
  expect(refused.text.length).toBeLessThan(1_000);
});

test("T10: a signed request that was recorded is valid for its own path, for a minute", async () => {
  await a.environment.request("ingress", "POST", "/Echo/headers", a.key.text);
  const jwt = String(shown.get("/invoke/Echo/headers")?.["x-restate-jwt-v1"]);
  const claims = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()) as { exp: number; aud: string };
  expect(claims).toMatchObject({ aud: "/invoke/Echo/headers" });
  expect(claims.exp * 1_000 - Date.now()).toBeLessThanOrEqual(61_000);
  const h1 = await SdkEndpoint.start({
    services: [echo],
    kind: "h1-request-response",
    identityKeys: [a.environment.signingPublicKey],
  });
  using client = new HttpClient(h1.url);
  const headers = { "x-restate-signature-scheme": "v1", "x-restate-jwt-v1": jwt, accept: "application/json" };
  const replay = async (path: string): Promise<number> =>
    (await client.request("POST", path, { headers: { ...headers, "content-type": "application/vnd.restate.invocation.v5" } }))
      .status;
  expect(await replay("/invoke/Echo/headers")).not.toBe(401);
  expect(await replay("/invoke/Echo/others")).toBe(401);
  mock.timers.enable({ apis: ["Date"], now: claims.exp * 1_000 + 1_000 });
  expect(await replay("/invoke/Echo/headers")).toBe(401);
  mock.timers.reset();
  await h1[Symbol.asyncDispose]();
});

test("T11: each environment signs with a key of its own, and services of one refuse the other", async () => {
  expect(a.environment.signingPublicKey).not.toBe(b.environment.signingPublicKey);
  const kidShown = (): unknown => {
    const [header = ""] = String(shown.get("/discover")?.["x-restate-jwt-v1"]).split(".");
    return (JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string }).kid;
  };
  expect(kidShown()).toBe(a.environment.signingPublicKey);
  const refused = await register(b, endpoint.url);
  expect(kidShown()).toBe(b.environment.signingPublicKey);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.text).toContain("401");
});

test("T12, T32: neither credentials nor lies reach handlers, journals or logs", async () => {
  using client = new HttpClient(a.environment.ingressUrl);
  const answer = await client.request("POST", "/Echo/headers", {
    headers: {
      authorization: `Bearer ${a.key.text}`,
      "x-restate-jwt-v1": "a-lie",
      "x-restate-signature-scheme": "a-lie",
      "x-perdure-runtime-secret": "a-lie",
      "x-forwarded-for": "10.1.2.3",
      "x-real-ip": "10.1.2.3",
      forwarded: "for=10.1.2.3",
      "x-mine": "kept",
    },
  });
  expect([answer.status, answer.json]).toEqual([
    200,
    expect.objectContaining({ "x-forwarded-for": "127.0.0.1", "x-mine": "kept" }),
  ]);
  const secret = a.key.text.slice(a.key.text.indexOf(".") + 1);
  const runtimeSecret = readFileSync(join(world.environmentsDirectory, a.environment.id, "secret"), "utf8");
  const journal = JSON.stringify(await rowsOf(a, "SELECT * FROM sys_journal"));
  const ownLog = readFileSync(join(world.environmentsDirectory, a.environment.id, "runtime.log"), "utf8");
  expect(journal).toContain("x-mine");
  expect(world.log).toContain(a.key.id);
  for (const text of [answer.text, journal, ownLog, world.log, world.tenancy.lines.join("\n")]) {
    for (const hidden of ["a-lie", "10.1.2.3", secret, runtimeSecret]) expect(text).not.toContain(hidden);
  }
});

describe("T14: access ends at both endpoints when it is removed", () => {
  test("from a key", async () => {
    const { id, text } = await a.environment.key();
    expect((await a.environment.request("ingress", "POST", "/Echo/headers", text)).status).toBe(200);
    expect((await a.environment.request("admin", "GET", "/services", text)).status).toBe(200);
    const { accountId, client } = a.customer;
    await client.account(accountId, "DeleteApiKey", { environmentId: a.environment.id, keyId: id as never });
    for (const api of ["ingress", "admin"] as const) {
      const refused = await eventually(
        `the ${api} is notified`,
        async () => {
          const answer = await a.environment.request(api, "GET", "/services", text);
          return answer.status === 401 ? answer : undefined;
        },
        REVOKED_MS,
      );
      expect(refusal(refused)).toEqual([401, "PERD0401"]);
    }
  });

  test("from a member", async () => {
    const { accountId, client } = a.customer;
    const invitee = await world.people.user();
    const { token } = await client.account(accountId, "InviteMember", { email: invitee.email, role: "developer" });
    await world.clientOf(invitee).user("AcceptInvitation", { token });
    await eventually(
      "the invitee is admitted",
      async () => (await a.environment.request("admin", "GET", "/services", invitee.token)).status === 200,
      REVOKED_MS + 30_000,
    );
    expect(refusal(await b.environment.request("admin", "GET", "/services", invitee.token))).toEqual([403, "PERD0403"]);
    await client.account(accountId, "RemoveMember", { userId: invitee.id });
    await eventually(
      "the invitee is not admitted any more",
      async () => (await a.environment.request("admin", "GET", "/services", invitee.token)).status === 403,
      REVOKED_MS,
    );
  });
});

test("T19: statements and state show one's own environment", async () => {
  const [own] = await rowsOf(a, "SELECT id FROM sys_invocation LIMIT 1");
  const id = String(own?.["id"]);
  expect(id).toMatch(/^inv_/);
  expect(await rowsOf(b, `SELECT id FROM sys_invocation WHERE id = '${id}'`)).toEqual([]);
  expect(await rowsOf(b, "SELECT id FROM sys_deployment")).toEqual([]);
  expect((await b.environment.request("admin", "GET", `/invocations/${id}/explain`, b.key.text)).status).toBe(404);
  expect((await b.environment.request("ingress", "GET", `/restate/invocation/${id}/output`, b.key.text)).status).toBe(404);
  const changing = await b.environment.request("admin", "POST", "/query", b.key.text, { query: "DELETE FROM sys_invocation" });
  expect(changing.status).toBeGreaterThanOrEqual(400);
});

describe("T20: a tenant that sends too many requests", () => {
  const HEALTH = "/restate/health"; // With a key it is forwarded to the runtime and counted.

  test("gets one rate, whichever gateways it uses", async () => {
    const customer = await world.customer("free");
    const environment = await customer.environment();
    const { text } = await environment.key();
    const ingressRate = { perSecond: 20, burst: 50 }; // Of the plan (cloud.md §5.4).
    const startedAt = performance.now();
    const endsAt = startedAt + 4_000;
    let passed = 0;
    let refused = 0;
    const sendRequests = async (gateway: number): Promise<void> => {
      while (performance.now() < endsAt) {
        const { status } = await environment.requestByName("ingress", "GET", HEALTH, text, undefined, gateway);
        if (status === 200) passed++;
        else if (status === 429) refused++;
        else throw new Error(`answered ${status}`);
      }
    };
    await Promise.all(Array.from({ length: 40 }, (_, n) => sendRequests(n % 2)));
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(refused).toBeGreaterThan(100);
    expect(passed).toBeGreaterThan(ingressRate.burst);
    expect(passed).toBeLessThanOrEqual((ingressRate.burst + ingressRate.perSecond * seconds) * 1.1);
    // The neighbours are served as ever.
    expect((await a.environment.request("ingress", "GET", HEALTH, a.key.text)).status).toBe(200);
  });

  test("by one key is held to that key's rate, and its other keys are not", async () => {
    const { accountId, client } = a.customer;
    const { id: environmentId } = a.environment;
    const made = await client.account(accountId, "CreateApiKey", {
      environmentId,
      roleId: "rst:role::IngressAccess",
      ratePerSecond: 4,
    });
    expect(made.ratePerSecond).toBe(4);
    const statusOf = async (token: string) => (await a.environment.request("ingress", "GET", HEALTH, token)).status;
    const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(made.apiKey)));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(8);
    expect(await statusOf(a.key.text)).toBe(200);
  });
});

test("T24: a function without a role would be called in the platform's own name, and is refused", async () => {
  const { environment, key } = a;
  const arn = "arn:aws:lambda:us-east-1:123456789012:function:hello:1";
  const refused = await environment.request("admin", "POST", "/deployments", key.text, { arn });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("assume_role_arn")]);
});

test("T25: who may only read sees that there are secrets, not what they say", async () => {
  const { customer, environment } = a;
  const registered = await register(a, endpoint.url, { force: true, additional_headers: { "x-token": SECRET } });
  expect(registered.status).toBeLessThan(300);
  const viewer = await world.people.user();
  const { token } = await customer.client.account(customer.accountId, "InviteMember", { email: viewer.email, role: "viewer" });
  await world.clientOf(viewer).user("AcceptInvitation", { token });
  const reader = await environment.key("perdure:role::AdminReadOnly");
  for (const credential of [viewer.token, reader.text]) {
    const list = await environment.request("admin", "GET", "/deployments", credential);
    expect([list.status, list.text]).toEqual([200, expect.stringContaining('"x-token":"***"')]);
    expect(list.text).not.toContain(SECRET);
    expect(refusal(await environment.request("admin", "POST", "/deployments", credential, { uri: "x" }))).toEqual([
      403,
      "PERD0403",
    ]);
    expect(refusal(await environment.request("ingress", "POST", "/Echo/headers", credential))).toEqual([403, "PERD0403"]);
  }
  expect((await environment.request("admin", "GET", "/deployments", a.key.text)).text).toContain(SECRET);
});

test("a suspended environment takes no calls and no changes, and still shows itself (cloud.md §8, 37)", async () => {
  const { customer, environment, key } = b;
  await customer.client.account(customer.accountId, "SuspendEnvironment", { environmentId: environment.id });
  const suspended = await eventually(
    "the gateway is notified",
    async () => {
      const answer = await environment.request("ingress", "POST", "/Echo/headers", key.text);
      return answer.status === 403 ? answer : undefined;
    },
    REVOKED_MS,
  );
  expect(refusal(suspended)).toEqual([403, "PERD0110"]);
  expect(refusal(await environment.request("admin", "POST", "/deployments", key.text, { uri: "x" }))).toEqual([403, "PERD0110"]);
  await eventually(
    "it is read again",
    async () => (await environment.request("admin", "GET", "/services", key.text)).status === 200,
    30_000,
  );
});

test("while tenancy is killed, cached credentials are accepted, others get a time to retry after, and none is accepted unchecked", async () => {
  const { environment, key, customer } = a;
  const unseen = await environment.key();
  const gone = await environment.key();
  expect((await environment.request("ingress", "POST", "/Echo/headers", key.text)).status).toBe(200);
  const { accountId, client } = customer;
  await client.account(accountId, "DeleteApiKey", { environmentId: environment.id, keyId: gone.id as never });
  await world.tenancy.kill();
  const answers = await Promise.all(
    [key.text, unseen.text, gone.text].map((token) => environment.request("ingress", "POST", "/Echo/headers", token)),
  );
  expect(answers.map(refusal)).toEqual([
    [200, undefined],
    [503, "PERD0503"],
    [503, "PERD0503"],
  ]);
  expect(Number(answers[1]?.headers["retry-after"])).toBeGreaterThan(0);
  await world.tenancy.startAgain();
  await world.tenancy.ready();
  const statusOf = async (token: string) => (await environment.request("ingress", "POST", "/Echo/headers", token)).status;
  await eventually("the unseen key is good", async () => (await statusOf(unseen.text)) === 200, 30_000);
  expect(await statusOf(gone.text)).toBe(401);
  expect(await statusOf(key.text)).toBe(200);
});

test("what passed is in the books when the gateway has stopped (cloud.md §8, 72)", async () => {
  await Promise.all(world.gateways.map((gateway) => gateway.stop()));
  const { accountId, client } = a.customer;
  const { totals } = await client.account(accountId, "GetUsage", { environmentId: a.environment.id });
  expect(totals.ingressRequests).toBeGreaterThanOrEqual(5);
  expect(totals.bytesOut).toBeGreaterThan(500);
});
