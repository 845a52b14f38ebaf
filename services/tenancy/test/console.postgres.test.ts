/** The console's API on a real database: authentication, requests of foreign pages, confirmation, and the paths of the page. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type EnvironmentId, newAccountId } from "@perdure/cloud";
import { openConsole } from "@perdure/console-host";
import { type TinyConsole, writeTinyConsole } from "@perdure/console-host/testing";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import {
  BrowserClient,
  ConsolePage,
  openTestTenancy,
  CONSOLE_PASSWORD as PASSWORD,
  TEST_ISSUER,
  type TestTenancy,
} from "../src/testing/index.js";

let database: EmptyDatabase;
let tiny: TinyConsole;
let cloud: TestTenancy;
beforeAll(async () => {
  [database, tiny] = await Promise.all([startDatabase(), writeTinyConsole()]);
  const host = await openConsole(tiny.directory, { base: "/", csp: { connect: [] } });
  cloud = await openTestTenancy(database.url, { console: { host } });
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await tiny[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await cloud.ports.database.tables.session.write("DELETE FROM perdure_attempts");
  cloud.clock.aheadMs += 3_600_000; // So that no counter of an earlier test is left.
});

let userCount = 0;
const newPage = (): Promise<ConsolePage> => ConsolePage.of(cloud.origin, `console${userCount++}@perdure.test`);

/** The account that signing up made, and an environment in it. */
async function withEnvironment(page: ConsolePage): Promise<{ account: string; environment: EnvironmentId }> {
  const { json } = await page.post("/console/cloud/ListAccounts");
  const account = json.accounts[0].accountId as string;
  const made = await page.post(`/console/cloud/${account}/CreateEnvironment`, { name: "dev", region: "us" });
  expect(made.status).toBe(200);
  // As if its runtime had started.
  await cloud.ports.database.tables.environments.take(made.json.environmentId, {
    event: "provisioned",
    nowMs: cloud.clock.nowMs(),
  });
  return { account, environment: made.json.environmentId };
}

const actions = async (account: string): Promise<string[]> =>
  (await cloud.ports.database.tables.audit.list({ accountId: account as never }, 50)).map(({ action }) => action);

describe("the session of the page", () => {
  test("contains the user, the proof for requests, and until when the user is confirmed", async () => {
    const page = await newPage();
    const { status, json, headers } = await page.load();
    expect(status).toBe(200);
    expect(json).toEqual({
      user: { userId: expect.stringMatching(/^user_/), email: expect.stringMatching(/^console\d+@/), name: "Ada" },
      csrf: expect.stringMatching(/^[\w-]{43}$/),
      confirmedUntil: expect.any(Number),
      confirmBy: { password: true, provider: null },
      expiresAt: expect.any(Number),
      apiUrl: TEST_ISSUER,
    });
    const now = cloud.clock.nowMs() / 1_000;
    expect(json.confirmedUntil - now).toBeGreaterThan(890);
    expect(json.confirmedUntil - now).toBeLessThanOrEqual(900);
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
    expect(headers["content-security-policy"]).toContain("sandbox");
  });

  test("is in a cookie that no script reads and no other site sends along with a form", async () => {
    const browser = new BrowserClient(cloud.origin);
    const { headers } = await browser.submit("/sign-up", "/sign-up", {
      email: `console${userCount++}@perdure.test`,
      password: PASSWORD,
    });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-perdure_session=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure$/),
      expect.stringMatching(/^__Host-perdure_device=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=15552000; Secure$/),
    ]);
    expect(headers.get("location")).toBe("/");
  });

  test("ends by sign-out, from elsewhere, and by time", async () => {
    const page = await newPage();
    const anonymous = new ConsolePage(cloud.origin);
    expect(await anonymous.load()).toMatchObject({ status: 401, code: "PERD0401" });
    const kept = page.cookie;
    expect((await page.post("/console/logout")).status).toBe(204);
    expect(await page.request("GET", "/console/session", { cookie: kept })).toMatchObject({ status: 401, code: "PERD0401" });

    const other = await newPage();
    cloud.clock.aheadMs += 7 * 86_400_000 + 1_000;
    for (const path of ["/console/cloud/ListAccounts", "/console/logout", "/console/confirm"]) {
      expect(await other.post(path, { password: PASSWORD })).toMatchObject({ status: 401, code: "PERD0401" });
    }
    expect(await other.load()).toMatchObject({ status: 401 });
  });

  test("is one of several, which only its user lists and ends", async () => {
    const page = await newPage();
    const { email } = (await page.load()).json.user;
    const phone = new ConsolePage(cloud.origin, new BrowserClient(cloud.origin, "A phone"));
    await phone.browser.submit("/login", "/login", { email, password: PASSWORD });
    await phone.load();
    const { json } = await page.request("GET", "/console/sessions");
    expect(json.sessions).toMatchObject([
      { label: "A phone", kind: "browser", isCurrent: false, remoteAddress: expect.any(String) },
      { label: "Test Browser", isCurrent: true },
    ]);
    const [{ sessionId }] = json.sessions;
    const otherPage = await newPage();
    expect(await otherPage.post("/console/sessions/end", { sessionId })).toMatchObject({ status: 404, code: "PERD0404" });
    expect((await phone.load()).status).toBe(200);
    expect((await page.post("/console/sessions/end", { sessionId })).status).toBe(204);
    expect((await phone.load()).status).toBe(401);
    expect(await page.post("/console/sessions/end", { sessionId })).toMatchObject({ status: 404 });
    expect((await page.load()).status).toBe(200);
  });
});

describe("T31: requests that are not the page's", () => {
  const PATHS = [
    "/console/cloud/ListAccounts",
    "/console/cloud/CreateAccount",
    "/console/cloud/acc_0123456789ABCDEFGHIJKLM/ListEnvironments",
    "/console/sessions/end",
    "/console/confirm",
    "/console/logout",
    "/console/environments/env_201k0yd4rz8yftmd4awh1bajg4v/admin/services",
    "/console/environments/env_201k0yd4rz8yftmd4awh1bajg4v/ingress/Greeter/greet",
  ];

  test("are refused when the proof, the origin or the content type is missing", async () => {
    const [page, other] = [await newPage(), await newPage()];
    const form = /name="csrf" value="([^"]+)"/.exec((await page.browser.get("/profile")).text)?.[1] ?? "";
    const cases: readonly Record<string, string>[] = [
      { "x-perdure-csrf": "" },
      { "x-perdure-csrf": "wrong" },
      { "x-perdure-csrf": `${page.csrf}A` },
      { "x-perdure-csrf": other.csrf },
      { "x-perdure-csrf": form },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.test" },
      { origin: "null" },
      { origin: `${TEST_ISSUER}.evil.test` },
      { origin: TEST_ISSUER.replace("https", "http") },
      // What a form of another site can send.
      { "x-perdure-csrf": "", "content-type": "text/plain", "sec-fetch-site": "cross-site", origin: "https://evil.test" },
      { "x-perdure-csrf": "", "content-type": "text/plain", "sec-fetch-site": "", origin: "" },
      { "x-perdure-csrf": "", "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "" },
    ];
    for (const headers of cases) {
      for (const path of PATHS) {
        expect([headers, path, await page.post(path, {}, headers)]).toMatchObject([
          headers,
          path,
          { status: 403, code: "PERD0403" },
        ]);
      }
      if (headers["x-perdure-csrf"] === undefined)
        expect((await page.request("GET", "/console/session", headers)).status).toBe(403);
    }
    for (const path of PATHS) {
      // Reading needs the proof too: a page that is opened cannot show it.
      expect((await page.request("GET", path, { "x-perdure-csrf": "" })).status).not.toBe(200);
    }
    expect((await page.load()).status).toBe(200); // No session has ended.
    expect((await page.post("/console/cloud/ListAccounts", {}, { origin: TEST_ISSUER })).status).toBe(200);
  }, 60_000);

  test("a body without the content type of JSON is not read", async () => {
    const page = await newPage();
    const asText = await page.request(
      "POST",
      "/console/confirm",
      { "content-type": "text/plain" },
      JSON.stringify({ password: PASSWORD }),
    );
    expect(asText).toMatchObject({ status: 400, code: "PERD0400" });
    expect(await page.post("/console/confirm", { password: "x".repeat(2_000) })).toMatchObject({ status: 400 });
    expect(
      await page.request("POST", "/console/confirm", { "content-type": "application/json" }, "x".repeat(70_000)),
    ).toMatchObject({
      status: 413,
    });
  });

  test("a bearer token grants nothing here, and a session nothing there", async () => {
    const page = await newPage();
    const user = await cloud.user();
    const headers = { cookie: "", authorization: `Bearer ${user.token}` };
    expect((await page.post("/console/cloud/ListAccounts", {}, headers)).status).toBe(401);
    expect((await page.post("/cloud/ListAccounts")).status).toBe(401);
  });
});

describe("operations of the Cloud API", () => {
  test("give the same answers, roles and errors as with tokens", async () => {
    const page = await newPage();
    const { account, environment } = await withEnvironment(page);
    expect(await page.post(`/console/cloud/${account}/DescribeEnvironment`, { environmentId: environment })).toMatchObject({
      status: 200,
      json: { environmentId: environment, name: "dev", status: "ACTIVE" },
    });
    expect(await page.post(`/console/cloud/${account}/Nothing`)).toMatchObject({ status: 404, code: "PERD0404" });
    expect(await page.post("/console/cloud/Nothing")).toMatchObject({ status: 404, code: "PERD0404" });
    expect(await page.post(`/console/cloud/${account}/CreateEnvironment`, { name: "No" })).toMatchObject({ status: 400 });
    expect(await page.request("GET", "/console/cloud/ListAccounts")).toMatchObject({ status: 405, code: "PERD0405" });
    const csv = await page.post(`/console/cloud/${account}/ExportAuditEvents`, { format: "csv" });
    expect([csv.status, csv.headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(csv.text).toContain("environment.create");
  });

  test("of other accounts are refused, whether these exist or not", async () => {
    const [page, other] = [await newPage(), await newPage()];
    const { account, environment } = await withEnvironment(other);
    const nowhere = newAccountId(cloud.ports.random);
    for (const operation of [
      "DescribeAccount",
      "ListEnvironments",
      "DescribeEnvironment",
      "DestroyEnvironment",
      "CreateApiKey",
      "ListApiKeys",
      "ListMembers",
      "InviteMember",
      "GetUsage",
      "ListAuditEvents",
      "ExportAuditEvents",
    ]) {
      const body = { environmentId: environment };
      const [foreign, unknown] = [
        await page.post(`/console/cloud/${account}/${operation}`, body),
        await page.post(`/console/cloud/${nowhere}/${operation}`, body),
      ];
      expect([operation, foreign]).toMatchObject([operation, { status: 403, code: "PERD0403" }]);
      expect(foreign.json.message).toBe(unknown.json.message);
    }
  });

  test("a viewer can read and change nothing", async () => {
    const [owner, viewer] = [await newPage(), await newPage()];
    const { account, environment } = await withEnvironment(owner);
    const { userId } = (await viewer.load()).json.user;
    await cloud.ports.database.tables.accounts.addMember({
      accountId: account as never,
      userId,
      role: "viewer",
      sinceMs: cloud.clock.nowMs(),
    });
    const request = (operation: string, body: object = {}) =>
      viewer.post(`/console/cloud/${account}/${operation}`, { environmentId: environment, ...body });
    for (const operation of ["ListEnvironments", "DescribeEnvironment", "ListApiKeys", "ListMembers", "GetUsage"]) {
      expect([operation, (await request(operation)).status]).toEqual([operation, 200]);
    }
    for (const [operation, body] of [
      ["CreateEnvironment", { name: "x", region: "us" }],
      ["DestroyEnvironment", { confirmName: "dev" }],
      ["SuspendEnvironment", {}],
      ["CreateApiKey", { roleId: "rst:role::FullAccess" }],
      ["RotateSigningKey", {}],
      ["InviteMember", { email: "a@b.test", role: "viewer" }],
      ["ListAuditEvents", {}],
    ] as const) {
      expect([operation, await request(operation, body)]).toMatchObject([operation, { status: 403, code: "PERD0403" }]);
    }
  });
});

describe("dangerous actions", () => {
  /** Sends the same request before and after the confirmation has expired. */
  async function later(page: ConsolePage): Promise<void> {
    cloud.clock.aheadMs += 15 * 60_000 + 1_000;
    expect((await page.load()).json.confirmedUntil * 1_000).toBeLessThan(cloud.clock.nowMs());
  }

  test("T31: need a new confirmation a quarter of an hour after sign-in: keys that write, destroying, owners", async () => {
    const page = await newPage();
    const { account, environment } = await withEnvironment(page);
    const member = (await (await newPage()).load()).json.user.userId;
    await cloud.ports.database.tables.accounts.addMember({
      accountId: account as never,
      userId: member,
      role: "developer",
      sinceMs: cloud.clock.nowMs(),
    });
    const me = (await page.load()).json.user.userId;
    const of = (operation: string, body: object) => page.post(`/console/cloud/${account}/${operation}`, body);
    await later(page);
    const dangerous = [
      ["CreateApiKey", { environmentId: environment, roleId: "rst:role::FullAccess" }],
      ["CreateApiKey", { environmentId: environment, roleId: "rst:role::IngressAccess" }],
      ["UpdateMember", { userId: member, role: "owner" }],
      ["UpdateMember", { userId: me, role: "admin" }],
      ["InviteMember", { email: "new.owner@perdure.test", role: "owner" }],
      ["RemoveMember", { userId: me }],
      ["DestroyEnvironment", { environmentId: environment, confirmName: "dev" }],
      ["RetireSigningKey", { environmentId: environment, force: true }],
    ] as const;
    for (const [operation, body] of dangerous) {
      expect([operation, await of(operation, body)]).toMatchObject([operation, { status: 403, code: "PERD0428" }]);
    }
    // Other operations do not need it.
    for (const [operation, body] of [
      ["CreateApiKey", { environmentId: environment, roleId: "perdure:role::AdminReadOnly" }],
      ["UpdateMember", { userId: member, role: "viewer" }],
      ["SuspendEnvironment", { environmentId: environment }],
    ] as const) {
      expect([operation, (await of(operation, body)).code]).not.toEqual([operation, "PERD0428"]);
    }
    expect((await page.post("/console/confirm", { password: PASSWORD })).status).toBe(204);
    expect((await page.load()).json.confirmedUntil * 1_000).toBeGreaterThan(cloud.clock.nowMs());
    expect(await of("CreateApiKey", dangerous[0][1])).toMatchObject({
      status: 200,
      json: { apiKey: expect.stringMatching(/^key_/) },
    });
    expect((await of("UpdateMember", dangerous[2][1])).status).toBe(200);
    expect((await of("DestroyEnvironment", dangerous[6][1])).status).toBe(200);
    expect(await actions(account)).toEqual(expect.arrayContaining(["login.confirm", "key.create", "environment.destroy"]));
  }, 60_000);

  test("calls with a token need no confirmation", async () => {
    const user = await cloud.user();
    const account = await user.account();
    const { environmentId } = await user.client.account(account, "CreateEnvironment", { name: "dev", region: "us" });
    cloud.clock.aheadMs += 3_600_000;
    const made = await user.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
    expect(made.apiKey).toMatch(/^key_/);
  });

  test("a stolen session must not be used to guess the password", async () => {
    const page = await newPage();
    const { email } = (await page.load()).json.user;
    const answers = [];
    for (let n = 0; n < 12; n++) answers.push((await page.post("/console/confirm", { password: `wrong ${n}` })).status);
    expect(answers).toEqual([...Array.from({ length: 10 }, () => 403), 429, 429]);
    const right = await page.post("/console/confirm", { password: PASSWORD });
    expect([right.status, right.code, Number(right.headers["retry-after"]) > 0]).toEqual([429, "PERD0429", true]);
    // Guesses here and at sign-in are counted together.
    expect((await new BrowserClient(cloud.origin).submit("/login", "/login", { email, password: PASSWORD })).status).toBe(429);
    cloud.clock.aheadMs += 900_000;
    expect((await page.post("/console/confirm", { password: PASSWORD })).status).toBe(204);
  }, 30_000);

  test("a user without a password gets a hint to confirm at the provider", async () => {
    const page = await newPage();
    const { userId } = (await page.load()).json.user;
    await cloud.ports.database.tables.session.write("DELETE FROM perdure_passwords WHERE user_id = $1", [userId]);
    expect((await page.load()).json.confirmBy).toEqual({ password: false, provider: null });
    expect(await page.post("/console/confirm", { password: PASSWORD })).toMatchObject({ status: 409, code: "PERD0409" });
  });
});
