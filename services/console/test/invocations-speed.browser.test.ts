/**
 * A list of a hundred thousand must scroll as if it were ten. The server's answers are made up here, so that nothing but the page is
 * measured; how long a real one takes is in docs/benchmarks.md.
 */
/// <reference lib="dom" />
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { suiteConsole, textOf } from "./console.js";

const ui = suiteConsole({ world: "empty" });

const INVOCATIONS = 100_000;
/** Time of a frame on a usual screen. */
const FRAME_MS = 1000 / 60;
const ROW_PX = 36;

/** Ids that the page reads at a time. */
const PAGE_IDS = 20_000;

const IDS = Array.from({ length: INVOCATIONS }, (_, i) => `inv_1${String(i).padStart(33, "0")}`);
const STATUSES = ["completed", "running", "suspended", "backing-off"];

function rowOf(id: string): object {
  const i = Number(id.slice(5));
  const isCompleted = i % 4 === 0;
  return {
    id,
    target_service_name: `Service${i % 7}`,
    target_handler_name: "handle",
    status: STATUSES[i % 4],
    created_at: new Date(Date.UTC(2026, 10, 22) - i * 1_000).toISOString(),
    completed_at: isCompleted ? new Date(Date.UTC(2026, 10, 22) - i * 1_000 + 20).toISOString() : undefined,
    completion_result: isCompleted ? "success" : undefined,
    retry_count: i % 5,
    last_failure: i % 4 === 3 ? `the bank does not answer ${i}` : undefined,
  };
}

/** Answers the statements of the list as a server with so many invocations would. */
async function openList(): Promise<Page> {
  const browserContext = await ui.browser.newContext();
  await browserContext.route("**/query", (route) => {
    const { query } = route.request().postDataJSON() as { query: string };
    if (query.includes("GROUP BY")) return route.fulfill({ json: { rows: [{ status: "running", n: INVOCATIONS }] } });
    if (query.includes("string_agg")) {
      const after = /id > 'inv_1(\d+)'/.exec(query)?.[1];
      const from = after === undefined ? 0 : Number(after) + 1;
      const ids = IDS.slice(from, from + PAGE_IDS);
      return route.fulfill({ json: { rows: [{ ids: ids.join(" "), last_us: -from }] } });
    }
    const named = query.match(/inv_1\d{33}/g);
    return route.fulfill({ json: { rows: named === null ? IDS.slice(0, 200).map((id) => ({ id })) : named.map(rowOf) } });
  });
  const page = await browserContext.newPage();
  await page.goto(ui.url("/invocations"));
  await page.getByText("the first 20,000 of 100,000 invocations").waitFor();
  return page;
}

/** Milliseconds of the page's own thread for each frame: how busy the machine is otherwise does not count. */
async function workOf(page: Page, act: () => Promise<void>): Promise<{ workMs: number; layouts: number; frames: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async () => {
    const { metrics: all } = await session.send("Performance.getMetrics");
    return (name: string) => all.find((metric) => metric.name === name)?.value ?? Number.NaN;
  };
  await page.evaluate(() => {
    Object.assign(window, { frames: 0 });
    const count = () => {
      (window as unknown as { frames: number }).frames++;
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  const before = await metrics();
  await act();
  const after = await metrics();
  const frames = await page.evaluate(() => (window as unknown as { frames: number }).frames);
  const grown = (name: string) => after(name) - before(name);
  const seconds = grown("ScriptDuration") + grown("LayoutDuration") + grown("RecalcStyleDuration");
  return { workMs: (seconds * 1_000) / frames, layouts: grown("LayoutCount") / frames, frames };
}

test("a hundred thousand rows follow the wheel, each frame within its time, and few of them exist", async () => {
  const page = await openList();
  await page.mouse.move(700, 500);
  const { workMs, layouts } = await workOf(page, async () => {
    for (let turn = 0; turn < 120; turn++) await page.mouse.wheel(0, 300);
    await page.waitForFunction((px) => (document.querySelector("[role=grid]")?.scrollTop ?? 0) >= px, 120 * 300 - 1);
  });
  expect(workMs).toBeLessThan(FRAME_MS);
  expect(layouts).toBeLessThan(3);
  expect(await page.getByRole("row").count()).toBeLessThan(80);
});

test("the scrollbar leads anywhere in what is listed at once, with rows that are read when one stays", async () => {
  const page = await openList();
  const at = 13_456;
  const { workMs } = await workOf(page, async () => {
    await page.evaluate(
      async ({ end, frames }) => {
        const grid = document.querySelector("[role=grid]") as HTMLElement;
        for (let frame = 1; frame <= frames; frame++) {
          grid.scrollTop = (end * frame) / frames;
          await new Promise((done) => requestAnimationFrame(done));
        }
      },
      { end: at * ROW_PX, frames: 90 },
    );
  });
  expect(workMs).toBeLessThan(2 * FRAME_MS);
  const row = page.locator(`[aria-rowindex="${at + 3}"]`);
  await row.getByText(`Service${(at + 1) % 7}/handle`).waitFor();
});

test("scrolling near the end of the list loads the next page, down to the last row", async () => {
  const page = await openList();
  await page.getByRole("grid").focus();
  for (let listed = 2 * PAGE_IDS; listed <= INVOCATIONS; listed += PAGE_IDS) {
    await page.keyboard.press("End");
    await page.getByText(new RegExp(`^the first ${listed.toLocaleString("en")}( of|$)`)).waitFor();
  }
  await page.keyboard.press("End");
  await page.getByText(/^100,000 invocations$/).waitFor();
  await page
    .locator(`[aria-rowindex="${INVOCATIONS + 1}"]`)
    .getByText(`Service${(INVOCATIONS - 1) % 7}/handle`)
    .waitFor();
  await page
    .getByRole("grid")
    .and(page.locator(`[aria-rowcount="${INVOCATIONS + 1}"]`))
    .waitFor();
});

test("an export has the rows of the pages that were not read yet", async () => {
  const page = await openList();
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("100,000 invocations, in the order of the list").waitFor();
  const [file] = await Promise.all([
    page.waitForEvent("download", { timeout: 45_000 }),
    dialog.getByRole("button", { name: "Export" }).click(),
  ]);
  const lines = (await textOf(file)).trimEnd().split("\r\n");
  expect([lines.length, lines.at(-1)?.startsWith(IDS.at(-1) ?? "")]).toEqual([INVOCATIONS + 1, true]);
});
