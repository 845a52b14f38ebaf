/** Main pages equal their stored pictures, in both themes and at three widths. `make visual` renews the pictures. */
import { beforeAll, describe, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { Page } from "playwright-core";
import { suiteConsole } from "./console.js";
import { differenceOf, expectStoredPicture, pictureOf, pictureView, styles } from "./visual.js";
import { fillVisualData, type VisualData } from "./world/visual-data.js";

const ui = suiteConsole({ settings: { "worker.invoker.inactivity-timeout": "500ms" }, world: "shop" });
const START_MS = 90_000;
let data: VisualData;

beforeAll(async () => {
  data = await fillVisualData(ui.world);
  const unsettled = "SELECT count(*) AS n FROM sys_invocation WHERE status IN ('running', 'ready')";
  await eventually(
    "all invocations wait or have completed",
    async () => (await ui.world.admin.query(unsettled))[0]?.["n"] === 0,
    30_000,
  );
}, START_MS);

const STATEMENT = "SELECT target_service_name AS service, count(*) AS n FROM sys_invocation GROUP BY 1 ORDER BY 1";
interface VisualPage {
  readonly path: () => string;
  /** A text that the page has once it is complete. */
  readonly shown: string;
  readonly then?: (page: Page) => Promise<void>;
}

async function runStatement(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("cell", { name: "Signup" }).waitFor();
}

const PAGES: readonly (readonly [name: string, page: VisualPage])[] = [
  ["overview", { path: () => "/", shown: "By service" }],
  ["invocations", { path: () => "/invocations", shown: "Stock/lamp/count" }],
  ["invocation", { path: () => `/invocations/${data.placed}`, shown: "pack it" }],
  ["service", { path: () => "/services/Orders", shown: "Revisions" }],
  ["deployments", { path: () => "/deployments", shown: "Register deployment" }],
  ["key", { path: () => "/state/Stock/lamp", shown: "Locked by" }],
  ["playground", { path: () => "/playground?service=Orders&handler=place", shown: "What is ordered" }],
  ["sql", { path: () => `/sql?q=${encodeURIComponent(STATEMENT)}`, shown: "Saved queries", then: runStatement }],
];

describe.each([360, 768, 1440])("at %i px", (width) => {
  describe.each(["light", "dark"])("in the %s theme", (theme) => {
    test.each(PAGES)("%s equals its picture", async (name, { path, shown, then }) => {
      const page = await ui.open(path(), pictureView(width, theme === "dark"));
      await page.getByText(shown).filter({ visible: true }).first().waitFor();
      await then?.(page);
      await expectStoredPicture(page, `${name}-${width}-${theme}`);
    });
  });
});

test.each([
  ["a button of another colour", ".button--primary { background: #a00 !important; border-color: #a00 !important; }"],
  ["a table that moved", ".table-room { margin-top: 8px !important; }"],
  ["text that is larger", "main { font-size: 108% !important; }"],
])("%s is found", async (_title, rules) => {
  const page = await ui.open("/services/Orders", pictureView(1440, false));
  await page.getByText("Revisions").filter({ visible: true }).first().waitFor();
  await page.addStyleTag({ content: await styles() });
  const before = await pictureOf(page);
  expect(differenceOf(before, await pictureOf(page))).toBeUndefined();
  await page.addStyleTag({ content: rules });
  expect(differenceOf(before, await pictureOf(page))).toMatchObject({ message: expect.stringMatching(/^differs in/) });
});
