/** The login pages in a real browser: accessibility, small screens, dark mode; and what a page of another site can do to a user. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openConsole } from "@perdure/console-host";
import { writeTinyConsole } from "@perdure/console-host/testing";
import { type EmptyDatabase, freePorts, openBrowser, startDatabase } from "@perdure/servers";
import type { Browser, Page } from "playwright-core";
import { CONSOLE_PASSWORD, openTestTenancy, type TestTenancy } from "../src/testing/index.js";

/** The machine may be busy with other suites. */
const TEST_MS = 120_000;
const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

let database: EmptyDatabase;
let cloud: TestTenancy;
let browser: Browser;
beforeAll(async () => {
  const [port] = (await freePorts(1)) as [number];
  database = await startDatabase();
  // By HTTP, as on a laptop: no browser would trust a certificate of the test.
  await using tiny = await writeTinyConsole();
  const host = await openConsole(tiny.directory, { base: "/", csp: { connect: [] } });
  cloud = await openTestTenancy(database.url, { port, issuer: `http://127.0.0.1:${port}`, console: { host } });
  browser = await openBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await cloud?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
}, 30_000);

async function signUp(page: Page, email: string): Promise<void> {
  await page.goto(`${cloud.origin}/sign-up?return=%2Fprofile`);
  await page.fill("#email", email);
  await page.fill("#password", CONSOLE_PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${cloud.origin}/profile`);
}

test.each([
  ["light", 1_280],
  ["dark", 360],
] as const)(
  "in the %s at %d pixels nothing is hard to read, hidden or cut off, and the keyboard is enough",
  async (colorScheme, width) => {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 760 } });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (!message.text().startsWith("Failed to load resource")) complaints.push(message.text());
    });
    const inspect = async (what: string): Promise<void> => {
      const { violations } = await new AxeBuilder({ page }).withTags(LEVELS).analyze();
      expect([what, violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target)])]).toEqual([what, []]);
      expect([what, await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")]).toEqual(
        [what, true],
      );
    };
    const open = async (path: string): Promise<void> => {
      await page.goto(`${cloud.origin}${path}`);
      await inspect(path);
    };
    // The other pages consist of the same parts; the other tests of login check their texts.
    await open("/login");

    await page.goto(`${cloud.origin}/sign-up`);
    await page.waitForFunction("document.activeElement.id === 'email'"); // The field has the focus.
    await page.keyboard.type("ada@perdure.test");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("short");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[role=alert]");
    await inspect("a problem");
    expect(await page.evaluate("document.activeElement.id")).toBe("password");
    expect(await page.inputValue("#email")).toBe("ada@perdure.test");

    await signUp(page, `${colorScheme}@perdure.test`);
    const authorization = await fetch(`${cloud.origin}/oauth/device_authorization`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "perdure-cli", device_name: "Ada's laptop" }),
    });
    const { user_code } = (await authorization.json()) as { user_code: string };
    for (const path of ["/profile", "/login/confirm", `/device?user_code=${user_code}`]) await open(path);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=Go back to your terminal");
    await inspect("approved");
    expect(complaints).toEqual([]);
    await context.close();
  },
  TEST_MS,
);

describe("T31: a page of another site", () => {
  let evil: Server;
  let body = "";
  beforeAll(async () => {
    evil = createServer((_req, res) => void res.writeHead(200, { "content-type": "text/html" }).end(body));
    await new Promise<void>((resolve) => evil.listen(0, "localhost", resolve));
  });
  afterAll(() => {
    evil.closeAllConnections();
    evil.close();
  });

  test(
    "ends no session, sends no authenticated request, reads nothing and frames no page of the console",
    async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await signUp(page, "victim@perdure.test");
      await page.goto(`${cloud.origin}/`); // The policy of login pages forbids requests even to a script of this origin.
      const asVictim = (expression: string) => page.evaluate(expression);
      const session = (await asVictim("fetch('/console/session').then((r) => r.json())")) as { csrf: string };
      const accounts = `fetch('/console/cloud/ListAccounts', { method: 'POST', headers: { 'x-perdure-csrf': '${session.csrf}' } }).then((r) => r.json())`;
      expect(await asVictim(accounts)).toMatchObject({ accounts: [{ role: "owner" }] });
      expect(await asVictim("document.cookie")).toBe("");

      const target = JSON.stringify(cloud.origin);
      const attacker = await context.newPage();
      const at = `http://localhost:${(evil.address() as AddressInfo).port}/`;
      body = `<title>evil</title><iframe src=${target} id="frame"></iframe>`;
      await attacker.goto(at);
      const tries = (await attacker.evaluate(`Promise.all([
        ...["/console/session", "/console/cloud/ListAccounts", "/profile"].flatMap((path) =>
          ["cors", "no-cors"].map((mode) => fetch(${target} + path, { mode, credentials: "include" }).then((r) => r.text(), () => "refused"))),
        ...["/console/logout", "/console/cloud/CreateAccount", "/sign-out"].flatMap((path) => [
          fetch(${target} + path, { method: "POST", mode: "no-cors", credentials: "include", body: '{"name":"evil"}' }).then((r) => r.text(), () => "refused"),
          fetch(${target} + path, { method: "POST", mode: "cors", credentials: "include", headers: { "x-perdure-csrf": "x" } }).then((r) => r.text(), () => "refused"),
        ]),
      ])`)) as string[];
      expect(new Set(tries)).toEqual(new Set(["refused"])); // Not even opaque answers.
      expect(attacker.frames().filter((frame) => frame.url().startsWith(cloud.origin))).toEqual([]);

      // A form is sent with the page it leads to: the only request with cookies that another site can cause is a harmless GET.
      for (const path of ["/console/logout", "/sign-out", "/console/cloud/CreateAccount", "/device/decide"]) {
        for (const kind of ["text/plain", "application/x-www-form-urlencoded"]) {
          body = `<form method="post" action=${JSON.stringify(cloud.origin + path)} enctype="${kind}"><input name='{"name":"evil","x' value='":1}'></form>`;
          await attacker.goto(at);
          const answered = attacker.waitForResponse((response) => response.url() === cloud.origin + path);
          await Promise.all([attacker.waitForURL(cloud.origin + path), attacker.evaluate("document.forms[0].submit()")]);
          const answer = await answered;
          expect([path, kind, [400, 401, 403].includes(answer.status())]).toEqual([path, kind, true]);
        }
      }
      expect(await asVictim(accounts)).toMatchObject({ accounts: [{ role: "owner" }] });
      expect(((await asVictim(accounts)) as { accounts: unknown[] }).accounts).toHaveLength(1);
      await context.close();
    },
    TEST_MS,
  );
});
