/**
 * The way of a new user as the interface describes it on its first page, from one end to the other in a browser, beside the real command
 * line: sign-up, an environment, a key, a login from a terminal, a service behind a tunnel, a call, its invocation, the audit log and the
 * usage.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { eventually, SdkEndpoint } from "@perdure/conformance";
import { executable } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import type { Page } from "playwright-core";
import { CONSOLE_PASSWORD, expectAccessible, suiteCloud } from "./cloud.js";
import { shop } from "./world/shop.js";

/** An environment comes up in seconds; a busy machine takes its time. */
const ACTIVE_MS = 45_000;
const TEST_MS = 180_000;
const CLI_STOP_MS = 10_000;

const cloud = suiteCloud({}, { tunnels: true });
const home = mkdtempSync(join(tmpdir(), "perdure-journey-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** The command line of a new user. */
async function perdure(args: readonly string[], onLine?: (line: string) => void): Promise<ChildProgram> {
  const env = { PATH: process.env["PATH"], HOME: home, PERDURE_API_URL: cloud.world.origin, DO_NOT_TRACK: "1" };
  return ChildProgram.start({ command: await executable(), args, env, ...(onLine === undefined ? {} : { onLine }) });
}

async function done(child: ChildProgram): Promise<string> {
  const { code } = await child.exited;
  if (code !== 0) throw new Error(child.lastLines());
  return child.lines.join("\n");
}

/** No credential is where a script of the page could read it. */
async function expectNoSecrets(page: Page): Promise<void> {
  const [cookie, stored] = await page.evaluate(() => [document.cookie, JSON.stringify({ ...localStorage, ...sessionStorage })]);
  expect(cookie).toBe("");
  // A token has dots; a random id, which may contain `eyJ`, has none.
  expect(stored).not.toMatch(/key_|eyJ[\w-]+\.|session|token|csrf/i);
}

test(
  "from nothing to a durable call of a service on one's own machine",
  async () => {
    const page = await cloud.open(undefined, "/sign-up?return=/");
    await page.getByLabel(/mail/i).fill("nora@perdure.test");
    await page.getByLabel(/^Name/).fill("Nora");
    await page.getByLabel(/^Password/).fill(CONSOLE_PASSWORD);
    await page.getByRole("button", { name: /sign up|create/i }).click();
    await button(page, "Create the first environment").click();
    await page.getByLabel("Name").fill("dev");
    await button(page, "Create").click();
    await heading(page, "Developers").waitFor({ timeout: ACTIVE_MS });
    const developers = page.url();
    const environmentUrl = (path: string) => developers.replace(/\/developers$/, path);

    // Both addresses, and a key that is shown once.
    const ingress = page.locator("dl").getByText(/^https?:\/\/\S+:\d+/);
    expect(await ingress.count()).toBe(2);
    const ingressUrl = (await ingress.first().textContent()) ?? "";
    await button(page, "Create API key").click();
    await page.getByLabel("Description").fill("the journey");
    await button(page, "Create").click();
    const key = (await page.getByTestId("api-key").textContent()) ?? "";
    expect(key).toMatch(/^key_/);
    await page.getByRole("checkbox", { name: "I have stored it" }).click();
    await button(page, "Done").click();
    await page.getByRole("cell", { name: /^the journey/ }).waitFor();
    await expectNoSecrets(page);

    // A terminal, let in by a click in the browser.
    let approval: Promise<void> | undefined;
    const login = await perdure(["login", "--no-browser"], (line) => {
      const link = /https?:\/\/\S+\/device\S*/.exec(line)?.[0];
      if (link !== undefined) approval ??= approve(page, link);
    });
    await done(login);
    await approval;
    await done(await perdure(["env", "configure", "dev", "--name", "dev"]));
    await done(await perdure(["env", "use", "dev"]));

    // A service on this machine, behind a tunnel that the page shows.
    await using endpoint = await SdkEndpoint.start({ services: shop });
    const args = ["tunnel", "-e", "dev", "--tunnel-name", "laptop", "--local-port", String(endpoint.port), "--no-remote"];
    const tunnel = await perdure(args);
    try {
      await eventually("the tunnel", () => tunnel.lines.some((line) => line.includes("tunnel://laptop")), ACTIVE_MS);
      await page.goto(developers);
      await page.getByRole("table").getByText("laptop", { exact: true }).waitFor({ timeout: ACTIVE_MS });

      await page.goto(environmentUrl("/deployments?register=yes"));
      await page.getByLabel("Endpoint URL").fill(`tunnel://laptop:${endpoint.port}`);
      await button(page, "Preview changes").click();
      await button(page, "Register").and(page.locator(":not([aria-disabled])")).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await page.goto(environmentUrl("/services"));
      await page.getByRole("link", { name: "Orders" }).first().waitFor();

      await page.goto(environmentUrl("/playground?service=Payments&handler=charge"));
      await page.getByRole("button", { name: "Call", exact: true }).waitFor();
      const body = page.getByRole("textbox", { name: "Body as JSON" });
      await body.click();
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.insertText("12");
      await page.getByRole("button", { name: /^Call( anyway)?$/ }).click();
      await page.getByText("charged 12").waitFor();
      await page.getByRole("link", { name: /^inv_/ }).first().click();
      await page.getByRole("heading", { level: 1, name: /Payments\/charge/ }).waitFor();
      await page.getByRole("heading", { level: 2, name: /Timeline/ }).waitFor();
      await expectAccessible(page);

      // The key gives a program the same access.
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const answer = await fetch(`${ingressUrl}/Payments/charge`, { method: "POST", headers, body: "7" });
      expect([answer.status, await answer.json()]).toEqual([200, "charged 7"]);
    } finally {
      await tunnel.stop({ withinMs: CLI_STOP_MS });
    }

    // The audit log and the usage.
    const account = environmentUrl("").replace(/\/environments\/.*$/, "");
    await page.goto(`${account}/audit`);
    await page.getByRole("cell", { name: "environment.create" }).first().waitFor();
    await page
      .getByRole("cell", { name: /key\.create/ })
      .first()
      .waitFor();
    await eventually(
      "usage",
      async () => {
        await page.goto(`${account}/usage`);
        await heading(page, "Usage").waitFor();
        return page.getByRole("img", { name: /^Requests: [1-9]/ }).isVisible();
      },
      ACTIVE_MS,
    );
    await expectNoSecrets(page);
  },
  TEST_MS,
);

/** In another window of the same user; opening it alone approves nothing. */
async function approve(page: Page, link: string): Promise<void> {
  const window = await page.context().newPage();
  await window.goto(link);
  await expectAccessible(window);
  await window.getByRole("button", { name: "Approve" }).click();
  await window.waitForLoadState();
  await window.close();
}

test(
  "after login the user is on a page of the console, whatever address was requested",
  async () => {
    const user = await cloud.world.user("phished");
    for (const returnTo of ["//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)"]) {
      const page = await cloud.open(undefined, `/login?return=${encodeURIComponent(returnTo)}`);
      await page.getByLabel(/mail/i).fill(user.email);
      await page.getByLabel(/^Password/).fill(CONSOLE_PASSWORD);
      await page.getByRole("button", { name: /^(sign|log) in$/i }).click();
      await page.waitForURL((url) => url.pathname !== "/login");
      expect([returnTo, new URL(page.url()).origin]).toEqual([returnTo, cloud.world.origin]);
      await page.context().close();
    }
  },
  TEST_MS,
);
