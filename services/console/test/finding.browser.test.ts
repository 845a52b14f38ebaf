/** Search in the console: in a long timeline, by name in the palette, in a long form, and on a list of thousands. */
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole({ settings: { "worker.invoker.inactivity-timeout": "500ms" } });
const STEPS = 30;
const row = (page: Page, name: RegExp | string) => page.getByRole("treeitem", { name });
const isInSight = (page: Page, selector: string) =>
  page.locator(selector).evaluate((one) => {
    const box = one.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight;
  });

test("like steps of a long run share a row, which unfolds; steps are searched, and the latest is one click away", async () => {
  const { invocationId } = await ui.world.ingress.send(["Orders", "assemble"], { steps: STEPS, stepMs: 1 });
  await ui.world.ingress.attach(invocationId);
  const page = await ui.open(`/invocations/${invocationId}`);
  const group = row(page, new RegExp(`^${STEPS} steps: run part 1 … part ${STEPS}`));
  await group.waitFor();
  expect(await row(page, /^run 'part 7'/).count()).toBe(0);
  await expectAccessible(page);
  await group.click();
  await row(page, /^run 'part 7'/).waitFor();

  await page.getByRole("searchbox", { name: "Search steps" }).fill("part 29");
  await page.getByText(`1 of ${STEPS + 2} steps`).waitFor();
  expect(await row(page, /^run /).count()).toBe(1);
  await page.getByRole("button", { name: "Latest step" }).click();
  await row(page, /^output/).waitFor();
  await page.getByText("Group repeated steps").click();
  await row(page, /^run 'part 7'/).waitFor();

  // A time that is drawn in the minimap is what the chart shows.
  const map = await page.locator(".tl-map").boundingBox();
  if (map === null) throw new Error("there is no minimap");
  await page.mouse.move(map.x + map.width * 0.2, map.y + 5);
  await page.mouse.down();
  await page.mouse.move(map.x + map.width * 0.6, map.y + 5);
  await page.mouse.up();
  await page.locator(".tl-map__window").waitFor();
  await page.getByRole("button", { name: "Fit", disabled: false }).click();
  await page.locator(".tl-map__window").waitFor({ state: "detached" });
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
});

test("an awaited awakeable and the attempt to come have rows, and the first failure is one click away", async () => {
  const page = await ui.open(`/invocations/${ui.data.approval}`);
  await row(page, /^await awakeable 'sign_1.*, pending/).waitFor();
  await page.goto(ui.url(`/invocations/${ui.data.broken}`));
  await row(page, /^next attempt \d+, (in|now|as soon)/).waitFor();
  await page.getByRole("button", { name: "First failure" }).click();
  await expectAccessible(page);
  // Times of the server's sentence are those of every other text.
  await page
    .getByText(/next one starts at/)
    .first()
    .waitFor();
  expect(await page.locator(".inv-sentence").textContent()).not.toMatch(/\d{4}-\d\d-\d\dT/);
});

test("the palette finds services, handlers, deployments and actions", async () => {
  const page = await ui.open("/tour");
  await page.getByRole("button", { name: /^Go to/ }).click();
  const field = page.getByRole("combobox", { name: /^Search pages/ });
  await field.fill("stock");
  await page.getByRole("option", { name: "Stock Service" }).waitFor();
  await expectAccessible(page);
  await field.fill("stock/take");
  await page.getByRole("option", { name: "Stock/take Handler" }).click();
  await page.waitForURL(/\/playground\?service=Stock&handler=take/);
  await page.keyboard.press("Control+k");
  await field.fill("dark");
  await page.getByRole("option", { name: "Theme: Dark" }).click();
  await eventually("dark", async () => (await page.evaluate(() => document.documentElement.dataset["theme"])) === "dark");
});

test.each([
  { width: 1440, height: 900 },
  { width: 360, height: 640 },
])("the playground's button stays in sight, and the response comes into sight: %j", async (size) => {
  const page = await ui.open("/playground?service=Orders&handler=place", { width: size.width });
  await page.setViewportSize(size);
  await page.getByLabel("item", { exact: true }).waitFor();
  const isShown = () => isInSight(page, ".playground__call button[type=submit]");
  expect(await isShown()).toBe(true);
  await page.locator("main").evaluate((main) => main.scrollTo(0, 300));
  expect(await isShown()).toBe(true);
  await expectNoSidewaysScroll(page);
  await page.getByRole("button", { name: /^Call/ }).first().click();
  await page.getByRole("heading", { name: "Response" }).waitFor();
  await eventually("the response in sight", () => isInSight(page, ".playground__answer h2"));
  await expectAccessible(page);
});

test("chips of statuses have counts, and the field for conditions has help", async () => {
  const page = await ui.open("/invocations");
  const [counted] = await ui.world.admin.query("SELECT count(*) AS n FROM sys_invocation WHERE completion_result = 'failure'");
  await page.getByRole("button", { name: `failed ${counted?.["n"]}`, exact: true }).waitFor();
  await page.getByRole("button", { name: "Help" }).click();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Use retry_count > 3" }).click();
  await page.waitForURL(/where=retry_count/);
});

test("descriptions of services are markdown, and bring no element of their own", async () => {
  const page = await ui.open("/tour");
  await page.route("**/v4/services/Orders", async (route) => {
    const response = await route.fetch();
    const documentation = "**Owner:** [runbook](https://example.com) <img src=x onerror=alert(1)> [x](javascript:alert(1))";
    await route.fulfill({ response, json: { ...(await response.json()), documentation } });
  });
  await page.goto(ui.url("/services/Orders"));
  await page.locator(".markdown strong").getByText("Owner:").waitFor();
  expect(await page.getByRole("link", { name: "runbook" }).getAttribute("href")).toBe("https://example.com/");
  await page.getByText("<img src=x").waitFor();
  expect(await page.locator(".markdown img, .markdown a[href^=javascript]").count()).toBe(0);
  await expectAccessible(page);
});

test("an outage is shown once, without commands of a terminal", async () => {
  const page = await ui.open("/invocations", { mayFail: true });
  await page.getByText("Orders/place").first().waitFor();
  await page.route("**/*", (route) => route.abort("connectionrefused"));
  await page.getByText("The server cannot be reached.").waitFor();
  expect(await page.getByText("The server cannot be reached.").count()).toBe(1);
  expect(await page.getByText(/perdure dev|Failed to fetch/).count()).toBe(0);
  expect(await page.locator(".frame__main").evaluate((main) => getComputedStyle(main).outlineStyle)).toBe("none");
  await page.unrouteAll();
  await page.getByText("The server cannot be reached.").waitFor({ state: "hidden" });
});
