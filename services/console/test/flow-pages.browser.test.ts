/** The pages of schedules, limits and subscriptions are tested against a real server. */
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole({ world: "shop" });

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();
const fill = (page: Page, name: string, text: string) => page.getByRole("textbox", { name, exact: true }).fill(text);
const choose = async (page: Page, name: string, value: string) => {
  await page.getByRole("combobox", { name, exact: true }).click();
  await page.getByRole("option", { name: value, exact: true }).click();
};
const act = async (page: Page, of: string, action: string) => {
  await press(page, `Actions for ${of}`);
  await page.getByRole("menuitem", { name: action, exact: true }).click();
};

test("a schedule is made with its next times in sight, fired, paused, changed and deleted", async () => {
  const page = await ui.open("/schedules", { context: { timezoneId: "Europe/Berlin" } });
  await page.getByRole("heading", { name: "No schedules yet" }).waitFor();
  await expectAccessible(page);
  await press(page, "Create schedule");
  await fill(page, "Schedule", "61 * * * *");
  await page.getByRole("alert").waitFor();
  await fill(page, "Schedule", "30 2 * * *");
  await page.getByRole("combobox", { name: "Time zone" }).fill("Europe/Berlin");
  await expect(page.getByRole("status").getByRole("listitem").count()).resolves.toBe(5);
  await page
    .getByRole("status")
    .getByText(/02:30:00/)
    .first()
    .waitFor();
  await page.getByRole("status").getByText("At 02:30.").waitFor();
  await fill(page, "Name", "nightly");
  await choose(page, "Service", "Stock");
  await choose(page, "Handler", "level");
  await fill(page, "Key", "lamp");
  await expectAccessible(page);
  await press(page, "Create");
  await page.getByRole("heading", { name: "nightly", exact: true }).waitFor();
  await page.getByRole("img", { name: /^nightly: once, first/ }).waitFor();
  await page.getByText("Not fired yet").waitFor();
  await expectAccessible(page);

  await act(page, "nightly", "Fire now");
  await page
    .getByRole("table")
    .getByRole("link", { name: /^inv_1/ })
    .waitFor();
  // The result of the last run stands in the row of the schedule, and that of each recent run in its own.
  await page.getByRole("row").filter({ hasText: "At 02:30" }).getByRole("link", { name: "succeeded" }).waitFor();
  await page.getByRole("table").last().getByRole("row").filter({ hasText: "fired" }).getByText("succeeded").waitFor();
  await act(page, "nightly", "Pause");
  await page.getByText("None while paused.").waitFor();
  await act(page, "nightly", "Edit");
  await fill(page, "Schedule", "every 15m");
  await press(page, "Save");
  await page.getByText("every 15m", { exact: true }).waitFor();
  await act(page, "nightly", "Edit");
  await choose(page, "Service", "Orders");
  await choose(page, "Handler", "place");
  await fill(page, "item", "lamp");
  await page.getByLabel("amount", { exact: true }).fill("0");
  await page.getByText("must be at least 1").first().waitFor();
  await page.getByLabel("amount", { exact: true }).fill("3");
  await expectAccessible(page);
  await press(page, "Save");
  await page.getByRole("cell", { name: "Orders/place" }).waitFor();
  const saved = (await ui.world.admin.get("/schedules")).json as { schedules: { payload: unknown }[] };
  expect(saved.schedules.map(({ payload }) => payload)).toEqual([{ item: "lamp", amount: 3 }]);
  await act(page, "nightly", "Delete");
  await press(page, "Delete");
  await page.getByRole("heading", { name: "No schedules yet" }).waitFor();
});

test("a schedule is called for past times after a preview, and no time again", async () => {
  const target = { service: "Stock", handler: "level", key: "lamp" };
  const schedule = { name: "past", cron: "30 2 * * *", zone: "Europe/Berlin", paused: true, target };
  await ui.world.admin.post("/schedules", schedule);
  const page = await ui.open("/schedules", { context: { timezoneId: "Europe/Berlin" } });
  const range = async (from: string, before: string) => {
    await act(page, "past", "Backfill");
    await page.getByLabel("From", { exact: true }).fill(from);
    await page.getByLabel("Before", { exact: true }).fill(before);
    await press(page, "Preview");
  };
  await range("2026-03-28T00:00", "2026-03-31T00:00");
  const preview = page.getByRole("dialog").getByRole("status");
  await preview
    .getByText(/02:30:00/)
    .first()
    .waitFor();
  await expectAccessible(page);
  await press(page, "Call 3 times");
  await page.getByText("past called for 3 times").waitFor();
  await page.getByRole("table").last().getByRole("row").filter({ hasText: "manual" }).nth(2).waitFor();
  const calls = await ui.world.admin.query("SELECT id FROM sys_invocation WHERE idempotency_key LIKE 'sch_%/2026-03-%'");
  expect(calls).toHaveLength(3);

  await range("2026-03-28T00:00", "2026-04-01T00:00");
  await preview.getByText("Already ran").waitFor();
  await page.getByRole("button", { name: "Call 1 time", exact: true }).waitFor();
  await page.getByLabel("From", { exact: true }).fill("2026-04-01T00:00");
  await press(page, "Preview");
  await page.getByRole("alert").getByText("META0104").waitFor();
  expect(ui.browser.takeComplaints()).toEqual([expect.stringContaining("400")]); // The browser logs the refusal.
  await page.keyboard.press("Escape");
  await act(page, "past", "Delete");
  await press(page, "Delete");
  await page.getByRole("heading", { name: "No schedules yet" }).waitFor();
});

test("the calendar of many schedules fits a phone", async () => {
  const target = { service: "Payments", handler: "flaky" };
  await ui.world.admin.post("/schedules", { name: "each minute", cron: "* * * * *", target });
  await ui.world.admin.post("/schedules", { name: "weekly", cron: "@weekly", target });
  const page = await ui.open("/schedules", { width: 360, dark: true });
  const dense = page.getByRole("img", { name: /^each minute: 1,440 times/ });
  await dense.waitFor();
  expect(await dense.locator("rect").count()).toBe(96);
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await press(page, "7 days");
  await page.getByRole("img", { name: /^weekly: once/ }).waitFor();
  expect(new URL(page.url()).searchParams.get("span")).toBe("week");
});

test("a rule is made, holds calls back, is changed, turned off and deleted; a queue is paused and resumed", async () => {
  const page = await ui.open("/flow");
  await page.getByRole("heading", { name: "No rules yet" }).waitFor();
  await page.getByRole("heading", { name: "No scopes in use" }).waitFor();
  await expectAccessible(page);
  await press(page, "Create rule");
  await fill(page, "Pattern", "a b");
  await press(page, "Create");
  await page.getByText(/^One to three parts/).waitFor();
  await fill(page, "Pattern", "acme");
  await fill(page, "Max concurrency", "1");
  await expectAccessible(page);
  await press(page, "Create");
  await page.getByRole("row", { name: /^acme 1 no limit/ }).waitFor();

  const headers = { "x-restate-limit-key": "t1", "content-type": "application/json" };
  const url = new URL("/restate/scope/acme/send/Orders/rest", ui.world.server.ingressUrl);
  for (let i = 0; i < 2; i++) expect((await fetch(url, { method: "POST", headers, body: "3600000" })).status).toBe(202);
  await page.getByRole("row", { name: /^acme 1 of 1 full acme/ }).waitFor();
  const queue = page.getByRole("row", { name: /^acme\/t1/ });
  await queue.getByRole("link", { name: "a limit (rule acme)" }).waitFor();
  await expect(page.getByRole("link", { name: "acme / t1" }).getAttribute("href")).resolves.toMatch(
    /\/invocations\?scope=acme&limit-key=t1$/,
  );
  await expectAccessible(page);
  await press(page, "Pause acme/t1");
  await queue.getByText("paused", { exact: true }).waitFor();
  await press(page, "Resume acme/t1");
  await press(page, "Disable acme");
  await page.getByRole("row", { name: /^acme disabled/ }).waitFor();
  await press(page, "Edit acme");
  await fill(page, "Rate limit", "100");
  await press(page, "Save");
  await page.getByRole("row", { name: /100 per 1 s/ }).waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
  await press(page, "Delete acme");
  await press(page, "Delete");
  await page.getByRole("heading", { name: "No rules yet" }).waitFor();
  const deleted = page.locator(".toast").filter({ hasText: "Rule acme deleted" });
  await deleted.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByRole("row", { name: /100 per 1 s/ }).waitFor();
  await expectAccessible(page);
  await press(page, "Delete acme");
  await press(page, "Delete");
  await page.getByRole("heading", { name: "No rules yet" }).waitFor();
});

test("a cluster is added without showing its secret, a topic is subscribed to, paused and let go", async () => {
  const page = await ui.open("/subscriptions", { mayFail: true });
  await page.getByRole("heading", { name: "No subscriptions yet" }).waitFor();
  await page.getByRole("heading", { name: "No Kafka clusters yet" }).waitFor();
  await expectAccessible(page);
  await press(page, "Add Kafka cluster");
  await fill(page, "Name", "main");
  await fill(page, "Brokers", "127.0.0.1:1");
  await choose(page, "Security protocol", "Password, without TLS");
  await fill(page, "User name", "ada");
  await page.getByLabel("Password").fill("hunter2");
  await expectAccessible(page);
  await press(page, "Add");
  await page.getByRole("row", { name: /^main bootstrap\.servers = 127\.0\.0\.1:1/ }).waitFor();
  await expect(page.getByText("hunter2").count()).resolves.toBe(0);

  await press(page, "Create subscription");
  await press(page, "Create");
  await page.getByText("Enter a topic.").waitFor();
  await fill(page, "Topic", "orders");
  await fill(page, "Additional consumer options", "group.id");
  await page.getByText("Line 1 is not name=value.").waitFor();
  await fill(page, "Additional consumer options", "group.id=mine");
  await press(page, "Create");
  await page.getByRole("heading", { name: "kafka://main/orders", exact: true }).waitFor();
  await page.getByText(/ECONNREFUSED/).waitFor();
  await expectAccessible(page);
  await press(page, "Pause kafka://main/orders");
  await page.getByRole("row", { name: /orders main .* paused/ }).waitFor();

  await press(page, "Remove main");
  await page.getByRole("textbox", { name: /to confirm/ }).fill("main");
  await press(page, "Remove");
  await page.getByRole("alert").waitFor();
  await press(page, "Cancel");
  await press(page, "Delete kafka://main/orders");
  await press(page, "Delete");
  await page.getByRole("heading", { name: "No subscriptions yet" }).waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
});

test("a record that a subscription is stuck at is shown, and left out", async () => {
  const status = {
    id: "sub_1stuck",
    state: "consuming",
    paused: false,
    skipped: [],
    assigned_partitions: [0],
    positions: [{ partition: 0, next_offset: 41, lag: 9 }],
    stuck_at: { partition: 0, offset: 41, reason: "its key is not UTF-8" },
    last_failure: null,
    next_retry_at: null,
    handled_records: 41,
  };
  const page = await ui.open("/subscriptions", { dark: true });
  const skipped: unknown[] = [];
  await page.route("**/v4/subscriptions", (route) =>
    route.fulfill({
      json: { subscriptions: [{ id: status.id, source: "kafka://main/orders", sink: "service://Stock/take", options: {} }] },
    }),
  );
  await page.route("**/v4/subscriptions/sub_1stuck/status", (route) =>
    route.fulfill({ json: skipped.length === 0 ? status : { ...status, stuck_at: null } }),
  );
  await page.route("**/v4/subscriptions/sub_1stuck/skip", (route) => {
    skipped.push(route.request().postDataJSON());
    return route.fulfill({ json: { ...status, stuck_at: null } });
  });
  await page.goto(ui.url("/subscriptions?show=sub_1stuck"));
  await page.getByText("Stuck at record 41 of partition 0.").waitFor();
  await expectAccessible(page);
  await press(page, "Skip record");
  await page.getByRole("dialog").getByRole("button", { name: "Skip record" }).click();
  await page.getByText("Stuck at record 41 of partition 0.").waitFor({ state: "detached" });
  expect(skipped).toEqual([{ partition: 0, offset: 41 }]);
});
