/**
 * Requests that the console forwards to environments, and their answers: target, headers, bounds, and when they end. The test is the
 * gateway.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bareOf, type EnvironmentId } from "@perdure/cloud";
import { FORWARDED_FOR_HEADER, ForwardingKeys } from "@perdure/cloud/forwarding";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { ConsolePage, openTestTenancy, type TestTenancy } from "../src/testing/index.js";
import type { Script } from "./console-proxy-parts.js";

/** Stands for a gateway: answers as the test says, and keeps the received requests. */
let gateway: Server;
let script: Script;
let requests: IncomingMessage[];
let database: EmptyDatabase;
let cloud: TestTenancy;
let page: ConsolePage;
let account: string;
let environment: EnvironmentId;

const portOf = (one: Server): number => (one.address() as AddressInfo).port;

beforeAll(async () => {
  gateway = createServer((req, res) => {
    requests.push(req);
    script(req, res);
  });
  gateway.listen(0, "127.0.0.1");
  [database] = await Promise.all([startDatabase(), once(gateway, "listening")]);
  const port = portOf(gateway);
  cloud = await openTestTenancy(database.url, {
    console: { gateway: { host: "127.0.0.1", scheme: "http", ports: { ingress: port, admin: port } } },
  });
  page = await ConsolePage.of(cloud.origin, "ada@perdure.test");
  account = (await page.post("/console/cloud/ListAccounts")).json.accounts[0].accountId;
  environment = await anEnvironment(page, account, "dev");
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  gateway.closeAllConnections();
  await new Promise((resolve) => gateway.close(resolve));
  await database[Symbol.asyncDispose]();
});
beforeEach(() => {
  requests = [];
  script = (_req, res) => void res.writeHead(200, { "content-type": "application/json" }).end("{}");
});

async function anEnvironment(owner: ConsolePage, of: string, name: string): Promise<EnvironmentId> {
  const { json } = await owner.post(`/console/cloud/${of}/CreateEnvironment`, { name, region: "us" });
  await cloud.ports.database.tables.environments.take(json.environmentId, { event: "provisioned", nowMs: cloud.clock.nowMs() });
  return json.environmentId;
}

const at = (endpoint: "admin" | "ingress", path: string, id: string = environment): string =>
  `/console/environments/${id}/${endpoint}${path}`;

describe("what reaches the gateway", () => {
  test("is the request unchanged, with a token of the session's user", async () => {
    script = (req, res) => void req.pipe(res.writeHead(201, { "content-type": "application/json" }));
    const path = "/Greeter/greet%2Fx/..%2f?a=1&b=%20%22";
    const answer = await page.post(
      at("ingress", path),
      { name: "Ada" },
      { "idempotency-key": "k1", "x-mine": "kept", accept: "application/json" },
    );
    expect([answer.status, answer.json]).toEqual([201, { name: "Ada" }]);
    const [req] = requests;
    expect([req?.method, req?.url]).toEqual(["POST", path]);
    expect(req?.headers).toMatchObject({
      host: `${bareOf(environment)}.env.us.perdure.test:8080`,
      "content-type": "application/json",
      "content-length": "14",
      "idempotency-key": "k1",
      "x-mine": "kept",
      accept: "application/json",
    });
    const token = /^Bearer (\S+)$/.exec(req?.headers.authorization ?? "")?.[1] ?? "";
    const { userId } = (await page.load()).json.user;
    const facts = await cloud.ports.tokens.verify(token);
    expect(facts).toMatchObject({ userId, sessionId: expect.stringMatching(/^session_/) });
    expect((facts?.expiresAtMs ?? 0) - cloud.clock.nowMs()).toBeLessThanOrEqual(300_000);
    // The same token for some minutes, so that gateways can cache it; then another one.
    const tokenNow = async () => {
      await page.request("GET", at("admin", "/services"));
      return requests.at(-1)?.headers.authorization;
    };
    expect(await tokenNow()).toBe(`Bearer ${token}`);
    cloud.clock.aheadMs += 151_000;
    expect(await tokenNow()).not.toBe(`Bearer ${token}`);
    expect(requests.at(-1)?.headers.host).toBe(`${bareOf(environment)}.env.us.perdure.test:9070`);
  });

  test("has no headers that are only for the console", async () => {
    await page.request("GET", at("ingress", "/x"), {
      authorization: "Bearer key_stolen",
      "proxy-authorization": "Basic eA==",
      origin: "https://api.us.perdure.test",
      referer: "https://api.us.perdure.test/secret/path",
      "sec-fetch-mode": "cors",
      "sec-ch-ua": "x",
      "x-forwarded-for": "1.2.3.4",
      "x-forwarded-host": "evil.test",
      forwarded: "for=1.2.3.4",
      "x-real-ip": "1.2.3.4",
      te: "trailers",
      connection: "close, x-hop",
      "x-hop": "1",
      "access-control-request-method": "PUT",
    });
    const { authorization, host, connection, ...rest } = requests[0]?.headers ?? {};
    expect([rest, connection]).toEqual([{}, "close"]);
    expect(authorization).not.toContain("key_stolen");
    expect(host).not.toContain("evil");
    expect(JSON.stringify(requests[0]?.rawHeaders)).not.toMatch(/session|csrf|stolen|1\.2\.3\.4/);
  });

  test("has the signed address of the browser for gateways that share a key, whatever the page sends", async () => {
    const keys = ForwardingKeys.parse(`1 ${Buffer.alloc(32, 1).toString("base64")}`, "test");
    const port = portOf(gateway);
    const at127 = { host: "127.0.0.1", scheme: "http", ports: { ingress: port, admin: port } } as const;
    await using forwardingTenancy = await openTestTenancy(database.url, { console: { gateway: at127, forwarding: keys } });
    const teller = await ConsolePage.of(forwardingTenancy.origin, "teller@perdure.test");
    const theirs = (await teller.post("/console/cloud/ListAccounts")).json.accounts[0].accountId;
    const place = await anEnvironment(teller, theirs, "dev");
    const lie = keys.sign("203.0.113.7", `${bareOf(place)}.env.us.perdure.test:8080`, cloud.clock.nowMs());
    await teller.request("GET", at("ingress", "/x", place), { [FORWARDED_FOR_HEADER]: lie });
    const { host = "", [FORWARDED_FOR_HEADER]: forwardedFor = "" } = requests[0]?.headers ?? {};
    expect(keys.verify(String(forwardedFor), host, forwardingTenancy.clock.nowMs())).toBe("127.0.0.1");
    await page.request("GET", at("ingress", "/x"), { [FORWARDED_FOR_HEADER]: lie });
    expect(requests[1]?.headers).not.toHaveProperty(FORWARDED_FOR_HEADER);
  });

  test("is nothing for foreign environments, deleted ones, and invalid paths", async () => {
    const other = await ConsolePage.of(cloud.origin, "other@perdure.test");
    const theirs = (await other.post("/console/cloud/ListAccounts")).json.accounts[0].accountId;
    const foreign = await anEnvironment(other, theirs, "dev");
    const gone = await anEnvironment(page, account, "gone");
    await cloud.ports.database.tables.environments.take(gone, { event: "destroy", nowMs: cloud.clock.nowMs(), eraseAtMs: 1 });
    const never = "env_201k0yd4rz8yftmd4awh1bajg4v";
    const answers = [];
    for (const id of [foreign, gone, never, "env_x", "..", `${environment}x`]) {
      for (const endpoint of ["admin", "ingress"] as const)
        answers.push(await page.request("GET", at(endpoint, "/services", id)));
    }
    for (const path of [
      `/console/environments/${environment}`,
      `/console/environments/${environment}/admin`,
      `/console/environments/${environment}/other/x`,
      `/console/environments/${environment}/Admin/x`,
      "/console/environments/",
    ]) {
      answers.push(await page.request("GET", path));
    }
    for (const { status, code, json } of answers)
      expect([status, code, json.message]).toEqual([404, "PERD0404", "Unknown environment"]);
    expect(requests).toEqual([]);
    expect((await other.request("GET", at("admin", "/services", foreign))).status).toBe(200);
  });

  test("ends with the session and with the membership", async () => {
    const member = await ConsolePage.of(cloud.origin, "member@perdure.test");
    const { userId } = (await member.load()).json.user;
    const { accounts } = cloud.ports.database.tables;
    expect((await member.request("GET", at("admin", "/services"))).status).toBe(404);
    await accounts.addMember({ accountId: account as never, userId, role: "viewer", sinceMs: cloud.clock.nowMs() });
    expect((await member.request("GET", at("admin", "/services"))).status).toBe(200);
    await accounts.removeMember(account as never, userId);
    expect((await member.request("GET", at("admin", "/services"))).status).toBe(404);
    const kept = member.cookie;
    await member.post("/console/logout");
    expect((await member.request("GET", at("admin", "/services"), { cookie: kept })).status).toBe(401);
    expect(requests).toHaveLength(1);
  });
});

describe("what comes back", () => {
  test("T31: has no header that changes the browser's state for the console's origin", async () => {
    script = (_req, res) => {
      res.writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "set-cookie": ["__Host-perdure_session=evil", "x=1"],
        "clear-site-data": '"*"',
        "content-security-policy": "default-src *",
        "content-disposition": "inline",
        "access-control-allow-origin": "*",
        "access-control-allow-credentials": "true",
        "strict-transport-security": "max-age=0",
        "service-worker-allowed": "/",
        "www-authenticate": 'Basic realm="x"',
        refresh: "0; url=https://evil.test",
        link: "</evil.js>; rel=preload",
        "report-to": "{}",
        "cache-control": "public, max-age=1000",
        "x-restate-id": "inv_1",
        server: "inside",
      });
      res.end("<script>alert(document.domain)</script>");
    };
    const { status, headers, text } = await page.request("GET", at("ingress", "/Html/show"));
    expect([status, text]).toEqual([200, "<script>alert(document.domain)</script>"]);
    const { date, connection, "x-request-id": requestId, "transfer-encoding": encoding, ...rest } = headers;
    expect([date, requestId, connection, encoding]).toEqual([expect.any(String), expect.any(String), "close", "chunked"]);
    expect(rest).toEqual({
      "content-type": "text/html; charset=utf-8",
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-restate-id": "inv_1",
    });
  });

  test.each([
    ["application/json", undefined],
    ["application/json; charset=utf-8", undefined],
    ["application/problem+json", undefined],
    ["text/html", "attachment"],
    ["image/svg+xml", "attachment"],
    ["application/jsonl", "attachment"],
    ["text/html, application/json", "attachment"],
    ["", "attachment"],
  ])("%s is disposed of as %s", async (type, disposition) => {
    script = (_req, res) => void res.writeHead(200, type === "" ? {} : { "content-type": type }).end("1");
    expect((await page.request("GET", at("ingress", "/x")).catch(() => undefined))?.headers["content-disposition"]).toBe(
      disposition,
    );
  });

  test("redirects only within the same environment", async () => {
    let location = "";
    script = (_req, res) => void res.writeHead(307, { location }).end();
    const prefix = at("admin", "");
    const table: [string, string | undefined][] = [
      ["/deployments/dp_1?x=1", `${prefix}/deployments/dp_1?x=1`],
      ["/../../../console/logout", `${prefix}/console/logout`],
      ["/%2e%2e/x", `${prefix}/x`],
      ["https://evil.test/", undefined],
      ["//evil.test/", undefined],
      ["/.//evil.test/", undefined],
      ["/\\evil.test", undefined],
      ["javascript:alert(1)", undefined],
      ["relative", undefined],
      ["", undefined],
    ];
    for (const [given, expected] of table) {
      location = given;
      const answer = await page.request("POST", at("admin", "/x"));
      expect([given, answer.status, answer.headers.location]).toEqual([given, 307, expected]);
    }
  });

  test("is the gateway's answer, whatever it is", async () => {
    for (const status of [204, 304, 401, 403, 409, 429, 500, 503]) {
      const body = status === 204 || status === 304 ? "" : '{"message":"m","restate_code":"PERD0429"}';
      script = (_req, res) =>
        void res
          .writeHead(status, { "content-type": "application/json", "retry-after": "7", "x-request-id": "theirs" })
          .end(body);
      const answer = await page.request("POST", at("admin", "/invocations/x"));
      expect(answer).toMatchObject({ status, text: body, headers: { "retry-after": "7", "x-request-id": "theirs" } });
    }
  });
});
