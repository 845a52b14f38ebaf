/** Names in real projects are as long as here. On every page and width they must stay readable, and pages as wide as their window. */
import { beforeAll, describe, test } from "@jest/globals";
import { expectLabelsInside, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole } from "./console.js";
import { fillLongNames, type LongNamesData, longNames } from "./world/long-names.js";

const ui = suiteConsole({ settings: { "worker.invoker.inactivity-timeout": "500ms" }, world: "empty" });
const START_MS = 60_000;
let data: LongNamesData;

beforeAll(async () => {
  await ui.world.deploy({ services: longNames });
  data = await fillLongNames(ui.world);
}, START_MS);

const PAGES: readonly (readonly [title: string, path: () => string, shown: string])[] = [
  ["overview", () => "/", "By service"],
  ["list of invocations", () => "/invocations", "sendReminder"],
  ["invocation", () => `/invocations/${data.waiting}`, "requestManagerApproval"],
  ["raw journal", () => `/invocations/${data.waiting}?journal=raw`, "Summary"],
  ["services", () => "/services", "reserveQuantity"],
  ["service", () => "/services/InventoryReservation", "holdForStocktaking"],
  ["playground", () => "/playground?service=InventoryReservation&handler=reserveQuantity", "reserveQuantity"],
  ["deployments", () => "/deployments", "InventoryReservation"],
  ["deployment", () => `/deployments/${data.deploymentId}`, "InventoryReservation"],
  ["keys", () => "/state?service=InventoryReservation", "warehouse-eu-central-1"],
  ["key", () => `/state/InventoryReservation/${encodeURIComponent(data.key)}`, "reservedQuantity"],
  ["promises", () => "/promises?service=CustomerOnboardingWorkflow", "identityVerified"],
  ["awakeables", () => "/awakeables", "Resolve"],
  ["schedules", () => `/schedules?show=${data.scheduleId}`, "nightly-inventory-reconciliation"],
  ["flow", () => "/flow", "enterprise-customers"],
  ["SQL", () => `/sql?q=${encodeURIComponent("SELECT id, target FROM sys_invocation")}`, "Saved queries"],
];

describe.each([360, 1024, 1440])("at %i px", (width) => {
  test.each(PAGES)("%s: no word is split, nothing is wider than the window", async (_title, path, shown) => {
    const page = await ui.open(path(), { width });
    await page.getByText(shown).filter({ visible: true }).first().waitFor();
    await page.locator("main .loading").first().waitFor({ state: "detached" });
    await expectNoSplitWords(page);
    await expectNoSidewaysScroll(page);
    await expectLabelsInside(page);
  });
});
