/// <reference lib="dom" />
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole, textOf } from "./console.js";

const ui = suiteConsole();

const row = (page: Page, text: string | RegExp) => page.getByRole("row").filter({ hasText: text });
const line = (page: Page) => page.getByLabel("Filter expression or invocation id");
const chosen = (page: Page) => page.locator(".runs-bulk [role=status]");
/** Until what is listed belongs to the address. */
const statusShown = (page: Page, text: RegExp) => page.getByRole("status").filter({ hasText: text }).waitFor();
/** Number of listed rows, without the head. */
const listed = async (page: Page) => Number(await page.getByRole("grid").getAttribute("aria-rowcount")) - 1;

test("new invocations appear on top, those that run change, and a reader is not disturbed", async () => {
  const page = await ui.open("/invocations");
  await row(page, "Payments/broken").filter({ hasText: "Cannot read properties" }).waitFor();
  const before = await listed(page);
  await ui.world.ingress.result(["Payments", "charge"], 3);
  await eventually("the new one on top", async () => (await listed(page)) > before);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const read = await page.locator(".runs__row--active").getAttribute("id");
  const calm = await listed(page);
  await ui.world.ingress.result(["Payments", "charge"], 4);
  await page.getByRole("button", { name: "1 new" }).waitFor();
  expect([await listed(page), await page.locator(".runs__row--active").getAttribute("aria-rowindex")]).toEqual([calm, "3"]);
  expect(await page.locator(".runs__row--active").getAttribute("id")).toBe(read);
  await page.keyboard.press("n");
  await eventually("all of them", async () => (await listed(page)) === calm + 1);
});

test("a filter is a condition in the address; parts go away one by one, and Back brings them back", async () => {
  const page = await ui.open("/invocations");
  await page.getByRole("button", { name: "failed" }).click();
  await row(page, "more than the card has").first().waitFor();
  await eventually("a condition", async () => (await line(page).inputValue()) === "completion_result = 'failure'");
  await page.getByRole("button", { name: "Filter …" }).click();
  await page.getByLabel("Service").fill("Orders");
  await page.getByLabel("Created").click();
  await page.getByRole("option", { name: "In the last hour" }).click();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await statusShown(page, /^1 invocation$/);
  expect(new URL(page.url()).search).toBe("?status=failed&service=Orders&created=1h");
  expect(await line(page).inputValue()).toBe(
    "target_service_name = 'Orders' AND completion_result = 'failure' AND created_at >= now() - INTERVAL '1 hour'",
  );
  await page.getByRole("button", { name: "Remove filter Service: Orders" }).click();
  await statusShown(page, /^2 invocations$/);
  await page.goBack();
  await statusShown(page, /^1 invocation$/);
  await page.getByRole("button", { name: "Filter …" }).click();
  await page.getByLabel("Failure contains").fill("NO SUCH THING");
  await page.keyboard.press("Enter");
  await page.getByText("No matching invocations").waitFor();
});

test("a condition is written by hand; the server's error is beside it; an id leads to its invocation", async () => {
  const page = await ui.open("/invocations", { mayFail: true });
  await row(page, "Orders/place").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("target_service_key = 'ada'");
  await page.keyboard.press("Enter");
  await statusShown(page, /^1 invocation$/);
  await row(page, "Signup/ada/run").waitFor();
  await line(page).fill("statuss = 'running'");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .filter({ hasText: /"statuss" not found/ })
    .waitFor();
  expect(await page.getByRole("grid").count()).toBe(0);
  await expectAccessible(page);
  await line(page).fill("status = 'running");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "open '" }).waitFor();
  await line(page).fill(` ${ui.data.placed} `);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname.endsWith(`/invocations/${ui.data.placed}`));
});

test("the keyboard moves through the rows, selects some and opens one", async () => {
  const page = await ui.open("/invocations?service=Orders&handler=place&sort=created");
  await row(page, "Orders/place").first().waitFor();
  for (const key of ["j", "j", "x", "j", "ArrowDown", "Shift+X"]) await page.keyboard.press(key);
  await chosen(page)
    .filter({ hasText: /^3 selected$/ })
    .waitFor();
  await eventually("three rows", async () => (await page.getByRole("row", { selected: true }).count()) === 3);
  const active = await page.getByRole("grid").getAttribute("aria-activedescendant");
  expect(active).toMatch(/^run-inv_1/);
  await page.keyboard.press("Escape");
  await chosen(page).waitFor({ state: "detached" });
  const activeIs = (rowIndex: number) => page.locator(`.runs__row--active[aria-rowindex="${rowIndex}"]`).waitFor();
  await page.keyboard.press("End");
  await activeIs((await listed(page)) + 1);
  await page.keyboard.press("Home");
  await activeIs(2);
  const first = (await page.getByRole("grid").getAttribute("aria-activedescendant"))?.replace("run-", "");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname.endsWith(`/invocations/${first}`));
});

test("many are cancelled at once: after a preview, with a typed confirmation, and with their progress", async () => {
  await Promise.all(["a", "b", "c"].map((what) => ui.world.ingress.send(["Orders", "approve"], what)));
  const page = await ui.open("/invocations?handler=Orders/approve");
  await eventually("all of them", async () => (await row(page, "Orders/approve").count()) >= 4);
  await row(page, "Orders/approve").first().locator("[data-select]").click();
  await page.getByRole("button", { name: "Resume …" }).click();
  await page.getByText("None can be resumed").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: /Select all/ }).click();
  await page.getByRole("button", { name: "Kill …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Handlers cannot clean up").waitFor();
  await expectAccessible(page);
  const title = (await dialog.getByRole("heading").textContent()) ?? "";
  const count = Number(/\d+/.exec(title)?.[0]);
  expect(count).toBeGreaterThanOrEqual(4);
  expect(await dialog.getByRole("button", { name: title }).isEnabled()).toBe(false);
  await dialog.getByLabel("Reason").fill("approvals are over");
  await dialog.getByLabel(/to confirm/).fill(`kill ${count}`);
  await dialog.getByRole("button", { name: title }).click();
  await page.getByText(`${count} of ${count} done, 0 failed`).waitFor();
  await page.getByText("approvals are over").waitFor();
  await page.getByRole("table").getByText("done").first().waitFor();
  await expectAccessible(page);
  await page.getByRole("link", { name: "All batches" }).click();
  await row(page, "kill").getByText("finished").waitFor();
  await expectAccessible(page);
  expect(
    (await ui.world.admin.query("SELECT id FROM sys_invocation WHERE target = 'Orders/approve' AND status != 'completed'"))
      .length,
  ).toBe(0);
});

test.each(["csv", "jsonl"])("what is listed leaves as a file: %s", async (format) => {
  const page = await ui.open("/invocations?service=Signup&sort=created");
  await statusShown(page, /^2 invocations$/);
  await page.getByRole("button", { name: "Export" }).click();
  const dialog = page.getByRole("dialog");
  if (format === "jsonl") {
    await dialog.getByLabel("Format").click();
    await page.getByRole("option", { name: /JSON/ }).click();
  }
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Export" }).click()]);
  const lines = (await textOf(download)).trimEnd().split(/\r?\n/);
  expect(download.suggestedFilename()).toMatch(new RegExp(`^invocations-local-.*\\.${format}$`));
  if (format === "jsonl") expect(lines.map((each) => JSON.parse(each).target_service_key).toSorted()).toEqual(["ada", "grace"]);
  else
    expect([lines.length, lines[0]?.startsWith("id,target_service_name"), lines[1]?.startsWith("inv_1")]).toEqual([
      3,
      true,
      true,
    ]);
});

test("columns are a matter of taste, and remembered", async () => {
  const page = await ui.open("/invocations");
  await row(page, "Orders/place").first().waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Idempotency key" }).click();
  await page.getByRole("checkbox", { name: "Attempts" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await row(page, "Orders/place").first().waitFor();
  const heads = await page.getByRole("columnheader").allInnerTexts();
  expect([heads.includes("Idempotency key"), heads.includes("Attempts")]).toEqual([true, false]);
});

test.each([
  { width: 360, dark: true },
  { width: 1280, dark: true },
  { width: 1280, dark: false },
])("it is accessible: %j", async (view) => {
  const page = await ui.open("/invocations?status=failed&status=backing-off", view);
  await row(page, "Payments/broken").waitFor();
  await row(page, "Payments/broken").locator("[data-select]").click();
  await page.getByText("1 selected").waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
});

test("an error of the server is shown, and the request is repeated", async () => {
  const page = await ui.open("/invocations?service=Signup", { mayFail: true });
  await row(page, "Signup/ada/run").first().waitFor();
  await page.route("**/query", (route) => route.fulfill({ status: 500, json: { message: "the disk is full" } }));
  await page.getByText("the disk is full").first().waitFor();
  expect(await row(page, "Signup/ada/run").count()).toBeGreaterThan(0);
  await expectAccessible(page);
  await page.unroute("**/query");
  await page.getByText("the disk is full").first().waitFor({ state: "detached" });
});

test("where nothing was called yet it explains how to", async () => {
  const page = await ui.browser.newContext();
  await page.route("**/query", (route) => route.fulfill({ json: { rows: [] } }));
  const window = await page.newPage();
  await window.goto(ui.url("/invocations"));
  await window.getByText("No invocations yet").waitFor();
  await expectAccessible(window);
});
