/** A failed invocation is compared with the newest run of its handler that succeeded. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole();
const compared = (page: Page) => page.getByRole("list", { name: "Compared steps" }).first();
const section = (page: Page) => page.locator(".compare");

test("a failed run is compared with the last good one, and the address keeps the comparison", async () => {
  const page = await ui.open(`/invocations/${ui.data.refused}`);
  await page.getByRole("heading", { level: 1, name: /Orders\/place failed/ }).waitFor();
  await page.getByRole("button", { name: "Compare with the last good run" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Compared with the last good run" }).waitFor();
  await section(page)
    .getByText(/^The runs first differ at input \(entry 0\): another input\.$/)
    .waitFor();
  await section(page)
    .getByText(
      /^The first step with another outcome is call 'Payments\/charge' \(entry \d+\): succeeded in the last good run, failed in this run with \[402\] more than the card has\.$/,
    )
    .waitFor();
  await section(page).getByText("Both ran on the same deployment.").waitFor();
  const charge = compared(page).getByRole("listitem").filter({ hasText: "Payments/charge" }).first();
  await charge.getByText("first other outcome").waitFor();
  await charge.getByText(/ in the last good run/).waitFor({ state: "attached" });
  // Both called the same handler, for different keys: one step and not two.
  const take = compared(page).getByRole("listitem").filter({ hasText: "/take'" });
  expect(await take.count()).toBe(1);
  await take.getByRole("button", { name: /^Compare steps of call/ }).click();
  await page.getByRole("list", { name: "Compared steps" }).nth(1).waitFor();
  await compared(page)
    .getByRole("listitem")
    .filter({ hasText: "output" })
    .getByText(/, only in the last good run|, changed/)
    .first()
    .waitFor({ state: "attached" });
  await expectAccessible(page);

  await page.waitForFunction(() => new URL(location.href).searchParams.get("compare")?.startsWith("inv_") === true);
  const address = new URL(page.url());
  const shared = await ui.open(`${address.pathname.replace(/^\/ui/, "")}${address.search}`, { width: 360, dark: true });
  await section(shared).getByText("first other outcome").waitFor();
  await expectNoSidewaysScroll(shared);
  await expectAccessible(shared);
  await section(shared).getByRole("button", { name: "Close the comparison" }).click();
  await section(shared).waitFor({ state: "detached" });
  await shared.getByRole("button", { name: "Compare with the last good run" }).waitFor();
  expect(new URL(shared.url()).searchParams.has("compare")).toBe(false);
});

test("one that fails again and again without a good run says so, and a good run offers no comparison", async () => {
  const page = await ui.open(`/invocations/${ui.data.broken}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Compare with the last good run" }).click();
  await section(page)
    .getByText(/^No other invocation of Payments\/broken has succeeded whose journal is still kept\.$/)
    .waitFor();
  await expectAccessible(page);

  const good = await ui.open(`/invocations/${ui.data.placed}`);
  await good.getByRole("heading", { level: 1, name: /Orders\/place succeeded/ }).waitFor();
  expect(await good.getByRole("button", { name: "Compare with the last good run" }).count()).toBe(0);

  const gone = await ui.open(`/invocations/${ui.data.refused}?compare=inv_1gone`);
  await section(gone)
    .getByText(/is no longer there/)
    .waitFor();
});

test("runs of more than a thousand steps are compared, and what is left out is said", async () => {
  const { ingress, admin } = ui.world;
  const assemble = ["Orders", "assemble"] as const;
  await ingress.result(assemble, { steps: 1_010, stepMs: 0 });
  const { invocationId } = await ingress.send(assemble, { steps: 1_000_000, stepMs: 0 });
  const steps = async () =>
    Number((await admin.query(`SELECT journal_commands_size AS n FROM sys_invocation WHERE id = '${invocationId}'`))[0]?.["n"]);
  while ((await steps()) < 1_020) await delay(100);
  const page = await ui.open(`/invocations/${invocationId}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Kill …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
  await page.getByRole("heading", { level: 1, name: /Orders\/assemble (killed|failed)/ }).waitFor();
  await page.getByRole("button", { name: "Compare with the last good run" }).click();
  await section(page).getByText("The first 1,000 steps are compared. Later steps of both runs are left out.").waitFor();
  await section(page)
    .getByText(/^Show steps that are the same \(\d+\)$/)
    .click();
  await section(page)
    .getByRole("button", { name: /^Show \d+ more steps$/ })
    .waitFor();
  expect(await compared(page).getByRole("listitem").count()).toBe(200);
});
