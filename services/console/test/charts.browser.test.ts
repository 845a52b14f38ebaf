/** Labels at the axes of charts are drawn into a canvas, where nothing wraps or scrolls: text beyond its edge is lost. */
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { expectNoSidewaysScroll } from "./browser.js";
import { suiteConsole } from "./console.js";

const ui = suiteConsole({ world: "shop" });

interface Label {
  readonly text: string;
  /** Position in pixels of the canvas. */
  readonly left: number;
  readonly right: number;
  readonly canvasWidth: number;
}

/** Records where canvases of this page draw texts. */
async function recordLabels(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const labels: Label[] = [];
    Object.assign(window, { drawnLabels: labels });
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      const { width } = this.measureText(text);
      const at = x + this.getTransform().e;
      const left = this.textAlign === "right" ? at - width : this.textAlign === "center" ? at - width / 2 : at;
      labels.push({ text, left, right: left + width, canvasWidth: this.canvas.width });
      draw.call(this, text, x, y);
    };
  });
}

const labelsOf = (page: Page): Promise<readonly Label[]> =>
  page.evaluate(() => (window as unknown as { readonly drawnLabels: readonly Label[] }).drawnLabels);

/** The rows of the last hour: a few calls that took this long, and very many requests. */
async function answerHour(page: Page, ms: number): Promise<void> {
  const minute = Math.floor(Date.now() / 60_000) * 60_000 - 5 * 60_000;
  const rows = [
    { made: minute, n: 1_234_567, n_ended: 0, failed: 0, part: 0b101 },
    { ended: minute, n: 3, n_ended: 3, failed: 0, p50: ms / 2, p99: ms, part: 0b110 },
    { n: 3, n_ended: 3, failed: 0, p50: ms / 2, p99: ms, part: 0b111 },
  ];
  await page.route("**/query", async (route) => {
    if (route.request().postData()?.includes("GROUPING SETS") === true) return route.fulfill({ json: { rows } });
    await route.continue();
  });
}

test.each([
  [360, 12 * 60_000, 1],
  [360, 30 * 3_600_000, 2],
  [1024, 200_000, 1],
  [1440, 45_000, 1],
])("at %i px, durations up to %i ms: every label at an axis is whole", async (width, ms, deviceScaleFactor) => {
  const browserContext = await ui.browser.newContext({ width, context: { deviceScaleFactor } });
  const page = await browserContext.newPage();
  await recordLabels(page);
  await answerHour(page, ms);
  await page.goto(ui.url("/"));
  await page.locator("main canvas").nth(1).waitFor();
  await page.waitForFunction(() =>
    (window as unknown as { drawnLabels: Label[] }).drawnLabels.some(({ text }) => /\d (s|min|h|d)/.test(text)),
  );
  const labels = await labelsOf(page);
  expect(labels.some(({ text }) => text === "1,000,000")).toBe(true);
  expect(labels.filter(({ left, right, canvasWidth }) => left < 0 || right > canvasWidth)).toEqual([]);
});

test("a chart of four minutes is labelled in whole minutes", async () => {
  const page = await (await ui.browser.newContext()).newPage();
  await recordLabels(page);
  await answerHour(page, 250_000);
  await page.goto(ui.url("/"));
  await page.waitForFunction(() =>
    (window as unknown as { drawnLabels: Label[] }).drawnLabels.some(({ text }) => text === "2 min"),
  );
  const durations = (await labelsOf(page)).map(({ text }) => text).filter((text) => /^\d+ (ms|s|min|h)$/.test(text));
  expect([...new Set(durations)]).toEqual(["0 ms", "2 min", "4 min"]);
});

test("a chart that is not yet drawn again for a narrower window does not widen the page", async () => {
  const page = await (await ui.browser.newContext({ width: 1440 })).newPage();
  await page.addInitScript(() => {
    const Observer = window.ResizeObserver;
    window.ResizeObserver = class extends Observer {
      constructor(notify: ResizeObserverCallback) {
        super((entries, observer) => {
          observer.disconnect(); // The chart is drawn once.
          notify(entries, observer);
        });
      }
    };
  });
  await answerHour(page, 45_000);
  await page.goto(ui.url("/"));
  await page.locator("main canvas").nth(1).waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  expect(
    await page
      .locator("main canvas")
      .first()
      .evaluate(({ clientWidth }) => clientWidth),
  ).toBeGreaterThan(360);
  await expectNoSidewaysScroll(page);
});

test("counters of the workers feed the charts when they cover the whole range", async () => {
  const { ingress } = ui.world;
  for (let i = 0; i < 3; i++) await ingress.send(["Payments", "charge"], 1);
  const page = await (await ui.browser.newContext()).newPage();
  // The server has not run for an hour: it says so, and the invocations are read instead.
  await page.goto(ui.url("/"));
  await page.getByText("Counts cover invocations that the server retains", { exact: false }).waitFor();
  const scans: string[] = [];
  await page.route("**/query", async (route) => {
    const statement = route.request().postData() ?? "";
    if (statement.includes("GROUPING(service")) scans.push(statement);
    if (!statement.includes("AS reported")) return route.continue();
    const response = await route.fetch();
    const { rows } = (await response.json()) as { rows: readonly { readonly since?: number }[] };
    expect(rows[0]?.since).toBeGreaterThan(Date.now() - 3_600_000);
    await route.fulfill({ json: { rows: [{ ...rows[0], since: 0 }] } });
  });
  await page.reload();
  await page.getByText("Counts include invocations that are not retained", { exact: false }).waitFor();
  const figures = page.getByRole("region", { name: "Figures by service" }).getByRole("row").filter({ hasText: "Payments" });
  await figures.getByRole("link", { name: /^\d+ calls of Payments$/ }).waitFor();
  expect(scans).toEqual([]);
});
