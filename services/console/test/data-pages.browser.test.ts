/** State and completions that users enter reach handlers; their pages are tested against a real server. */
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole, textOf } from "./console.js";

// Waiting invocations are listed only when handlers are suspended: soon, not after a minute.
const ui = suiteConsole({ settings: { "worker.invoker.inactivity-timeout": "500ms" } });

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();
const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).click();
/** By keyboard events: the element that browsers insert for coloured text keeps its colour, which the page's policy removes. */
const write = async (page: Page, label: string, text: string) => {
  const editor = page.locator(".cm-content").and(page.getByRole("textbox", { name: label }));
  await editor.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
};

test("keys are listed, and the handler reads an entry that was changed", async () => {
  const page = await ui.open("/state?service=Stock");
  await page.getByRole("textbox", { name: "Key contains" }).fill("chai");
  await press(page, "Search");
  await page.getByRole("link", { name: "table" }).waitFor({ state: "detached" });
  expect(new URL(page.url()).searchParams.get("find")).toBe("chai");
  await page.getByRole("link", { name: "chair" }).click();
  await heading(page, "Stock / chair");
  await page.getByText("Not locked.").waitFor();
  await expectAccessible(page);

  await press(page, "Edit left");
  await write(page, "Value", "nine");
  await press(page, "Save");
  await page.getByText(/^Not valid JSON/).waitFor();
  await write(page, "Value", "7");
  const changes = page.getByRole("region", { name: "Changes" });
  await changes.getByRole("insertion").filter({ hasText: /^7$/ }).waitFor();
  await changes.getByRole("deletion").waitFor();
  await expectAccessible(page);
  await press(page, "Save");
  await page.getByText("State of Stock/chair saved").waitFor();
  await expect(ui.world.ingress.result(["Stock", "chair", "level"])).resolves.toBe(7);
});

test("a concurrent change of another user is shown before anything is overwritten", async () => {
  const page = await ui.open("/state/Stock/table", { mayFail: true });
  await press(page, "Add entry");
  await page.getByRole("textbox", { name: "Name" }).fill("shelf");
  await write(page, "Value", '"B 4"');
  await ui.world.ingress.result(["Stock", "table", "take"], 1);
  await press(page, "Save");
  await page.getByRole("heading", { name: "State changed meanwhile" }).waitFor();
  await page.getByText("Also changed:").waitFor();
  await expectAccessible(page);
  await press(page, "Apply my changes");
  await page.getByText("State of Stock/table saved").waitFor();
  await page.getByRole("row", { name: /shelf/ }).waitFor();

  await press(page, "Clear all");
  await page.getByRole("textbox", { name: /Type .table. to confirm/ }).fill("table");
  await press(page, /^Clear$/);
  await page.getByRole("heading", { name: "This key has no state" }).waitFor();
});

test("the state of a key has a time to live, of its own or of its service", async () => {
  await ui.world.ingress.result(["Stock", "vase", "take"], 1);
  const page = await ui.open("/state/Stock/vase", { mayFail: true });
  await page.getByText("The state of this key does not expire.").waitFor();
  await press(page, "Set time to live");
  await page.getByRole("textbox", { name: "Time to live" }).fill("soon");
  await press(page, "Save");
  await page.getByText("The time to live was not changed.").waitFor();
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Time to live" }).fill("1h");
  await press(page, "Save");
  await page.getByText("1h, of this key").waitFor();

  const list = await ui.open("/state?service=Stock&find=vase", { width: 360 });
  await list
    .getByRole("row", { name: /vase/ })
    .getByText(/^in (1 h|59 min|60 min)/)
    .waitFor();
  await expectNoSidewaysScroll(list);

  const service = await ui.open("/services/Stock");
  await press(service, "Edit configuration");
  await service.getByRole("textbox", { name: "State time to live" }).fill("2h");
  await press(service, "Save");
  await service
    .getByRole("row", { name: /State time to live/ })
    .getByText("2h")
    .waitFor();
  await press(page, "Set time to live");
  await press(page, "Use that of the service");
  await page.getByText("2h, of the service").waitFor();
  await ui.world.admin.http.request("PATCH", "/services/Stock", { json: { state_ttl: "0s" } });
});

test("a key that is locked shows the invocation that holds it, and a change waits behind it", async () => {
  const page = await ui.open("/state/Stock/lamp", { width: 360, dark: true });
  await page.getByRole("link", { name: "Stock/lamp/count" }).waitFor();
  await page.getByRole("link", { name: "Stock/lamp/take" }).first().waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await press(page, "Remove left");
  await press(page, /^Remove$/);
  await page.getByText("Queued", { exact: true }).waitFor();
});

test("keys with every sign keep their address; failures are shown and retried", async () => {
  const key = "a/b %2F é";
  await ui.world.ingress.result(["Stock", key, "take"], 1);
  const page = await ui.open("/state?service=Stock&find=%252F", { mayFail: true });
  await page.getByRole("link", { name: key }).click();
  await heading(page, `Stock / ${key}`);
  await page.getByRole("row", { name: /left/ }).waitFor();

  await page.route("**/v4/query", (route) => route.abort());
  await page.goto(ui.url("/promises"));
  await page
    .getByRole("alert")
    .getByText(/cannot be reached/)
    .waitFor();
  await page.unroute("**/v4/query");
  await press(page, "Try again");
  await page.getByRole("row", { name: /Signup \/ ada/ }).waitFor();
});

test("promises link to the handlers that complete them", async () => {
  const page = await ui.open("/promises?state=pending&service=Signup&find=ada", { width: 360 });
  await page.getByRole("row", { name: /ada.*confirmed.*pending/ }).waitFor();
  await expect(page.getByRole("link", { name: "confirm" }).getAttribute("href")).resolves.toMatch(
    /\/playground\?service=Signup&handler=confirm&key=ada$/,
  );
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await page.goto(ui.url("/promises?find=absent"));
  await page.getByRole("heading", { name: "No matching promises" }).waitFor();
});

test("an awakeable is completed, and its handler continues", async () => {
  const page = await ui.open("/awakeables", { dark: true });
  await page.getByRole("row").filter({ hasText: "Orders/approve" }).filter({ hasText: "a discount of 10 %" }).waitFor();
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Complete by id" }).fill("sign_1short");
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await page.getByText(/begin with sign_1/).waitFor();
  await press(page, "Resolve for Orders/approve");
  await write(page, "Value", '"Grace"');
  await expectAccessible(page);
  await press(page, /^Resolve$/);
  await page.getByText("Awakeable resolved").waitFor();
  await page.getByRole("heading", { name: "No pending awakeables" }).waitFor();
  const outcome = await ui.world.ingress.attach(ui.data.approval);
  expect(JSON.stringify(outcome)).toContain("approved by Grace");
});

test("SQL is run, read, exported and remembered", async () => {
  const page = await ui.open("/sql?q=SELECT%20'100%25%2541'%20AS%20a%2C%2018446744073709551615%3A%3AUBIGINT%20AS%20b", {
    mayFail: true,
  });
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText(/^1 row in/).waitFor();
  await page.getByRole("cell", { name: "100%%41", exact: true }).waitFor();
  await page.getByRole("cell", { name: "18446744073709551615" }).waitFor();
  await expectAccessible(page);
  const [csv] = await Promise.all([page.waitForEvent("download"), press(page, "Export CSV")]);
  expect(await textOf(csv)).toBe("a,b\r\n100%%41,18446744073709551615\r\n");

  await write(page, "Query", "SELECT a.range AS n FROM range(20000) a");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/^10,000 rows in .* Truncated/).waitFor();
  await page.getByRole("table", { name: "Result" }).evaluate((table) => table.scrollTo(0, table.scrollHeight));
  await page.getByRole("button", { name: "10000: show the whole row" }).waitFor();
  await page.goBack();
  await page.getByRole("textbox", { name: "Query" }).getByText("100%%41").waitFor();

  await write(page, "Query", "SELECT nothing FROM sys_locks");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page
    .getByRole("alert")
    .getByText(/nothing/)
    .waitFor();
  await page.reload();
  await page.getByText("History").click();
  await page.getByRole("button", { name: "SELECT a.range AS n FROM range(20000) a" }).waitFor();
});

test("a press on the name of a column sorts the rows of a result", async () => {
  const page = await ui.open(`/sql?q=${encodeURIComponent("SELECT a.range AS n FROM range(12) a")}`, { mayFail: true });
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const first = page.getByRole("table", { name: "Result" }).locator('[aria-rowindex="2"]');
  await first.getByText("0", { exact: true }).waitFor();
  const header = page.getByRole("columnheader", { name: /^n/ });
  await header.getByRole("button").click();
  await header.and(page.locator('[aria-sort="ascending"]')).waitFor();
  await header.getByRole("button").click();
  await first.getByText("11", { exact: true }).waitFor();
  await expectAccessible(page);
});

test("text that is typed over other text brings no style of the browser, and completions stay within the policy", async () => {
  const page = await ui.open("/sql");
  const editor = page.getByRole("textbox", { name: "Query" });
  // Coloured: the browser would keep the colours for what takes its place.
  await editor.getByText("SELECT").waitFor();
  // Completions are of these.
  await page.getByText("Tables", { exact: true }).click();
  await page.getByText("sys_invocation", { exact: true }).click();
  await page.getByRole("list", { name: "Columns of sys_invocation" }).getByText("retry_count", { exact: true }).waitFor();
  await expectAccessible(page);
  await editor.press("Control+a");
  await page.keyboard.type("SELECT id FROM sys_invo");
  await page.locator(".cm-tooltip-autocomplete li").filter({ hasText: "sys_invocation" }).first().waitFor();
  await page.keyboard.press("Escape");
  await editor.press("Control+a");
  await page.keyboard.type("(");
  // The bracket goes around what was selected.
  await editor.getByText("(SELECT id FROM sys_invo)").waitFor();
  await page.goto(ui.url("/state/Stock/chair"));
  await press(page, "Edit left");
  const value = page.getByRole("textbox", { name: "Value" });
  await value.press("Control+a");
  await page.keyboard.type("broken");
  await page.locator(".cm-lintRange, .cm-lintPoint").first().waitFor({ state: "attached" });
});

test("SQL that takes long can be cancelled, also on a phone", async () => {
  const page = await ui.open("/sql", { width: 360, dark: true, mayFail: true });
  await page.route("**/v4/query", async (route) => {
    if (route.request().postData()?.includes("information_schema") === true) await route.continue();
  });
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancelled.").waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
});
