/**
 * Takes screenshots of the real console (`make screenshots`), so that they never show what it is not. Otherwise it checks that the tour in
 * docs/console.md has them all, and that they are small.
 */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import { ROOT } from "@perdure/dev-cluster";
import type { Page } from "playwright-core";
import { type SignedInUser, suiteCloud } from "./cloud.js";
import { suiteConsole, type View } from "./console.js";

const PICTURES = join(ROOT, "docs/screenshots");
/** A page of documentation loads some of them. */
const PICTURE_BYTES_MAX = 200 * 1024;
const START_MS = 240_000;
/** Charts count by minutes. */
const TRAFFIC_MS = 130_000;

test("each picture is small, and is part of the tour in docs", () => {
  const walk = readFileSync(join(ROOT, "docs/console.md"), "utf8");
  const pictures = readdirSync(PICTURES);
  expect(pictures.length).toBeGreaterThan(8);
  expect(pictures.filter((name) => !walk.includes(`(screenshots/${name})`))).toEqual([]);
  expect(pictures.filter((name) => statSync(join(PICTURES, name)).size > PICTURE_BYTES_MAX)).toEqual([]);
});

const LIGHT: View = { height: 800 };
const DARK: View = { height: 800, dark: true };

async function take(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => document.fonts.ready);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(PICTURES, `${name}.png`), animations: "disabled" });
}

if (process.env["PERDURE_SCREENSHOTS"] === "1") {
  describe("of an environment on this machine", () => {
    const ui = suiteConsole();
    test("the list of invocations, with a bit of everything", async () => {
      await take(await ui.open("/invocations", LIGHT), "invocations");
    });

    test(
      "a while of traffic, for the charts",
      async () => {
        const until = Date.now() + TRAFFIC_MS;
        for (let i = 0; Date.now() < until; i++) {
          const item = ["lamp-2", "chair", "table"][i % 3];
          await ui.world.ingress.result(["Orders", "place"], { item, amount: 1 + (i % 4) });
          await delay(150 + 140 * Math.sin(i / 9));
        }
      },
      START_MS,
    );

    test.each([
      ["overview", "/", LIGHT, "By service"],
      ["overview-dark", "/", DARK, "By service"],
      ["service", "/services/Orders", LIGHT, undefined],
      ["state", "/state/Stock/lamp", LIGHT, undefined],
    ] as const)("%s", async (name, path, view, title) => {
      const page = await ui.open(path, view);
      if (title !== undefined) await page.getByRole("heading", { name: title }).waitFor();
      await take(page, name);
    });

    test("rules, and what waits for them", async () => {
      const { admin, ingress } = ui.world;
      const json = [
        { pattern: "acme", limits: { concurrency: 2 }, reason: "their plan" },
        { pattern: "*", limits: { concurrency: 10 } },
      ];
      const { status, text } = await admin.http.request("PUT", "/limits/rules", { json });
      if (status >= 300) throw new Error(text);
      for (let i = 0; i < 5; i++) {
        await ingress.http.request("POST", "/restate/scope/acme/send/Orders/rest", { json: 3_600_000 });
      }
      const page = await ui.open("/flow", LIGHT);
      await page.getByRole("cell", { name: /acme/ }).first().waitFor();
      await take(page, "flow");
    });

    test("an invocation, crashed on purpose", async () => {
      const assembly = (await ui.world.ingress.send(["Orders", "assemble"], { steps: 7, stepMs: 1_500 })).invocationId;
      const page = await ui.open(`/invocations/${assembly}`, { height: 1_060 });
      await page.getByText("part 2").first().waitFor();
      await page.getByRole("button", { name: "Crash it" }).click();
      await page.getByText(/has taken over/).waitFor();
      await page.getByText("part 4").first().waitFor();
      await take(page, "crash");
      await page.getByText(/completed anyway/).waitFor({ timeout: 20_000 });
      const dark = await ui.open(`/invocations/${assembly}`, DARK);
      await dark.getByText("part 7").first().waitFor();
      await take(dark, "timeline-dark");
      const placed = await ui.open(`/invocations/${ui.data.placed}`, LIGHT);
      await placed.getByText("number it").first().waitFor();
      await take(placed, "timeline");
    });

    test("the playground", async () => {
      const page = await ui.open("/playground?service=Orders&handler=place", LIGHT);
      await page.getByRole("textbox", { name: "item" }).fill("chair");
      await page.getByRole("button", { name: "Call", exact: true }).click();
      await page.getByRole("heading", { name: "Response" }).waitFor();
      await take(page, "playground");
    });

    test("SQL", async () => {
      const statement =
        "SELECT target, status, count(*) AS invocations FROM sys_invocation GROUP BY target, status ORDER BY invocations DESC";
      const page = await ui.open(`/sql?q=${encodeURIComponent(statement)}`, LIGHT);
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByText("Orders/place").first().waitFor();
      await take(page, "sql");
    });

    test("the tour", async () => {
      const page = await ui.open("/tour", LIGHT);
      const step = page.locator("section", { has: page.getByRole("heading", { level: 2, name: "Crash it" }) });
      await step.getByRole("textbox", { name: "Argument, as JSON" }).fill('{"steps": 5, "stepMs": 500}');
      await step.getByRole("button", { name: "Start" }).click();
      await step.getByText("part 2").waitFor();
      await step.getByRole("button", { name: "Crash it" }).click();
      await step.getByText("completed anyway").waitFor({ timeout: 20_000 });
      await step.scrollIntoViewIfNeeded();
      await take(page, "tour");
    });

    // The last one: it ends what the others show.
    test("operations that can be undone", async () => {
      const { http } = ui.world.admin;
      const headers = { "x-forwarded-user": "ada" };
      await http.request("PATCH", `/invocations/${ui.data.placed}/purge`, { headers });
      const killed = await http.request("PATCH", `/invocations/${ui.data.resting}/kill`, { headers });
      await http.request("POST", `/operations/${killed.headers["x-perdure-operation"]}/undo`);
      const json = {
        operation: "kill",
        filter: "target_service_name = 'Stock' AND status != 'completed'",
        reason: "wrong warehouse",
      };
      const { status, text } = await http.request("POST", "/invocations/batch", { headers, json });
      if (status !== 202) throw new Error(text);
      const page = await ui.open("/operations", LIGHT);
      await page.getByText("undone").waitFor();
      await take(page, "operations");
    });
  });

  describe("of the cloud", () => {
    const cloud = suiteCloud({}, { tunnels: true });
    let ada: SignedInUser;
    let dev: EnvironmentId;
    beforeAll(async () => {
      ada = await cloud.world.user("ada");
      dev = await cloud.world.environment(ada, "dev");
      await cloud.world.environment(ada, "production");
    }, START_MS);

    test("environments and what developers need", async () => {
      const page = await cloud.open(ada, `/accounts/${ada.accountId}`, LIGHT);
      await page.getByRole("link", { name: "production" }).first().waitFor();
      await take(page, "environments");
      await page.goto(cloud.url(`/accounts/${ada.accountId}/environments/${dev}/developers`));
      await page.getByRole("heading", { name: "API keys" }).waitFor();
      await take(page, "developers");
    });
  });
}
