/** The page of one invocation is where users find the cause of a failure; its contents and actions are tested against a real server. */
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole({ settings: { "admin.trace-url": "https://traces.test/{traceId}" } });

const open = (id: string, more = "", view = {}) => ui.open(`/invocations/${id}${more}`, view);
const row = (page: Page, name: RegExp | string) => page.getByRole("treeitem", { name });
/** The page moves the focus only when it has drawn the row. */
const focusOn = (page: Page, name: RegExp) => row(page, name).and(page.locator(":focus")).waitFor();

test("a timeline unfolds calls by the keyboard alone, and its steps show their contents", async () => {
  const page = await open(ui.data.placed);
  await page.getByRole("heading", { level: 1, name: /Orders\/place succeeded/ }).waitFor();
  await row(page, /^run 'pack it', .*, succeeded/).waitFor();
  await page.getByRole("list", { name: "Time by phase" }).getByText("total").waitFor();

  await row(page, /^call 'Stock\/sofa\/take'/).focus();
  await page.keyboard.press("ArrowRight");
  await row(page, /^write state 'left'/).waitFor();
  await page.keyboard.press("ArrowDown");
  await focusOn(page, /^Stock\/sofa\/take: /);
  await page.keyboard.press("ArrowLeft");
  await focusOn(page, /^call 'Stock\/sofa\/take'/);
  await page.keyboard.press("ArrowLeft");
  await row(page, /^write state 'left'/).waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  const details = page.getByRole("region", { name: "Step 3" });
  await details.getByText("98").waitFor();
  expect(new URL(page.url()).searchParams.get("step")).toBe("3");
  await expectAccessible(page);

  await page.keyboard.press("+");
  await page.getByRole("button", { name: "Fit", disabled: false }).waitFor();
  await page.keyboard.press("0");
  await page.getByRole("button", { name: "Fit", disabled: true }).waitFor();

  await details.getByRole("link", { name: "Stock/sofa/take" }).click();
  await page.getByRole("heading", { level: 1, name: /Stock\/sofa\/take/ }).waitFor();
  await page.getByRole("navigation", { name: "Callers" }).getByRole("link", { name: "Orders/place" }).waitFor();
});

test("one press expands the calls of a timeline, and one collapses them", async () => {
  const page = await open(ui.data.placed);
  await row(page, /^call 'Stock\/sofa\/take'/).waitFor();
  await page.getByRole("button", { name: "Expand calls" }).click();
  await row(page, /^write state 'left'/).waitFor();
  await page.getByRole("button", { name: "Collapse all" }).click();
  await row(page, /^write state 'left'/).waitFor({ state: "detached" });
});

test("the critical path names what took most of the time, and is marked", async () => {
  const { ingress } = ui.world;
  const { invocationId } = await ingress.send(["Orders", "assemble"], { steps: 2, stepMs: 400 });
  await ingress.attach(invocationId);
  const page = await open(invocationId);
  const parts = page.getByRole("list", { name: "Critical path" }).getByRole("listitem");
  await parts
    .getByText(/^\d\d %$/)
    .first()
    .waitFor();
  expect(await parts.count()).toBeLessThanOrEqual(3);
  await row(page, /^run 'part 2', .*, on the critical path$/).waitFor();
  expect(await page.locator(".tl__row--critical").count()).toBe(2);
  await expectAccessible(page);
  await parts.getByRole("button", { name: "run 'part 1'" }).focus();
  await page.keyboard.press("Enter");
  await page
    .getByRole("region", { name: /^Step \d+$/ })
    .getByRole("heading", { name: "run part 1" })
    .waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);

  const placed = await open(ui.data.placed);
  await row(placed, /^sleep 'cool off', .*, on the critical path$/).waitFor();
  await row(placed, /^call 'Payments\/charge', .*, on the critical path$/).waitFor();
  const running = await open(ui.data.resting);
  await row(running, /^sleep 'rest'/).waitFor();
  expect(await running.getByRole("list", { name: "Critical path" }).count()).toBe(0);
});

test("the critical path of a run of more than a thousand steps needs all of them", async () => {
  const { ingress } = ui.world;
  const { invocationId } = await ingress.send(["Orders", "assemble"], { steps: 1_010, stepMs: 0 });
  await ingress.attach(invocationId);
  const page = await open(invocationId, "", { dark: true });
  await page.getByText("The critical path needs all steps.").waitFor();
  await page.getByRole("button", { name: "Load all steps" }).click();
  await page.getByRole("list", { name: "Critical path" }).getByRole("listitem").first().waitFor();
  await expectAccessible(page);
});

test("the focus follows a key that comes between a drawing and its effects", async () => {
  const page = await open(ui.data.placed);
  await row(page, /^run 'pack it', .*, succeeded/).waitFor();
  await row(page, /^call 'Stock\/sofa\/take'/).focus();
  // Hovering draws, and React runs the effects of that drawing later, in another task: the key comes right behind the drawing.
  const moved = await page.evaluate(async () => {
    const [from, hovered] = [document.activeElement, document.querySelector('[role="treeitem"]')];
    const exact = document.querySelector(".tl__exact");
    if (from === null || hovered === null || exact === null) throw new Error("the timeline is not there");
    await new Promise<void>((resolve) => {
      const drawings = new MutationObserver(() => {
        drawings.disconnect();
        from.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
        resolve();
      });
      drawings.observe(exact, { childList: true, characterData: true, subtree: true });
      hovered.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, relatedTarget: document.body }));
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const at = (element: Element | null) => Number(element?.getAttribute("data-at"));
    return { from: at(from), to: at(document.activeElement) };
  });
  expect(moved.to).toBe(moved.from + 1);
});

test("the journal shows values, and the bytes that are stored", async () => {
  const page = await open(ui.data.placed, "", { dark: true });
  const journal = page.getByRole("region", { name: "Journal entries" });
  await journal.getByRole("row", { name: /11 run pack it/ }).waitFor();
  await journal.getByRole("button", { name: "Details of entry 0" }).click();
  await journal.getByRole("figure").getByText('"amount": 2').waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Raw" }).click();
  await page.getByRole("cell", { name: "Notification: CallInvocationId" }).first().waitFor();
  await page.getByRole("button", { name: "Show the bytes of entry 1", exact: true }).click();
  await page.getByRole("button", { name: "Copy the bytes of entry 1", exact: true }).waitFor();
  await page.getByText("580162096e756d626572206974").waitFor();
});

test("its trace links to the configured trace viewer", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const sent = await fetch(new URL("/Orders/rest/send", ui.world.server.ingressUrl), {
    method: "POST",
    headers: { "content-type": "application/json", traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    body: "1",
  });
  const { invocationId } = (await sent.json()) as { invocationId: string };
  const page = await open(invocationId);
  const link = page.getByRole("link", { name: "See the trace" });
  await expect(link.getAttribute("href")).resolves.toBe(`https://traces.test/${traceId}`);
});

test("the reason for a wait is shown, with the invocations it waits for", async () => {
  const [waiting] = await ui.world.admin.query(
    "SELECT id FROM sys_invocation WHERE target = 'Stock/lamp/take' AND status = 'pending'",
  );
  const page = await open(String(waiting?.["id"]), "", { width: 360 });
  await page.getByText("root cause").waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await page.getByRole("list", { name: "Chain of what it waits for" }).getByRole("link", { name: "Stock/lamp/count" }).click();
  await page.getByRole("heading", { level: 1, name: /Stock\/lamp\/count/ }).waitFor();
});

test("failures have their stack, their code and their attempts", async () => {
  const page = await open(ui.data.broken, "", { width: 360, dark: true });
  await page.getByRole("heading", { name: "Last failure" }).waitFor();
  await page
    .getByText(/at Object\.broken/)
    .first()
    .waitFor();
  await page.getByRole("link", { name: "RT0007" }).first().waitFor();
  await row(page, /^attempt|attempts, /)
    .first()
    .waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
});

test("an invocation is paused, resumed and killed, as far as its state allows", async () => {
  const page = await open(ui.data.resting);
  const pause = page.getByRole("button", { name: "Pause" });
  await pause.waitFor();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Kill …" }).click();
  const dialog = page.getByRole("dialog", { name: /^Kill/ });
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel" }).first().click();
  await page.getByRole("heading", { level: 1, name: /Orders\/rest cancelled/ }).waitFor();

  const broken = await open(ui.data.broken);
  await broken.getByRole("button", { name: "Pause" }).click();
  await broken.getByRole("heading", { level: 1, name: /paused/ }).waitFor();
  await broken.getByRole("button", { name: "Resume …" }).click();
  await broken.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await broken.getByText("Resumed", { exact: true }).first().waitFor();
});

test("a completed one is restarted from a step, and purged", async () => {
  const page = await open(ui.data.placed, "?step=1");
  await page.getByRole("button", { name: "Restart from here … after entry 1" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/keeps the input and the first 1 step/).waitFor();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Restart as new" }).click();
  await page.getByText("a restart of").waitFor();
  await page.getByRole("heading", { level: 1, name: /succeeded/ }).waitFor();
  expect(page.url()).not.toContain(ui.data.placed);

  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Purge …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Purge" }).click();
  await page.getByRole("heading", { name: "Invocation not found" }).waitFor();
  await expectAccessible(page);
  // The answer for the purged one is an error, and the browser logs it.
  ui.browser.takeComplaints();
});

test("an attempt is crashed, and its completed steps are not run again", async () => {
  const { invocationId } = await ui.world.ingress.send(["Orders", "assemble"], { steps: 100, stepMs: 400 });
  const page = await open(invocationId);
  await row(page, /^run 'part 1'/).waitFor();
  await page.getByRole("button", { name: "Crash it" }).click();
  await page
    .getByRole("status")
    .getByText(/replayed from the journal, not run again/)
    .waitFor();
  await row(page, /^run 'part 1', .*, replayed, not run again/).waitFor();
  await row(page, /^attempt 1, .*failed: the attempt was cut off/).waitFor();
  await row(page, /^attempt 2, .*still running/).waitFor();
  await row(page, /^run 'part 1', .*, attempt 1, /).waitFor();
  await page.getByLabel("Steps of attempt").click();
  await page.getByRole("option", { name: /^Attempt 2: / }).click();
  await row(page, /^run 'part 1'/).waitFor({ state: "detached" });
  await row(page, /^run 'part \d+', .*, attempt 2, /)
    .first()
    .waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("heading", { level: 1, name: /paused/ }).waitFor();
});

test("an id that does not exist, and a server that fails, are explained", async () => {
  const page = await open("inv_1ePMQG7W58MZ3AEB1VnpoGntVZbz1gtS82", "", { mayFail: true, width: 360 });
  await page.getByRole("heading", { name: "Invocation not found" }).waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);

  const failing = await ui.open("/invocations", { mayFail: true });
  await failing.route("**/timeline*", (route) => route.fulfill({ status: 500, json: { message: "out of order" } }));
  await failing.goto(ui.url(`/invocations/${ui.data.refused}`));
  await failing.getByText("out of order").first().waitFor();
  await failing.unroute("**/timeline*");
  await failing.getByRole("button", { name: "Try again" }).first().click();
  await row(failing, /^call 'Payments\/charge', .*failed: more than the card has/).waitFor();
});
