/** Kills, cancellations and purges are undone from the message after them, from the page of a batch, and from the list of operations. */
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { Locator, Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole, type View } from "./console.js";

const ui = suiteConsole({ settings: { "worker.invoker.inactivity-timeout": "500ms" } });

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name });
/** The message with this title, on top of the page. */
const message = (page: Page, title: string) => page.locator(".toast").filter({ hasText: title });
/** The message about a kill of this invocation. */
const killedMessage = (page: Page, id: string) =>
  message(page, "Killed").filter({ has: page.locator(`a[href$="/invocations/${encodeURIComponent(id)}"]`) });
const undoButton = (within: Locator) => within.getByRole("button", { name: "Undo", exact: true });

/** Opens an invocation and applies an action of its menu. */
async function apply(id: string, verb: "Kill" | "Purge", view: View = {}): Promise<Page> {
  const page = await ui.open(`/invocations/${id}`, view);
  await applyHere(page, verb);
  return page;
}

async function applyHere(page: Page, verb: "Kill" | "Purge"): Promise<void> {
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: `${verb} …` }).click();
  await page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();
}

/** Opens another page of the console as a link does: messages stay, which a load of the page would remove. */
async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, "", to), new URL(ui.url(path)).pathname);
}

const isSuspended = async (id: string): Promise<boolean> => (await suspendedApprovals()).has(id);

async function suspendedApprovals(): Promise<ReadonlySet<string>> {
  const statement = "SELECT id FROM sys_invocation WHERE target = 'Orders/approve' AND status = 'suspended'";
  return new Set((await ui.world.admin.query(statement)).map(({ id }) => String(id)));
}

async function sendApprovals(count: number, what: string): Promise<readonly string[]> {
  const sent = await Promise.all(Array.from({ length: count }, () => ui.world.ingress.send(["Orders", "approve"], what)));
  await eventually("all of them are suspended", async () => {
    const suspended = await suspendedApprovals();
    return sent.every(({ invocationId }) => suspended.has(invocationId));
  });
  return sent.map(({ invocationId }) => invocationId);
}

test.each([{}, { width: 360, dark: true }])("a killed invocation continues after Undo in the message: %j", async (view) => {
  const [id = ""] = await sendApprovals(1, "a holiday");
  const page = await apply(id, "Kill", view);
  await heading(page, /killed/).waitFor();
  const killed = message(page, "Killed");
  await killed.getByText(/^(9 min \d+ s|10 min) left$/).waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await undoButton(killed).click();
  await heading(page, /suspended/).waitFor();
  await killed.getByText("1 invocation restored.").waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
});

test.each([{}, { width: 360, dark: true }])("two changes in a row: each message undoes its own: %j", async (view) => {
  const [first = "", second = ""] = await sendApprovals(2, "a garden");
  const page = await apply(first, "Kill", view);
  const messageFor = (id: string) => killedMessage(page, id);
  await undoButton(messageFor(first)).waitFor();
  await goTo(page, `/invocations/${second}`);
  await heading(page, /suspended/).waitFor();
  await applyHere(page, "Kill");
  for (const id of [second, first])
    await messageFor(id)
      .getByText(/^(9 min \d+ s|10 min) left$/)
      .waitFor();
  expect(await page.locator(".toast").count()).toBe(2);
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);

  await undoButton(messageFor(first)).click();
  await eventually("the first one continues", () => isSuspended(first));
  expect(await isSuspended(second)).toBe(false);
  await undoButton(messageFor(second)).click();
  await heading(page, /suspended/).waitFor();
  await eventually("the second one continues", () => isSuspended(second));
});

test("of many changes in a row, the last three keep their messages, and the list has the others", async () => {
  const [first = "", ...others] = await sendApprovals(4, "a fence");
  const page = await apply(first, "Kill");
  await undoButton(killedMessage(page, first)).waitFor();
  for (const id of others) {
    await goTo(page, `/invocations/${id}`);
    await heading(page, /suspended/).waitFor();
    await applyHere(page, "Kill");
    await undoButton(killedMessage(page, id)).waitFor();
  }
  await killedMessage(page, first).waitFor({ state: "detached" });
  const hrefs = await message(page, "Killed")
    .getByRole("link")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  expect(hrefs.map((href) => href?.split("/").at(-1))).toEqual(others.toReversed().map(encodeURIComponent));
  await goTo(page, "/operations");
  await heading(page, "Operations").waitFor();
  const row = page.getByRole("row").nth(4);
  expect(await row.getByRole("link").getAttribute("href")).toContain(first);
  await row.getByRole("button", { name: "Undo kill of 1 invocation …" }).waitFor();
});

test("with the keyboard alone, the message is reached and its button pressed", async () => {
  const [id = ""] = await sendApprovals(1, "a bicycle");
  const page = await apply(id, "Kill");
  await undoButton(message(page, "Killed")).waitFor();
  await page.keyboard.press("F6");
  await eventually("the focus on Undo", async () => {
    await page.keyboard.press("Tab");
    return (await page.locator(":focus").textContent()) === "Undo";
  });
  await page.keyboard.press("Enter");
  await heading(page, /suspended/).waitFor();
});

test("what a client has received is named in the message, which stays until it is dismissed", async () => {
  await sendApprovals(1, "a van"); // The earlier ones are suspended, too.
  const before = await suspendedApprovals();
  const call = ui.world.ingress.result(["Orders", "approve"], "a car").catch((cause: unknown) => cause);
  let id: string | undefined;
  await eventually("the call is suspended", async () => {
    id = [...(await suspendedApprovals())].find((each) => !before.has(each));
    return id !== undefined;
  });
  if (id === undefined) throw new Error("no call is suspended");
  const page = await apply(id, "Kill");
  const killed = message(page, "Killed");
  await undoButton(killed).click();
  await killed.getByText("1 invocation restored.").waitFor();
  await killed.getByText(`A client that waited for ${id} has received its end.`).waitFor();
  await expectAccessible(page);
  await killed.getByRole("button", { name: "Dismiss" }).click();
  await killed.waitFor({ state: "detached" });
  await call;
});

test("a purged invocation is there again, on the page that no longer found it", async () => {
  const page = await apply(ui.data.placed, "Purge");
  await page.getByRole("heading", { name: "Invocation not found" }).waitFor();
  await undoButton(message(page, "Purged")).click();
  await heading(page, /Orders\/place succeeded/).waitFor();
  // Nothing is left to read: another message replaces this one, and disappears by itself.
  await message(page, "Undone: 1 invocation restored").waitFor();
  await message(page, "Purged").waitFor({ state: "detached" });
  // The answers for the purged one are errors, and the browser logs them.
  ui.browser.takeComplaints();
});

test("a cancellation that the handler was notified of offers no undo", async () => {
  const [id = ""] = await sendApprovals(1, "a boat");
  const page = await ui.open(`/invocations/${id}`);
  await page.getByRole("button", { name: "Cancel" }).first().click();
  await message(page, "Cancellation requested").waitFor();
  expect(await undoButton(page.locator("body")).count()).toBe(0);
});

test("an undo that is refused says why, and the message disappears when the time is over", async () => {
  const [id = ""] = await sendApprovals(1, "a plane");
  const page = await apply(id, "Kill", { mayFail: true });
  const killed = message(page, "Killed");
  await page.route("**/operations/*/undo", (route) =>
    route.fulfill({ status: 409, json: { message: "Nothing is kept of it.", restate_code: "OPS0009" } }),
  );
  await undoButton(killed).click();
  await killed.getByRole("alert").filter({ hasText: "Nothing is kept of it." }).waitFor();
  await expectAccessible(page);
  await killed.getByRole("link", { name: "OPS0009" }).click();
  await heading(page, /OPS0009/).waitFor();
  await killed.getByRole("button", { name: "Dismiss" }).click();

  const [other = ""] = await sendApprovals(1, "a ship");
  const overduePage = await apply(other, "Kill");
  await undoButton(message(overduePage, "Killed")).waitFor();
  await overduePage.route("**/operations/op_*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), state: "expired", undo_left_ms: 0 } });
  });
  await message(overduePage, "Killed").waitFor({ state: "detached" });
  await overduePage.unrouteAll({ behavior: "wait" });
});

test("a batch is undone on its page: after a confirmation, with its outcome and the result of each", async () => {
  const ids = await sendApprovals(3, "a tractor");
  const page = await ui.open(`/invocations?${new URLSearchParams({ where: ids.map((id) => `id = '${id}'`).join(" OR ") })}`);
  await page.getByLabel("Filter expression or invocation id").fill(`id IN (${ids.map((id) => `'${id}'`).join(", ")})`);
  await page.keyboard.press("Enter");
  await page
    .getByRole("status")
    .filter({ hasText: /^3 invocations$/ })
    .waitFor();
  await page.getByRole("row").nth(1).locator("[data-select]").click();
  await page.getByRole("button", { name: /Select all/ }).click();
  await page.getByRole("button", { name: "Kill …" }).click();
  await page.getByLabel(/to confirm/).fill("kill 3");
  await page.getByRole("dialog").getByRole("button", { name: "Kill 3 invocations" }).click();
  await page.getByText("3 of 3 done, 0 failed").waitFor();
  const undo = page.getByRole("region", { name: "Undo" });
  await undo.getByText(/^This batch can be undone for (9 min \d+ s|10 min)\.$/).waitFor();
  await undo.getByRole("button", { name: "Undo …" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo kill of 3 invocations" });
  await dialog.getByText(/continue from their journals/).waitFor();
  await expectAccessible(page);
  await undoButton(dialog).click();
  await dialog.getByText("3 invocations restored.").waitFor();
  await expectAccessible(page);
  expect(await dialog.locator(":focus").textContent()).toBe("Close");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await undo.getByText("3 invocations restored.").waitFor();
  const rows = await ui.world.admin.query(
    `SELECT id FROM sys_invocation WHERE status = 'suspended' AND id IN (${ids.map((id) => `'${id}'`).join(", ")})`,
  );
  expect(rows.length).toBe(3);

  await undo.getByRole("link", { name: "Result of each invocation" }).click();
  await heading(page, "Batch: undo").waitFor();
  await page.getByRole("table").getByText("done").first().waitFor();
  await page.getByRole("link", { name: "an operation" }).click();
  await page.getByRole("dialog", { name: "Undo kill of 3 invocations" }).getByText("3 invocations restored.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await heading(page, "Operations").waitFor();
  expect(new URL(page.url()).search).toBe("");
});

test.each([
  { width: 360, dark: true },
  { width: 1024, dark: false },
  { width: 1440, dark: true },
])("the list has every operation with its state, and undoes one: %j", async (view) => {
  const [id = ""] = await sendApprovals(1, "a train");
  expect((await ui.world.admin.http.request("PATCH", `/invocations/${id}/kill`)).status).toBe(200);
  const page = await ui.open("/", view);
  await heading(page, "Overview").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await heading(page, "Operations").waitFor();
  // The newest is first.
  const row = page.getByRole("row").nth(1);
  await row.getByText("undoable").waitFor();
  await row.getByText(/left$/).waitFor();
  expect(await row.getByRole("link").getAttribute("href")).toContain(id);
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await expectNoSplitWords(page);
  await row.getByRole("button", { name: "Undo kill of 1 invocation …" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo kill of 1 invocation" });
  await dialog.getByText(/^Time left: /).waitFor();
  await expectAccessible(page);
  await undoButton(dialog).click();
  await dialog.getByText("1 invocation restored.").waitFor();
  await dialog.locator("footer").getByRole("button", { name: "Close" }).click();
  await row.getByText("undone").waitFor();
  await row.getByRole("button", { name: "Outcome of the undo of kill of 1 invocation …" }).click();
  await page.getByRole("dialog").getByText("1 invocation restored.").waitFor();
});
