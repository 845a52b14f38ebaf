/** The page of the console, and what it may load. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type ConsoleHost, openConsole } from "@perdure/console-host";
import { TINY_SCRIPT, TINY_SCRIPT_PATH, type TinyConsole, writeTinyConsole } from "@perdure/console-host/testing";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { ConsolePage, openTestTenancy, TEST_ISSUER, type TestTenancy } from "../src/testing/index.js";

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

describe("the page", () => {
  const browse = (path: string, headers: Record<string, string> = {}) =>
    new ConsolePage(cloud.origin).request("GET", path, {
      accept: "text/html,*/*;q=0.8",
      "x-perdure-csrf": "",
      cookie: "",
      ...headers,
    });

  test.each(["/", "/accounts", "/accounts/acc_1/environments/env_1/invocations?filter=x", "/no/such/page"])(
    "is served at %s, without credentials",
    async (path) => {
      const { status, headers, text } = await browse(path);
      expect([status, headers["content-type"], headers["cache-control"]]).toEqual([200, "text/html; charset=utf-8", "no-cache"]);
      expect(headers["content-security-policy"]).toMatch(
        /^default-src 'none'; script-src 'self' 'nonce-[\w-]{22}'; .*connect-src 'self';/,
      );
      expect(text).toContain('<base href="/">');
      expect(JSON.parse(/id="boot">(.*?)</s.exec(text)?.[1] ?? "")).toEqual({
        kind: "cloud",
        version: expect.any(String),
        docsUrl: expect.any(String),
      });
    },
  );

  test("has its files beside it", async () => {
    const script = await browse(`/${TINY_SCRIPT_PATH}`, { accept: "*/*" });
    expect([script.status, script.text]).toEqual([200, TINY_SCRIPT]);
    expect(script.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect((await browse("/favicon.svg", { accept: "image/*" })).headers["content-type"]).toBe("image/svg+xml");
    expect((await browse("/assets/index-00000000.js")).status).toBe(404);
  });

  test("is not returned to programs, nor for posts", async () => {
    for (const path of ["/cloud/x/y/z", "/console/x", "/oauth/x", "/.well-known/x"]) {
      expect([path, await browse(path)]).toMatchObject([path, { status: 404, code: "PERD0404" }]);
    }
    expect(await browse("/accounts", { accept: "application/json" })).toMatchObject({ status: 404, code: "PERD0404" });
    expect(await new ConsolePage(cloud.origin).post("/accounts")).toMatchObject({ status: 404 });
    expect((await browse("/login")).text).not.toContain("boot"); // A separate page, without scripts.
    expect((await browse("/signup?return=%2Fx")).headers.location).toBe("/sign-up?return=%2Fx");
  });

  test("and all else at its name is by https only, for a year; other programs of this machine have the name localhost too", async () => {
    const headersAt = async (at: TestTenancy, host: string, path: string) => {
      const { headers } = await new ConsolePage(at.origin).request("GET", path, { host });
      return headers["strict-transport-security"];
    };
    for (const path of ["/", "/login", "/console/session", "/cloud/ListAccounts", "/nothing"]) {
      expect([path, await headersAt(cloud, new URL(TEST_ISSUER).host, path)]).toEqual([path, "max-age=31536000"]);
    }
    expect(await headersAt(cloud, "127.0.0.1", "/login")).toBeUndefined();
    await using here = await openTestTenancy(database.url, { issuer: "https://api.perdure.localhost:8443" });
    expect(await headersAt(here, "api.perdure.localhost:8443", "/login")).toBeUndefined();
    await using clear = await openTestTenancy(database.url, { issuer: "http://api.us.perdure.test" });
    expect(await headersAt(clear, "api.us.perdure.test", "/login")).toBeUndefined();
  });

  test("users get their profile when the console is not built", async () => {
    await using bare = await openTestTenancy(database.url);
    const answer = await new ConsolePage(bare.origin).request("GET", "/");
    expect([answer.status, answer.headers.location]).toEqual([303, "/profile"]);
  });

  test("is at its own host: requests for a page at the API's host are redirected there, and links lead there", async () => {
    const host: ConsoleHost | undefined = await openConsole(tiny.directory, { base: "/", csp: { connect: [] } });
    await using two = await openTestTenancy(database.url, { console: { host, url: "https://console.perdure.test" } });
    const at = (name: string, path = "/accounts?x=1") =>
      new ConsolePage(two.origin).request("GET", path, { accept: "text/html", host: name });
    for (const path of ["/", "/accounts?x=1", "/login?return=%2Fx", "/device", "//evil.test/"]) {
      const { status, headers } = await at("api.us.perdure.test", path);
      expect([status, headers.location]).toEqual([302, `https://console.perdure.test${path}`]);
    }
    expect((await at("api.us.perdure.test", "/.well-known/openid-configuration")).status).toBe(200);
    expect((await at("console.perdure.test")).status).toBe(200);
    const device = await fetch(`${two.origin}/oauth/device_authorization`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "perdure-cli" }),
    });
    expect(await device.json()).toMatchObject({ verification_uri: "https://console.perdure.test/device" });
    const page = await ConsolePage.of(two.origin, `console${userCount++}@perdure.test`);
    expect(await page.post("/console/cloud/ListAccounts", {}, { origin: TEST_ISSUER })).toMatchObject({ status: 403 });
    expect((await page.post("/console/cloud/ListAccounts", {}, { origin: "https://console.perdure.test" })).status).toBe(200);
  });
});
