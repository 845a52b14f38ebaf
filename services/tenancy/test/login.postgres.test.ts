/** Login of users and devices, on a real database: pages by a browser without scripts, OAuth by forms. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import { subjectOf } from "@perdure/identity";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { BrowserClient, csrfOf, openTestTenancy, type TestTenancy } from "../src/testing/index.js";

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

/** Targets that a user must not be redirected to after sign-in. */
const EVIL = [
  "https://evil.test",
  "https:evil.test",
  "//evil.test",
  "///evil.test",
  "/\\evil.test",
  "\\\\evil.test",
  "/.//evil.test",
  "/x/..//evil.test",
  "/%2e%2e//evil.test",
  "/\t/evil.test",
  "/\r\nlocation: https://evil.test",
  "\u0000//evil.test",
  " //evil.test",
  "javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "evil.test",
  "@evil.test",
  "/x y",
  "/\u2025/evil.test",
  "/cloud/ListAccounts",
  "/console/logout",
  "/login?return=%2F%2Fevil.test",
  `/${"x".repeat(2_000)}`,
  "",
];

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

const decide = (browser: BrowserClient, userCode: string, decision: string) =>
  browser.submit(`/device?user_code=${userCode}`, "/device/decide", { user_code: userCode, decision });

async function loggedIn(browser: BrowserClient) {
  const { code, userCode } = await begun();
  expect((await decide(browser, userCode, "approve")).status).toBe(200);
  const { status, body } = await poll(code);
  expect(status).toBe(200);
  return { access: String(body["access_token"]), refresh: String(body["refresh_token"]) };
}

const actions = async (email: string): Promise<string[]> => {
  const { users, accounts, audit } = cloud.ports.database.tables;
  const [account] = await accounts.ofUser((await users.ofEmail(email))?.id as never);
  return (await audit.list({ accountId: account?.id as never }, 50)).map(({ action }) => action).toReversed();
};

describe("signing up and in", () => {
  test("a first sign-up makes a user and a free account, and signs in", async () => {
    const { browser, email } = await signedUp("  New.Person@Perdure.TEST ");
    const { users, accounts, logins } = cloud.ports.database.tables;
    const user = await users.ofEmail(email.trim());
    expect(user).toMatchObject({ email: "new.person@perdure.test", name: "Ada" });
    const owned = await accounts.ofUser(user?.id as never);
    expect(owned).toMatchObject([{ planId: "free", role: "owner", name: "Ada" }]);
    expect(await logins.password(user?.id as never)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect((await browser.get("/profile")).text).toContain("new.person@perdure.test");
  });

  test("an invalid sign-up is refused, and makes no user", async () => {
    const { email } = await signedUp();
    const table: [Record<string, string>, number][] = [
      [{ email: "short@perdure.test", password: "elevenchars" }, 400],
      [{ email: "long@perdure.test", password: "x".repeat(257) }, 400],
      [{ email: "email.is@perdure.test", password: "email.is@perdure.test" }, 400],
      [{ email: "not an address", password: PASSWORD }, 400],
      [{ password: PASSWORD }, 400],
      [{ email, password: PASSWORD }, 409],
      [{ email: email.toUpperCase(), password: PASSWORD }, 409],
    ];
    for (const [fields, status] of table) {
      const browser = new BrowserClient(cloud.origin);
      const answer = await browser.submit("/sign-up", "/sign-up", fields);
      expect([fields, answer.status]).toEqual([fields, status]);
      expect((await browser.get("/profile")).location).toBe("/login?return=%2Fprofile");
    }
    expect(await cloud.ports.database.tables.users.ofEmail("short@perdure.test")).toBeUndefined();
  });

  test("T30: an unknown address and a wrong password answer the same", async () => {
    const { email } = await signedUp();
    const texts = [];
    for (const fields of [
      { email, password: "wrong horse battery" },
      { email: "nobody@perdure.test", password: PASSWORD },
      { email: "nonsense", password: PASSWORD },
    ]) {
      const answer = await new BrowserClient(cloud.origin).submit("/login", "/login", fields);
      expect(answer.status).toBe(401);
      texts.push(answer.text.replace(/name="csrf" value="[^"]+"/, ""));
    }
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).not.toContain("nobody@perdure.test");
    expect(await actions(email)).toContain("login.failed");
  });

  test("signing in and out; a cookie is valid only in between", async () => {
    const { email } = await signedUp();
    const browser = new BrowserClient(cloud.origin);
    const answer = await browser.submit("/login", "/login", { email: email.toUpperCase(), password: PASSWORD });
    expect([answer.status, answer.location]).toEqual([303, "/"]);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-perdure_session=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure$/),
      expect.stringMatching(
        /^__Host-perdure_device=1\.\w{22}\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=15552000; Secure$/,
      ),
    ]);
    const stolen = new BrowserClient(cloud.origin);
    for (const [name, value] of browser.cookies) stolen.cookies.set(name, value);
    expect((await browser.submit("/profile", "/sign-out", {})).location).toBe("/login");
    for (const each of [browser, stolen]) expect((await each.get("/profile")).status).toBe(303);
    expect(await actions(email)).toEqual(expect.arrayContaining(["account.create", "login.sign-in", "login.sign-out"]));
  });

  test("a session expires", async () => {
    const { browser } = await signedUp();
    cloud.clock.aheadMs += 7 * 86_400_000 + 1_000;
    expect((await browser.get("/profile")).status).toBe(303);
  });

  test("the rate of guesses is bounded, for an address and for an account", async () => {
    const { email } = await signedUp();
    const browser = new BrowserClient(cloud.origin);
    const csrf = csrfOf((await browser.get("/login")).text);
    const statuses = [];
    for (let n = 0; n < 12; n++) {
      statuses.push((await browser.post("/login", { csrf, email, password: `wrong password ${n}` })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    const right = await browser.post("/login", { csrf, email, password: PASSWORD });
    expect([right.status, Number(right.headers.get("retry-after")) > 0]).toEqual([429, true]);
    cloud.clock.aheadMs += 900_000;
    expect((await browser.post("/login", { csrf, email, password: PASSWORD })).status).toBe(303);
  }, 30_000);

  test("T15: an attacker who guesses locks the owner out neither in a known browser nor in another network", async () => {
    const { browser: owner, email } = await signedUp();
    owner.cookies.delete("__Host-perdure_session");
    await using proxied = await openTestTenancy(database.url, {
      options: { trustedProxies: new TrustedProxies(["127.0.0.0/8"], "x-forwarded-for") },
    });
    proxied.clock.aheadMs = cloud.clock.aheadMs;
    const from = (address: string) => {
      const browser = new BrowserClient(proxied.origin);
      return async (password: string): Promise<number> => {
        const csrf = csrfOf((await browser.get("/login")).text);
        return (await browser.post("/login", { csrf, email, password }, { "x-forwarded-for": address })).status;
      };
    };
    const guesser = from("203.0.113.7");
    for (let n = 0; n < 10; n++) expect(await guesser(`wrong password ${n}`)).toBe(401);
    expect(await guesser(PASSWORD)).toBe(429);
    expect(await from("2001:db8::1")(PASSWORD)).toBe(303);
    // The limit over all networks does not hold for a browser that signed in before.
    for (let n = 0; n < 101; n++) await proxied.ports.rates.take("sign-in to account", subjectOf(email)).catch(() => undefined);
    expect(await from("2001:db8:1::1")(PASSWORD)).toBe(429);
    expect((await owner.submit("/login", "/login", { email, password: "wrong password" })).status).toBe(401);
    expect((await owner.submit("/login", "/login", { email, password: PASSWORD })).status).toBe(303);
    const other = new BrowserClient(proxied.origin);
    other.cookies.set("__Host-perdure_device", `1.${"x".repeat(22)}.${"y".repeat(43)}`); // No server made this cookie.
    expect((await other.submit("/login", "/login", { email, password: PASSWORD })).status).toBe(429);
  }, 60_000);

  test("T31: forms of other sites are refused; no user is redirected to another site", async () => {
    const { browser, email } = await signedUp();
    const other = new BrowserClient(cloud.origin);
    const theirs = csrfOf((await other.get("/login")).text);
    const ours = csrfOf((await browser.get("/profile")).text);
    const table: [Record<string, string>, Record<string, string>][] = [
      [{}, {}],
      [{ csrf: "" }, {}],
      [{ csrf: theirs }, {}],
      [{ csrf: ours }, { "sec-fetch-site": "cross-site" }],
      [{ csrf: ours }, { "sec-fetch-site": "same-site" }],
    ];
    for (const [fields, headers] of table) {
      for (const path of ["/sign-out", "/device", "/device/decide", "/sessions/end", "/invitation", "/login", "/sign-up"]) {
        expect([path, (await browser.post(path, fields, headers)).status]).toEqual([path, 403]);
      }
    }
    expect((await browser.get("/profile")).status).toBe(200);
    for (const to of EVIL) {
      const lured = new BrowserClient(cloud.origin);
      const back = await lured.submit("/login", "/login", { email, password: PASSWORD, return: to });
      expect([to, back.location]).toEqual([to, "/"]);
      expect((await lured.get(`/login?return=${encodeURIComponent(to)}`)).location).toBe("/");
    }
    for (const to of ["/accounts/acc_1/members?x=1#top", "/profile", "/device?user_code=BCDF-GHJK"]) {
      const guided = new BrowserClient(cloud.origin);
      expect((await guided.submit("/login", "/login", { email, password: PASSWORD, return: to })).location).toBe(to);
    }
  }, 30_000);

  test("T31: pages run no script, cannot be framed, and escape texts of users", async () => {
    const { browser, email } = await signedUp();
    const agent = new BrowserClient(cloud.origin, `"><script>alert(1)</script>`);
    await agent.submit("/login", "/login", { email, password: PASSWORD });
    const { headers, text } = await browser.get("/profile");
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
    expect(text).not.toContain("<script");
    expect(text).toContain("&lt;script&gt;");
  });
});

describe("pages", () => {
  test("work with screen readers: every field has its name, and an error refers to its field", async () => {
    const { browser, email } = await signedUp();
    await loggedIn(browser);
    const otherBrowser = new BrowserClient(cloud.origin);
    const texts = [
      ...(await Promise.all(["/profile", "/device", "/invitation", "/login/confirm"].map((path) => browser.get(path)))),
      ...(await Promise.all(
        ["/login", "/sign-up", "/password/forgot", "/verify?token=x", "/password/reset?token=x"].map((path) =>
          otherBrowser.get(path),
        ),
      )),
      await otherBrowser.submit("/login", "/login", { email, password: "wrong horse battery" }),
      await otherBrowser.submit("/sign-up", "/sign-up", { email: `"><b>${email}`, password: PASSWORD, name: "<i>" }),
      await otherBrowser.submit("/sign-up", "/sign-up", { email: "new@perdure.test", password: "short" }),
      await browser.submit("/device", "/device", { user_code: "x" }),
    ].map(({ text }) => text);
    for (const text of texts) {
      expect(text).toMatch(
        /^<!doctype html>\n<html lang="en">.*<meta name="viewport" content="width=device-width, initial-scale=1">/s,
      );
      expect(text.match(/<h1>/g)).toHaveLength(1);
      expect(text).not.toMatch(/<script|<b>Person|<i>|javascript:| on\w+=|style=/);
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [field] of text.matchAll(/<input (?!type="hidden")[^>]*>/g)) {
        const id = / id="([^"]+)"/.exec(field)?.[1];
        expect([field, text.includes(`<label for="${id}">`), field.includes(' autocomplete="')]).toEqual([field, true, true]);
        for (const described of (/ aria-describedby="([^"]+)"/.exec(field)?.[1] ?? "").split(" ")) {
          if (described !== "") expect(ids).toContain(described);
        }
      }
      const problem = /role="alert" id="problem">/.test(text);
      expect([problem, /aria-invalid="true"/.test(text), /<title>Problem: /.test(text)]).toEqual([problem, problem, problem]);
    }
    // Entered fields are shown again, except the password.
    expect(texts[10]).toContain('value="&quot;&gt;&lt;b&gt;');
    expect(texts[10]).toContain('value="&lt;i&gt;"');
    expect(texts.join("")).not.toContain(PASSWORD);
  }, 30_000);
});

describe("without TLS, for development", () => {
  test("cookies are sent over plain HTTP too", async () => {
    await using plain = await openTestTenancy(database.url, { issuer: "http://127.0.0.1:8085" });
    const browser = new BrowserClient(plain.origin);
    const { headers } = await browser.get("/login");
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^perdure_form=[0-9A-Za-z]{22}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/),
    ]);
  });
});

describe("invitations", () => {
  test("are accepted once, by the invited user", async () => {
    const owner = await cloud.user();
    const account = await owner.account("team");
    const { browser, email } = await signedUp();
    const otherBrowser = (await signedUp()).browser;
    const { token } = await owner.client.account(account, "InviteMember", { email, role: "developer" });
    const path = `/invitation?token=${token}`;
    expect((await new BrowserClient(cloud.origin).get(path)).location).toBe(`/login?return=${encodeURIComponent(path)}`);
    expect((await otherBrowser.submit(path, "/invitation", { token })).status).toBe(404);
    expect((await browser.submit(path, "/invitation", { token })).text).toContain("developer");
    expect((await browser.submit(path, "/invitation", { token })).status).toBe(404);
    const user = await cloud.ports.database.tables.users.ofEmail(email);
    expect(await cloud.ports.database.tables.accounts.roleOf(account, user?.id as never)).toBe("developer");
  });
});
