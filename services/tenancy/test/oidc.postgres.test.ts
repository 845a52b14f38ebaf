/** Sign-in at another provider, which is a real one in a process of its own. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import {
  BrowserClient,
  ConsolePage,
  openTestTenancy,
  type PageResponse,
  TEST_ISSUER,
  type TestTenancy,
} from "../src/testing/index.js";

const CLIENT_SECRET = "a secret of the client";

interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
}

/** `manner`: arguments of its script. */
async function startProvider(...manner: string[]): Promise<TestProvider> {
  const script = fileURLToPath(new URL("oidc-provider.mjs", import.meta.url));
  const child = fork(script, [`${TEST_ISSUER}/login/callback`, CLIENT_SECRET, ...manner], { silent: true, execArgv: [] });
  let issuer = "";
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (!line.startsWith("http://")) continue;
    issuer = line;
    break;
  }
  return {
    issuer,
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

let database: EmptyDatabase;
let provider: TestProvider;
let providerIssuer: string;
let cloud: TestTenancy;
beforeAll(async () => {
  [database, provider] = await Promise.all([startDatabase(), startProvider()]);
  providerIssuer = provider.issuer;
  cloud = await openTestTenancy(database.url, { login: { oidc: settings(CLIENT_SECRET) } });
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const settings = (secret: string, issuer = providerIssuer) => ({
  issuer,
  clientId: "perdure",
  clientSecret: new Secret(secret),
  name: "Elsewhere",
  allowances: [],
});

/** Follows the redirection to the provider, signs in there if required, and returns the redirection back. `there`: its cookies. */
async function toProvider(
  browser: BrowserClient,
  as: string | undefined,
  path = "/login/provider",
  there = new BrowserClient(providerIssuer),
  rewrite: (params: URLSearchParams) => void = () => undefined,
): Promise<string> {
  const left = await browser.get(path);
  const url = new URL(left.location);
  expect([left.status, url.origin]).toEqual([303, there.origin]);
  for (const name of ["state", "nonce", "code_challenge"]) expect(url.searchParams.get(name)?.length).toBeGreaterThan(30);
  rewrite(url.searchParams);
  let { location } = await there.get(url.href);
  for (let hops = 0; hops < 5 && !location.startsWith(TEST_ISSUER); hops++) {
    const url = new URL(location, there.origin);
    if (url.pathname.startsWith("/interaction/") && as !== undefined) url.searchParams.set("as", as);
    location = (await there.get(url.href)).location;
  }
  return location.slice(TEST_ISSUER.length);
}

async function signIn(browser: BrowserClient, as: string): Promise<PageResponse> {
  return await browser.get(await toProvider(browser, as));
}

describe("another provider", () => {
  test("signs up and in: the same subject is the same user, with a free account", async () => {
    const browser = new BrowserClient(cloud.origin);
    expect((await browser.get("/login")).text).toContain("Sign in with Elsewhere");
    const back = await toProvider(browser, "ada", "/login/provider?return=%2Fdevice");
    const entered = await browser.get(back);
    expect([entered.status, entered.location]).toEqual([303, "/device"]);
    expect((await browser.get("/profile")).text).toContain("ada@elsewhere.test");
    const { users, accounts, logins, audit } = cloud.ports.database.tables;
    const user = await users.ofEmail("ada@elsewhere.test");
    expect(await logins.userOfIdentity(providerIssuer, "ada")).toBe(user?.id);
    const [account] = await accounts.ofUser(user?.id as never);
    expect(account).toMatchObject({ planId: "free", role: "owner", name: "The ada" });
    expect((await signIn(new BrowserClient(cloud.origin), "ada")).status).toBe(303);
    const signIns = await audit.list({ accountId: account?.id as never, action: "login.sign-in" }, 10);
    expect(signIns).toMatchObject([{ details: { with: "Elsewhere" } }, {}]);
    expect(await accounts.ofUser(user?.id as never)).toHaveLength(1);
  }, 60_000);

  test("T31: confirms a user without a password; the user's cookie at the provider is not enough, nor is another user", async () => {
    const page = new ConsolePage(cloud.origin);
    const { browser } = page;
    await signIn(browser, "erin");
    const session = (await page.load()).json;
    expect(session.confirmBy).toEqual({ password: false, provider: "Elsewhere" });
    const old = "UPDATE perdure_sessions SET confirmed_at_ms = confirmed_at_ms - 900001 WHERE user_id = $1";
    await cloud.ports.database.tables.session.write(old, [session.user.userId]);
    const confirmedUntilMs = async () => (await page.load()).json.confirmedUntil * 1_000;
    expect(await confirmedUntilMs()).toBeLessThan(cloud.clock.nowMs());
    const shown = (await browser.get("/login/confirm?return=%2Fsigned-in")).text;
    const way = /href="(\/login\/provider\?confirm=1&amp;return=%2Fsigned-in)"/.exec(shown)?.[1]?.replace("&amp;", "&") ?? "";
    const params = new URL((await browser.get(way)).location).searchParams;
    expect([params.get("prompt"), params.get("max_age")]).toEqual(["login", "0"]);
    const asMallory = await browser.get(await toProvider(browser, "mallory", way));
    expect(asMallory.status).toBe(403);
    expect(await confirmedUntilMs()).toBeLessThan(cloud.clock.nowMs());
    const back = await browser.get(await toProvider(browser, "erin", way));
    expect([back.status, back.location]).toEqual([303, "/signed-in"]);
    expect(await confirmedUntilMs()).toBeGreaterThan(cloud.clock.nowMs());
    expect((await page.load()).json.user.userId).toBe(session.user.userId); // The same session as before.
    expect((await new BrowserClient(cloud.origin).get(way)).location).toBe("/login?return=%2Fsigned-in");
  }, 60_000);

  test("T31: a new sign-in by the user's cookie at the provider does not confirm the user's presence", async () => {
    const page = new ConsolePage(cloud.origin);
    const there = new BrowserClient(providerIssuer);
    await page.browser.get(await toProvider(page.browser, "frank", "/login/provider", there));
    const { confirmedUntil } = (await page.load()).json;
    expect(confirmedUntil * 1_000).toBeGreaterThan(cloud.clock.nowMs());
    cloud.clock.aheadMs += 901_000;
    const before = page.cookie;
    const entered = await page.browser.get(await toProvider(page.browser, undefined, "/login/provider", there));
    expect([entered.status, page.cookie === before]).toEqual([303, false]);
    expect((await page.load()).json.confirmedUntil).toBe(confirmedUntil);
    expect(confirmedUntil * 1_000).toBeLessThan(cloud.clock.nowMs());
    expect((await page.request("GET", "/console/session", { cookie: before })).status).toBe(401); // The previous session has ended.
    cloud.clock.aheadMs -= 901_000;
  }, 60_000);

  test("T31: at a provider that never returns the time of authentication, the requested prompt counts", async () => {
    await using silent = await startProvider("silent");
    const login = { oidc: settings(CLIENT_SECRET, silent.issuer) };
    await using other = await openTestTenancy(database.url, { login });
    const page = new ConsolePage(other.origin);
    const there = new BrowserClient(silent.issuer);
    await page.browser.get(await toProvider(page.browser, "grace", "/login/provider", there));
    other.clock.aheadMs += 901_000;
    const confirmedUntilMs = async () => (await page.load()).json.confirmedUntil * 1_000;
    expect(await confirmedUntilMs()).toBeLessThan(other.clock.nowMs());
    const way = "/login/provider?confirm=1&return=%2Fsigned-in";
    const refused = await page.browser.get(await toProvider(page.browser, undefined, way, there));
    // The user's cookie at the provider is not enough.
    expect([refused.status, (await confirmedUntilMs()) > other.clock.nowMs()]).toEqual([503, false]);
    const back = await page.browser.get(await toProvider(page.browser, "grace", way, there));
    expect([back.status, back.location]).toEqual([303, "/signed-in"]);
    expect(await confirmedUntilMs()).toBeGreaterThan(other.clock.nowMs());
  }, 60_000);

  test("T31: a provider that returns the time must return it, also when the user changed the address on the way", async () => {
    const page = new ConsolePage(cloud.origin);
    const there = new BrowserClient(providerIssuer);
    await page.browser.get(await toProvider(page.browser, "heidi", "/login/provider", there));
    cloud.clock.aheadMs += 901_000;
    const confirmed = async () => (await page.load()).json.confirmedUntil * 1_000 > cloud.clock.nowMs();
    const quietly = (params: URLSearchParams): void => {
      params.delete("prompt");
      params.delete("max_age");
    };
    const way = "/login/provider?confirm=1&return=%2Fsigned-in";
    const back = await page.browser.get(await toProvider(page.browser, undefined, way, there, quietly));
    expect([back.status, await confirmed()]).toEqual([503, false]);
    const anew = await page.browser.get(await toProvider(page.browser, undefined, "/login/provider", there, quietly));
    expect([anew.status, await confirmed()]).toEqual([303, false]);
    cloud.clock.aheadMs -= 901_000;
  }, 60_000);

  test("an address that was not verified matches no user", async () => {
    expect((await signIn(new BrowserClient(cloud.origin), "unverified.eve")).status).toBe(403);
    expect(await cloud.ports.database.tables.users.ofEmail("unverified.eve@elsewhere.test")).toBeUndefined();
  }, 60_000);

  test("an address with a password is linked only when that password is entered too", async () => {
    const browser = new BrowserClient(cloud.origin);
    const fields = { email: "bob@elsewhere.test", password: "a long enough password" };
    expect((await browser.submit("/sign-up", "/sign-up", fields)).status).toBe(303);
    expect((await signIn(new BrowserClient(cloud.origin), "bob")).status).toBe(409);
    expect((await signIn(browser, "bob")).status).toBe(303);
    expect((await signIn(new BrowserClient(cloud.origin), "bob")).status).toBe(303);
  }, 60_000);

  test("answers that are replayed, late, forged or meant for another browser are refused", async () => {
    const browser = new BrowserClient(cloud.origin);
    const back = await toProvider(browser, "carol");
    const other = new BrowserClient(cloud.origin);
    await toProvider(other, "mallory");
    expect((await other.get(back)).status).toBe(400); // The sign-in of another user, replayed in this browser.
    expect((await new BrowserClient(cloud.origin).get(back)).status).toBe(400);
    const sealed = browser.cookies.get("__Host-perdure_provider") ?? "";
    browser.cookies.set("__Host-perdure_provider", `${sealed.slice(0, -4)}AAAA`);
    expect((await browser.get(back)).status).toBe(400);
    browser.cookies.set("__Host-perdure_provider", sealed);
    cloud.clock.aheadMs += 601_000;
    expect((await browser.get(back)).status).toBe(400);
    cloud.clock.aheadMs -= 601_000;
    browser.cookies.set("__Host-perdure_provider", sealed);
    expect((await browser.get(back.replace(/code=[^&]+/, "code=stolen"))).status).toBe(503);
    browser.cookies.set("__Host-perdure_provider", sealed);
    expect((await browser.get(back)).status).toBe(303);
    expect((await browser.get(back)).status).toBe(400);
    browser.cookies.set("__Host-perdure_provider", sealed);
    expect((await browser.get(back)).status).toBe(503); // The provider accepts only its own codes.
  }, 60_000);

  test("a refusal, a wrong secret and an unreachable provider are reported, and sign no user in", async () => {
    const refused = new BrowserClient(cloud.origin);
    expect((await refused.get(await toProvider(refused, undefined))).status).toBe(503);
    expect((await refused.get("/profile")).status).toBe(303);
    await using wrong = await openTestTenancy(database.url, { login: { oidc: settings("another secret") } });
    expect((await signIn(new BrowserClient(wrong.origin), "dave")).status).toBe(503);
    const away = { ...settings(CLIENT_SECRET), issuer: "http://127.0.0.1:1" };
    await using unreachable = await openTestTenancy(database.url, { login: { oidc: away } });
    expect((await new BrowserClient(unreachable.origin).get("/login/provider")).status).toBe(503);
    await using none = await openTestTenancy(database.url);
    expect((await new BrowserClient(none.origin).get("/login/provider")).status).toBe(404);
  }, 60_000);
});
