/** Devices that log in by a code which a user approves in a browser. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Secret, systemClock } from "@perdure/base";
import { CloudClient, OAuthClient } from "@perdure/cloud-client";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { BrowserClient, openTestTenancy, TEST_ISSUER, type TestTenancy } from "../src/testing/index.js";

const PASSWORD = "correct horse battery";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const CLIENT = { client_id: "perdure-cli" };

let database: EmptyDatabase;
let cloud: TestTenancy;
beforeAll(async () => {
  database = await startDatabase();
  cloud = await openTestTenancy(database.url);
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** So that no test uses up the attempts of another. */
async function freshRates(): Promise<void> {
  await cloud.ports.database.tables.session.write("DELETE FROM perdure_attempts");
  cloud.clock.aheadMs += 3_600_000;
}

let userCount = 0;
async function signedUp(email = `Person${userCount++}@perdure.test`): Promise<{ browser: BrowserClient; email: string }> {
  await freshRates();
  const browser = new BrowserClient(cloud.origin);
  const { status, location } = await browser.submit("/sign-up", "/sign-up", { email, password: PASSWORD, name: "Ada" });
  expect([status, location]).toEqual([303, "/"]);
  return { browser, email: email.toLowerCase() };
}

async function oauth(path: string, fields: Readonly<Record<string, string>>) {
  const response = await fetch(`${cloud.origin}/oauth/${path}`, { method: "POST", body: new URLSearchParams(fields) });
  expect(response.headers.get("cache-control")).toBe("no-store");
  return { status: response.status, body: (await response.json()) as Record<string, string | number> };
}

async function begun(fields: Readonly<Record<string, string>> = {}) {
  const { status, body } = await oauth("device_authorization", { ...CLIENT, scope: "openid offline_access", ...fields });
  expect(status).toBe(200);
  return { code: String(body["device_code"]), userCode: String(body["user_code"]), body };
}

const poll = (code: string) => oauth("token", { ...CLIENT, grant_type: DEVICE_GRANT, device_code: code });
const refresh = (token: string) => oauth("token", { ...CLIENT, grant_type: "refresh_token", refresh_token: token });
const decide = (browser: BrowserClient, userCode: string, decision: string) =>
  browser.submit(`/device?user_code=${userCode}`, "/device/decide", { user_code: userCode, decision });

async function loggedIn(browser: BrowserClient) {
  const { code, userCode } = await begun();
  expect((await decide(browser, userCode, "approve")).status).toBe(200);
  const { status, body } = await poll(code);
  expect(status).toBe(200);
  return { access: String(body["access_token"]), refresh: String(body["refresh_token"]) };
}

/** Confirms the user's presence; returns the target of the redirection. */
async function confirm(browser: BrowserClient, path = "/login/confirm"): Promise<string> {
  const to = /name="return" value="([^"]+)"/.exec((await browser.get(path)).text)?.[1] ?? "";
  const { status, location } = await browser.submit(path, "/login/confirm", { password: PASSWORD, return: to });
  expect(status).toBe(303);
  return location;
}

async function apiStatus(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${cloud.origin}/cloud/ListAccounts`, { method: "POST", headers })).status;
}

const actions = async (email: string): Promise<string[]> => {
  const { users, accounts, audit } = cloud.ports.database.tables;
  const [account] = await accounts.ofUser((await users.ofEmail(email))?.id as never);
  return (await audit.list({ accountId: account?.id as never }, 50)).map(({ action }) => action).toReversed();
};

describe("a device", () => {
  test("T16: logs in from start to a call of the Cloud API, and continues with new tokens", async () => {
    const { browser, email } = await signedUp();
    const client = new OAuthClient({ baseUrl: `${cloud.origin}/dropped`, clock: { ...systemClock, setTimer: atOnce } });
    const login = await client.begin("Ada's laptop");
    expect(login.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(login.verificationUriComplete).toBe(`${TEST_ISSUER}/device?user_code=${login.userCode}`);
    expect([login.deviceCode.reveal().length > 22, login.intervalMs]).toEqual([true, 5_000]);
    const shown = await browser.get(`/device?user_code=${login.userCode}`);
    for (const fact of ["Ada&#39;s laptop", "127.0.0.1", login.userCode, email]) expect(shown.text).toContain(fact);
    const { body } = await poll(login.deviceCode.reveal());
    expect(body["error"]).toBe("authorization_pending"); // Opening the page does not approve (T16).
    expect((await decide(browser, login.userCode, "approve")).text).toContain("Ada&#39;s laptop");
    const tokens = await client.approved(login, new AbortController().signal);
    const parts = tokens.accessToken.reveal().split(".");
    const claims = JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString("utf8"));
    expect([parts.length, Number.isInteger(claims.exp), claims.exp - claims.iat]).toEqual([3, true, 43_200]);
    expect(tokens.accessToken.reveal()).not.toContain("=");
    const call = (token: Secret) =>
      new CloudClient({ baseUrl: cloud.origin, accessToken: () => token }).user("GetUserIdentity", {});
    expect(await call(tokens.accessToken)).toMatchObject({ email });
    const next = await client.refresh(tokens.refreshToken);
    expect(await call(next.accessToken)).toMatchObject({ email });
    await client.revoke(next.refreshToken);
    await expect(client.refresh(next.refreshToken)).rejects.toMatchObject({ problem: "invalid_grant" });
    await expect(call(next.accessToken)).rejects.toMatchObject({ status: 401, code: "PERD0401" });
    expect(await actions(email)).toEqual(expect.arrayContaining(["login.device-approve", "login.device", "login.revoke"]));
  });

  test("T31: is approved only by a user with a recent confirmation", async () => {
    const { browser, email } = await signedUp();
    cloud.clock.aheadMs += 15 * 60_000 + 1_000;
    const { code, userCode } = await begun();
    const here = `/device?user_code=${userCode}`;
    const confirmPath = `/login/confirm?return=${encodeURIComponent(here.replace("-", ""))}`;
    expect((await browser.get(here)).location).toBe(confirmPath);
    const byForm = (path: string, fields: Record<string, string>) =>
      browser.submit("/device", path, { user_code: userCode, ...fields });
    expect((await byForm("/device", {})).location).toBe(confirmPath);
    expect((await byForm("/device/decide", { decision: "approve" })).location).toBe(confirmPath);
    expect((await poll(code)).body["error"]).toBe("authorization_pending");
    const wrong = await browser.submit(confirmPath, "/login/confirm", { password: "not this one" });
    expect([wrong.status, wrong.text.includes("The password is wrong")]).toEqual([403, true]);
    expect((await byForm("/device/decide", { decision: "approve" })).location).toBe(confirmPath);
    expect(await confirm(browser, confirmPath)).toBe(here.replace("-", ""));
    expect((await decide(browser, userCode, "approve")).text).toContain("perdure env configure");
    expect(await actions(email)).toEqual(expect.arrayContaining(["login.confirm", "login.failed", "login.device-approve"]));
    expect((await new BrowserClient(cloud.origin).get(confirmPath)).location).toBe(
      `/login?return=${encodeURIComponent(here.replace("-", ""))}`,
    );
    // Denying a device needs no confirmation.
    cloud.clock.aheadMs += 15 * 60_000 + 1_000;
    const other = await begun();
    const denied = await browser.submit("/device", "/device/decide", { user_code: other.userCode, decision: "deny" });
    expect([denied.status, denied.text.includes("was denied")]).toEqual([200, true]);
  });

  test("polls: pending, too fast, then once", async () => {
    const { browser } = await signedUp();
    const { code, userCode } = await begun();
    expect(await poll(code)).toMatchObject({ status: 400, body: { error: "authorization_pending", restate_code: "PERD0400" } });
    expect((await poll(code)).body["error"]).toBe("slow_down");
    cloud.clock.aheadMs += 6_000;
    expect((await poll(code)).body["error"]).toBe("slow_down"); // The interval is ten seconds now.
    cloud.clock.aheadMs += 16_000;
    expect((await poll(code)).body["error"]).toBe("authorization_pending");
    expect((await decide(browser, userCode, "approve")).status).toBe(200);
    const both = await Promise.all([poll(code), poll(code)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    expect((await poll(code)).body["error"]).toBe("invalid_grant");
    expect((await decide(browser, userCode, "approve")).status).toBe(404);
  });

  test("is denied, expires, or does not exist", async () => {
    const { browser, email } = await signedUp();
    const denied = await begun();
    expect((await decide(browser, denied.userCode, "deny")).status).toBe(200);
    expect((await poll(denied.code)).body["error"]).toBe("access_denied");
    expect(await actions(email)).toContain("login.device-deny");
    const expired = await begun();
    cloud.clock.aheadMs += 600_000;
    expect((await poll(expired.code)).body["error"]).toBe("expired_token");
    expect((await decide(browser, expired.userCode, "approve")).status).toBe(404);
    expect((await poll(`dc_${"x".repeat(43)}`)).body["error"]).toBe("invalid_grant");
  });

  test("requests that are invalid, at every endpoint", async () => {
    await freshRates();
    const table: [string, Record<string, string>, string][] = [
      ["device_authorization", {}, "invalid_client"],
      ["device_authorization", { client_id: "other" }, "invalid_client"],
      ["token", {}, "invalid_client"],
      ["token", { ...CLIENT }, "unsupported_grant_type"],
      ["token", { ...CLIENT, grant_type: "password", username: "a", password: "b" }, "unsupported_grant_type"],
      ["token", { ...CLIENT, grant_type: DEVICE_GRANT }, "invalid_request"],
      ["token", { ...CLIENT, grant_type: "refresh_token" }, "invalid_request"],
      ["token", { ...CLIENT, grant_type: "refresh_token", refresh_token: "rt_unknown" }, "invalid_grant"],
    ];
    for (const [path, fields, error] of table) {
      expect([path, fields, await oauth(path, fields)]).toMatchObject([
        path,
        fields,
        { status: 400, body: { error, code: 400 } },
      ]);
    }
    for (const fields of [{}, { token: "nonsense" }, { token: `rt_${"x".repeat(43)}` }] as Record<string, string>[]) {
      expect((await oauth("revoke", fields)).status).toBe(200);
    }
    const twice = await fetch(`${cloud.origin}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams("client_id=perdure-cli&client_id=perdure-cli"),
    });
    const json = await fetch(`${cloud.origin}/oauth/token`, { method: "POST", body: "{}" });
    const long = await oauth("token", { ...CLIENT, x: randomBytes(20_000).toString("hex") });
    expect([twice.status, json.status, long.status]).toEqual([400, 400, 413]);
    expect(await twice.json()).toMatchObject({ error: "invalid_request" });
  });

  test("a refresh token that is used again ends the whole family", async () => {
    const { browser, email } = await signedUp();
    const first = await loggedIn(browser);
    const { body } = await refresh(first.refresh);
    const [access, second] = [String(body["access_token"]), String(body["refresh_token"])];
    expect(await apiStatus(access)).toBe(200);
    expect((await refresh(first.refresh)).body["error"]).toBe("invalid_grant");
    expect((await refresh(second)).body["error"]).toBe("invalid_grant");
    for (const token of [first.access, access]) expect(await apiStatus(token)).toBe(401);
    expect(await actions(email)).toContain("login.revoke");
  });

  test("refresh tokens end with their session: by its age, or by its user", async () => {
    const { browser } = await signedUp();
    const revoked = await loggedIn(browser);
    const page = (await browser.get("/profile")).text;
    const sessions = [...page.matchAll(/<small>(\w+),[\s\S]*?name="session" value="(session_[0-9A-Za-z]{22})"/g)];
    const device = sessions.find(([, kind]) => kind === "device")?.[2] ?? "";
    const otherBrowser = (await signedUp()).browser;
    expect((await otherBrowser.submit("/profile", "/sessions/end", { session: device })).status).toBe(303);
    expect(await apiStatus(revoked.access)).toBe(200); // Another client ends no session.
    expect((await browser.submit("/profile", "/sessions/end", { session: device })).status).toBe(303);
    expect((await refresh(revoked.refresh)).body["error"]).toBe("invalid_grant");
    expect(await apiStatus(revoked.access)).toBe(401);
    await confirm(browser);
    const old = await loggedIn(browser);
    cloud.clock.aheadMs += 90 * 86_400_000 + 1_000;
    expect((await refresh(old.refresh)).body["error"]).toBe("invalid_grant");
  });

  test("T15: the rate of guesses of user codes is bounded", async () => {
    const { browser } = await signedUp();
    const statuses = [];
    for (let n = 0; n < 12; n++) statuses.push((await browser.get("/device?user_code=BBBB-BBBB")).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 404), 429, 429]);
    const { session } = cloud.ports.database.tables;
    await session.write("DELETE FROM perdure_attempts");
    expect((await browser.get("/device?user_code=BBBB-BBBB")).status).toBe(429); // Cached, without a query.
    await freshRates();
    await confirm(browser);
    const { userCode } = await begun();
    expect((await browser.get(`/device?user_code=${userCode}`)).status).toBe(200);
    await session.write("UPDATE perdure_device_codes SET looks = 50 WHERE status = 'pending'");
    expect((await browser.get(`/device?user_code=${userCode}`)).status).toBe(404);
  });

  test("neither codes nor tokens nor cookies are in the database", async () => {
    const { browser } = await signedUp();
    const { code, userCode } = await begun();
    const tokens = await loggedIn(browser);
    const { session } = cloud.ports.database.tables;
    let all = "";
    for (const table of ["sessions", "refresh_tokens", "device_codes", "attempts", "audit", "passwords"]) {
      all += (await session.rows<{ line: string }>(`SELECT t::text AS line FROM perdure_${table} t`))
        .map(({ line }) => line)
        .join();
    }
    const cookie = browser.cookies.get("__Host-perdure_session") ?? "";
    for (const secret of [code, userCode.replace("-", ""), tokens.access, tokens.refresh, cookie, PASSWORD]) {
      expect(secret.length).toBeGreaterThan(7);
      expect(all.includes(secret) || all.includes(Buffer.from(secret).toString("hex"))).toBe(false);
    }
  });
});

describe("what is public", () => {
  test("keys, configuration, and where the official command line logs in", async () => {
    const request = async (path: string) => {
      const response = await fetch(`${cloud.origin}${path}`);
      return { status: response.status, cache: response.headers.get("cache-control"), body: await response.json() };
    };
    const jwks = await request("/oauth/jwks.json");
    expect(jwks).toMatchObject({ status: 200, cache: "public, max-age=300", body: await cloud.ports.tokens.jwks() });
    expect(JSON.stringify(jwks.body)).not.toContain('"d"');
    expect((await request("/.well-known/openid-configuration")).body).toMatchObject({
      issuer: TEST_ISSUER,
      jwks_uri: `${TEST_ISSUER}/oauth/jwks.json`,
      token_endpoint: `${TEST_ISSUER}/oauth/token`,
      device_authorization_endpoint: `${TEST_ISSUER}/oauth/device_authorization`,
    });
    const message = expect.stringContaining("perdure login");
    expect(await request("/.auth-config")).toMatchObject({ status: 404, body: { code: 404, message, restate_code: "PERD0404" } });
  });
});

/** Fires at once: the length of the pause does not matter to this poller. */
function atOnce(_delayMs: number, fire: () => void) {
  const timer = setImmediate(fire);
  return { cancel: () => clearImmediate(timer) };
}
