/** The overview, services, the playground and deployments, as a developer uses them who has just written a handler. */
import { expect, test } from "@jest/globals";
import { SdkEndpoint } from "@perdure/conformance";
import { type Context, service } from "@restatedev/restate-sdk";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole, type View } from "./console.js";

const ui = suiteConsole();

/** Without a locale Chromium reports one that its own `Intl` refuses. */
const LOCALE = { context: { locale: "en-US" } };
const open = (path: string, view: View = {}) => ui.open(path, { ...LOCALE, ...view });

/** A journal of a deploy check may take 10 s, and there are several. */
const CHECK_MS_MAX = 40_000;

const heading = (page: Page, name: string | RegExp, level = 1) => page.getByRole("heading", { level, name });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

async function choose(page: Page, label: string, option: string | RegExp): Promise<void> {
  await page.getByLabel(label, { exact: true }).click();
  await page.getByRole("option", { name: option }).click();
}

test.each([
  ["/", { dark: true }],
  ["/", { width: 360 }],
  ["/services", { width: 360, dark: true }],
  ["/services/Orders", { width: 360, dark: true }],
  ["/playground?service=Orders&handler=place", { dark: true }],
  ["/playground?service=Stock&handler=take&key=lamp", { width: 360 }],
  ["/deployments", { width: 360 }],
  ["/deployments?register=yes", { dark: true }],
] satisfies [string, View][])("%s is for everyone, seen as %j", async (path, view) => {
  const page = await open(path, view);
  await page
    .locator(path.includes("register") ? "[role=dialog]" : "main table, main form")
    .first()
    .waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
});

test("the overview shows what runs, how fast, and what needs attention", async () => {
  const page = await open("/");
  const needs = page.getByRole("region", { name: "Needs attention" });
  const broken = needs.getByRole("row").filter({ hasText: "Payments/broken" });
  await broken.getByRole("link", { name: "RT0007" }).waitFor();
  await page.locator("main canvas").nth(1).waitFor();
  expect(await page.getByRole("img", { name: /^Per minute\. requests: / }).count()).toBe(1);
  await button(page, "7 days").click();
  await page.getByRole("img", { name: /^Per 2 h\. requests: last \d/ }).waitFor();
  expect(new URL(page.url()).searchParams.get("window")).toBe("7d");
  await expectAccessible(page);
  await page.goBack();
  await page.getByRole("img", { name: /^Per minute\. requests: / }).waitFor();
  const orders = page.getByRole("region", { name: "Figures by service" }).getByRole("row").filter({ hasText: "Orders" });
  await orders.getByRole("link", { name: "1 failed invocations of Orders" }).click();
  await page.waitForURL(/\/invocations\?/);
  expect(new URL(page.url()).searchParams.getAll("status")).toEqual(["failed"]);
  await page.goBack();
  await needs.getByRole("button", { name: "Actions for Payments/broken backing-off" }).click();
  await page.getByRole("menuitem", { name: "Resume …" }).click();
  const batch = page.getByRole("dialog", { name: "Resume 1 invocation" });
  await batch.getByRole("link", { name: /^Payments\/broken inv_1\w+…\w+$/ }).waitFor();
  await expectAccessible(page);
  await batch.getByRole("button", { name: "Cancel", exact: true }).click();
  await needs.getByRole("button", { name: "Actions for Payments/broken backing-off" }).click();
  await page.getByRole("menuitem", { name: "Acknowledge" }).click();
  await broken.waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("1 acknowledged or muted").click();
  await expectAccessible(page);
  await button(page, "Show again: Payments/broken backing-off").click();
  await page.getByText(/acknowledged or muted/).waitFor({ state: "detached" });
  await broken.getByRole("link", { name: /Cannot read properties/ }).click();
  await page.waitForURL(`**/invocations/${ui.data.broken}`);
});

test("a service shows what its handlers take, and is configured", async () => {
  const page = await open("/services?find=plac", { mayFail: true });
  const orders = page.getByRole("link", { name: "Orders", exact: true });
  await orders.waitFor();
  expect(await page.getByRole("row").count()).toBe(2);
  await orders.click();
  const takes = page.getByRole("region", { name: "Input of place" });
  expect(await takes.getByRole("row").filter({ hasText: "amount" }).textContent()).toMatch(
    /integer.*How many of it.*1 to 10,000/,
  );
  await button(page, "Edit configuration").click();
  expect(await button(page, "Save").getAttribute("aria-disabled")).toBe("true");
  await page.getByLabel("Journal retention").fill("a while");
  await button(page, "Save").click();
  await page.getByRole("alert").filter({ hasText: "The configuration was not changed." }).waitFor();
  await page.getByLabel("Journal retention").fill("3d");
  await button(page, "Save").click();
  await page.getByRole("dialog", { name: "Configuration of Orders" }).waitFor({ state: "detached" });
  await page.getByRole("row").filter({ hasText: "Journal retention" }).getByText("3d").waitFor();
});

test("a form and its JSON are one value, the schema is checked before the handler is called, and calls are remembered", async () => {
  // The browser logs answers such as 402 to its console.
  const page = await open("/playground?service=Orders&handler=place", { mayFail: true });
  const tab = (name: string) => page.getByRole("tab", { name });
  const json = page.getByRole("textbox", { name: "Body as JSON" });
  await page.getByLabel("item", { exact: true }).fill("");
  await page.getByLabel("amount", { exact: true }).fill("0");
  await button(page, "Call anyway").waitFor();
  expect(await page.locator(".playground__problems").textContent()).toContain("amount must be at least 1");
  await tab("JSON").click();
  await json.fill('{"item": "lantern", "amount": 3, "speed": "express"}');
  await expectAccessible(page);
  await tab("Form").click();
  await page.locator("input[value=lantern]").waitFor();
  await choose(page, "isGift (optional)", "true");
  await tab("JSON").click();
  await json.getByText('"isGift"').waitFor();
  await json.press("Control+Enter");
  const answer = page.locator("section").filter({ has: heading(page, "Response", 2) });
  await answer.getByText(/order-\d+: 3 × lantern, 97 left/).waitFor();
  expect(await answer.getByRole("link", { name: /^inv_1/ }).count()).toBe(1);

  await tab("Form").click();
  await page.getByLabel("amount", { exact: true }).fill("5000");
  await button(page, "Call").click();
  await answer.getByRole("alert").filter({ hasText: "The handler failed with 402. more than the card has" }).waitFor();
  await expectAccessible(page);
  await button(page, "Use again: Orders/place").last().click();
  await page.locator("input[value='3']").waitFor();
  await page.reload();
  await button(page, "Use again: Orders/place").first().waitFor();
  expect(await button(page, "Use again: Orders/place").count()).toBe(2);
});

test("a body that is one of several forms is entered as one of them", async () => {
  const page = await open("/tour");
  const payment = {
    oneOf: [
      { type: "object", required: ["kind", "number"], properties: { kind: { const: "card" }, number: { type: "string" } } },
      {
        type: "object",
        required: ["kind", "iban"],
        properties: { kind: { const: "transfer" }, iban: { minLength: 15, type: "string" } },
      },
    ],
  };
  await page.route("**/v4/services*", async (route) => {
    const response = await route.fetch();
    const text = JSON.stringify(await response.json(), (key, value) =>
      value?.name === "place" && key !== ""
        ? { ...value, input_json_schema: { type: "object", required: ["payment"], properties: { payment } } }
        : value,
    );
    await route.fulfill({ response, body: text });
  });
  await page.goto(ui.url("/playground?service=Orders&handler=place"));
  await page.getByLabel("number", { exact: true }).waitFor();
  await choose(page, "Variant of payment", "transfer");
  await page.getByLabel("iban", { exact: true }).fill("DE1");
  await page.getByRole("alert").getByText("must have at least 15 characters").waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
  await page.getByRole("tab", { name: "JSON" }).click();
  await page.getByRole("textbox", { name: "Body as JSON" }).getByText('"DE1"').waitFor();
});

test("a user who stops waiting sees that the invocation continues; a delayed call shows its time", async () => {
  const page = await open("/playground?service=Orders&handler=approve");
  await page.locator(".cm-content").first().fill('"a rebate"');
  await button(page, "Call").click();
  await page.getByText("Waiting for the response").getByRole("link").waitFor();
  await button(page, "Stop waiting").click();
  await page.getByText("The playground no longer waits").waitFor();
  await choose(page, "Mode", "Send with delay");
  await page.getByLabel("Delay").fill("1h");
  await button(page, "Send with delay").click();
  await page.getByText(/It starts\s+in \d+ min/).waitFor();
  // An object needs a key.
  await choose(page, "Service", /^Stock/);
  expect(await button(page, "Call").getAttribute("aria-disabled")).toBe("true");
  await page.getByLabel("Key", { exact: true }).fill("lamp shade");
  await choose(page, "Handler", /^level/);
  await button(page, "Call").click();
  await page.locator(".cm-content").filter({ hasText: "100" }).waitFor();
  expect(new URL(page.url()).searchParams.get("key")).toBe("lamp shade");
});

/** Does another step first than the code that runs, and so cannot continue with what waits there. */
const otherOrders = service({
  name: "Orders",
  handlers: {
    place: async (): Promise<string> => "placed",
    assemble: async (): Promise<string> => "assembled",
    approve: async (ctx: Context): Promise<string> => ctx.run("request twice", () => "approved"),
    rest: async (ctx: Context, ms: number): Promise<void> => ctx.sleep(ms, "rest"),
  },
});

test("new code is discovered and checked before it is registered, and a draining deployment is removed after a confirmation", async () => {
  const endpoint = ui.world.own(await SdkEndpoint.start({ services: [otherOrders] }));
  const page = await open("/deployments", { mayFail: true });
  await page.getByText("Orders").waitFor();
  await button(page, "Register deployment").click();
  const dialog = page.getByRole("dialog", { name: /deployment$/ });
  await dialog.getByLabel("Endpoint URL").fill("localhost");
  await dialog.getByText("Must begin with http://").waitFor();
  await dialog.getByLabel("Endpoint URL").fill(endpoint.url);
  await button(page, "Preview changes").click();
  await dialog.getByRole("alert").filter({ hasText: "META0101" }).waitFor();
  const finding = dialog.getByRole("row").filter({ hasText: "Orders/approve" });
  expect(await finding.textContent()).toMatch(/would fail.*RT0016/);
  await expectAccessible(page);
  await dialog.getByText("More", { exact: true }).click();
  await dialog.getByText("Even when handlers were removed").click();
  await button(page, "Preview changes").click();
  await dialog.getByRole("row").filter({ hasText: "Orders" }).getByText("revision 1 → 2").waitFor();
  await button(page, "Register").click();
  await dialog.waitFor({ state: "detached" });
  const newer = page.getByRole("row").filter({ hasText: endpoint.url });
  await newer.getByText("revision 2").waitFor();

  await newer.getByRole("link", { name: endpoint.url }).click();
  await page.getByText("No invocations in flight on this deployment.").waitFor();
  await choose(page, "Other deployment", /^http/);
  const orders = page.getByRole("region", { name: "Differences", exact: true }).getByRole("row").filter({ hasText: "Orders" });
  expect(await orders.textContent()).toMatch(/1 → 2.*changed.*changed: place/);
  await page.getByText("Differences of Orders").click();
  const differences = page.getByRole("region", { name: "Differences of Orders" });
  await differences.getByRole("deletion").filter({ hasText: '"amount": {' }).waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await button(page, "More actions").click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await dialog.getByText("would be served by an older revision").waitFor();
  const id = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
  await dialog.getByRole("textbox").fill(id);
  await button(page, "Remove anyway").click();
  await page.waitForURL("**/deployments");
  await newer.waitFor({ state: "detached" });
});

test("a deployment lists the invocations that need it, and is checked against them", async () => {
  const page = await open("/deployments");
  await page.getByRole("row").getByRole("link", { name: /^http/ }).first().click();
  await page.getByRole("region", { name: "Invocations in flight on it" }).getByText("Orders/rest").first().waitFor();
  await button(page, "Verify compatibility").click();
  // Of the waiting invocations, only those that are suspended by now are tried.
  const result = page.getByText(/^All verified invocations are compatible|^There was no journal to replay/);
  await result.first().waitFor({ timeout: CHECK_MS_MAX });
  await button(page, "More actions").click();
  await page.getByRole("menuitem", { name: "Update in place" }).click();
  await button(page, "Dry run").click();
  await page.getByText(/The endpoint answers and serves .*Orders/).waitFor();
  await expectAccessible(page);
});

test.each([
  ["/", "No services registered yet"],
  ["/services", "No services yet"],
  ["/playground", "No handlers yet"],
  ["/deployments", "No deployments yet"],
])("%s of an environment with nothing in it says how something comes there", async (path, title) => {
  const page = await (await ui.browser.newContext({ ...LOCALE, width: 360 })).newPage();
  await page.route("**/v4/services", (route) => route.fulfill({ json: { services: [] } }));
  await page.route("**/v4/deployments", (route) => route.fulfill({ json: { deployments: [] } }));
  await page.goto(ui.url(path));
  await heading(page, title, 2).waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
});

test.each(["/", "/services/Orders", "/deployments"])(
  "%s shows that the server failed, and continues after a retry",
  async (path) => {
    const page = await (await ui.browser.newContext({ ...LOCALE, mayFail: true })).newPage();
    const body = { message: "the disk is full", restate_code: null, request_id: "req_7" };
    await page.route(/\/v4\/(services|deployments)/, (route) => route.fulfill({ status: 500, json: body }));
    await page.goto(ui.url(path));
    const alert = page.getByRole("alert").filter({ hasText: "the disk is full" });
    await alert.first().waitFor();
    await expectAccessible(page);
    await page.unrouteAll();
    // Pages that poll may have done so already.
    await page.evaluate(() => document.querySelector<HTMLButtonElement>(".problem button")?.click());
    await alert.first().waitFor({ state: "detached" });
  },
);
