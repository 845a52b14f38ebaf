/** A server whose slots are all in use reports no failure; its overview must show that invocations wait, and what holds the slots. */
import { expect, test } from "@jest/globals";
import { expectAccessible, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole } from "./console.js";

const SLOTS = 2;
const LONG_MS = 3_600_000;
/** The overview shows waits from ten seconds on, and reads them every five. */
const SHOWN_MS = 40_000;
const ui = suiteConsole({ settings: { "worker.invoker.concurrent-invocations-limit": SLOTS }, world: "shop" });

test("a saturated server shows which service waits, how many, for how long, and what runs", async () => {
  const { ingress, admin } = ui.world;
  const assemble = ["Orders", "assemble"] as const;
  for (let i = 0; i < SLOTS; i++) await ingress.send(assemble, { steps: 1, stepMs: LONG_MS });
  const page = await ui.open("/", { width: 360 });
  await page.getByText(/^All good: no invocation is failing, paused or waiting for a slot/).waitFor();
  const sent = [];
  for (let i = 0; i < 3; i++) sent.push(await ingress.send(["Payments", "charge"], 1));
  const waits = page
    .getByRole("region", { name: "Services that wait for a slot" })
    .getByRole("row")
    .filter({ hasText: "Payments" });
  await waits.getByRole("link", { name: "3", exact: true }).waitFor({ timeout: SHOWN_MS });
  await waits.getByRole("link", { name: /^\d\d(\.\d)? s$/ }).waitFor();
  await page.getByRole("link", { name: `${SLOTS} of Orders` }).waitFor();
  expect(await page.getByText(/^All good: /).count()).toBe(0);
  await expectAccessible(page);
  await expectNoSplitWords(page);
  await expectNoSidewaysScroll(page);
  await waits.getByRole("link", { name: "3", exact: true }).click();
  await page.waitForURL(/\/invocations\?.*status=ready/);
  for (const { invocationId } of sent) await admin.invocation(invocationId, "kill");
});
