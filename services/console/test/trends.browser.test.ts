/** Trends beside the rows of lists, and results of queries as charts and plans. */
import { expect, test } from "@jest/globals";
import { expectAccessible, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole } from "./console.js";

const ui = suiteConsole();

test.each([360, 1440])(
  "at %i px: services show calls and failures of the last hour, which lead to the invocations",
  async (width) => {
    const page = await ui.open("/services", { width, dark: width === 360 });
    await page
      .getByRole("img", { name: /^Payments, last hour: \d+ calls, [1-9]\d* failed, at most \d+ per 3 minutes$/ })
      .waitFor();
    await page.getByText("Calls are counted in memory since the server started").waitFor();
    await expectNoSidewaysScroll(page);
    await expectNoSplitWords(page);
    await expectAccessible(page);
    await page.getByRole("link", { name: /^\d+ failed invocations of Payments in the last hour$/ }).click();
    await page.getByRole("heading", { name: "Invocations", level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get("service")).toBe("Payments");
  },
);

test.each([360, 1440])(
  "at %i px: the page of a service shows its calls and its unfinished invocations by minute",
  async (width) => {
    const page = await ui.open("/services/Orders", { width, dark: width === 360 });
    await page.getByRole("img", { name: /^Per minute\. calls: .*failures: / }).waitFor();
    await page.getByRole("img", { name: /^Waiting, running or suspended\. unfinished: / }).waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
  },
);

const BY_SERVICE = "SELECT target_service_name AS service, count(*) AS calls FROM sys_invocation GROUP BY 1 ORDER BY 1";
const OVER_TIME =
  "SELECT time_bucket(INTERVAL '1 hour', created_at) AS at, target_service_name AS service, count(*) AS calls FROM sys_invocation GROUP BY 1, 2";

test.each([360, 1440])("at %i px: a result is shown as bars, by keyboard too", async (width) => {
  const page = await ui.open(`/sql?q=${encodeURIComponent(BY_SERVICE)}`, { width, dark: width === 360 });
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("tab", { name: "Table" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  const bars = page.getByRole("list", { name: "calls by service" });
  await bars.getByRole("listitem").filter({ hasText: "Signup" }).waitFor();
  expect(await bars.getByRole("listitem").count()).toBe(4);
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
});

test("moments are an axis, and another column splits the numbers into lines", async () => {
  const page = await ui.open(`/sql?q=${encodeURIComponent(OVER_TIME)}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("tab", { name: "Chart" }).click();
  await page.getByRole("img", { name: /^calls\. .*Orders: last \d+/ }).waitFor();
  await page.getByRole("combobox", { name: "Split by" }).click();
  await page.getByRole("option", { name: "Not split" }).click();
  await page.getByRole("img", { name: /^calls\. calls: last \d+/ }).waitFor();
  await page.getByText("Values of rows with the same place in the chart are added.").waitFor();
  await expectAccessible(page);
});

test("the plan of a query is shown, with its measured times on demand", async () => {
  const page = await ui.open(`/sql?q=${encodeURIComponent(BY_SERVICE)}`, { width: 360 });
  await page.getByRole("button", { name: "Explain" }).click();
  await page.getByRole("menuitem", { name: "Plan of the query" }).click();
  await page
    .getByRole("region", { name: /^Plan: / })
    .first()
    .waitFor();
  await page.getByText("HASH_GROUP_BY").first().waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Explain" }).click();
  await page.getByRole("menuitem", { name: "Run the query and measure its plan" }).click();
  await page.getByText("Total Time:").first().waitFor();
});

test.each([360, 1024])("at %i px: deployments show calls of the last hour, and the share of each version", async (width) => {
  const page = await ui.open("/deployments", { width, dark: width === 360 });
  await page.getByRole("img", { name: /^http.*, last hour: [1-9]\d* calls, [1-9]\d* failed/ }).waitFor();
  await expectNoSidewaysScroll(page);
  await expectNoSplitWords(page);
  await expectAccessible(page);
  await page.getByRole("link", { name: /^http/ }).first().click();
  await page.getByText(/^(\d+) of \1 calls of its services in the last hour started on this deployment \(100%\)\.$/).waitFor();
  await page.getByRole("img", { name: /^Calls per minute\. this deployment: last \d+, most [1-9]\d*\./ }).waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
});
