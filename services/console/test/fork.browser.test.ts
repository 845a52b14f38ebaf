/** Forks of invocations: from a step with an edited result, in the environment and in a sandbox, and compared with their source. */
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole();
const dialog = (page: Page) => page.getByRole("dialog", { name: "Fork Orders/place" });
const compared = (page: Page) => page.getByRole("list", { name: "Compared steps" }).first();

test("a fork from a step with an edited result runs, and is compared with its source", async () => {
  const page = await ui.open(`/invocations/${ui.data.placed}`);
  await page.getByRole("treeitem", { name: /^run 'number it'/ }).click();
  await page.getByRole("button", { name: /^Fork from here … after entry / }).click();
  const value = dialog(page).getByRole("textbox", { name: /^Value of step / });
  await page.waitForFunction(() =>
    document.querySelector<HTMLTextAreaElement>("[role=dialog] textarea")?.value.includes("order-"),
  );
  await expectAccessible(page);
  await value.fill("order-7");
  await dialog(page).getByRole("button", { name: "Fork", exact: true }).click();
  await dialog(page).getByText("The value is not JSON.").waitFor();
  await value.fill('"order-7"');
  await dialog(page).getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByText(/^Fork of .*, with its journal up to entry 1 and an edited result of entry 1\.$/).waitFor();
  expect(page.url()).not.toContain(ui.data.placed);
  await page.getByRole("heading", { name: /Orders\/place succeeded/ }).waitFor();

  await page.getByRole("button", { name: "Compare with its source" }).click();
  const changed = compared(page).getByRole("listitem").filter({ hasText: "run 'number it'" });
  await changed.getByText('"order-7"').waitFor();
  await compared(page).getByRole("button", { name: "Compare steps of call 'Stock/sofa/take'" }).click();
  await page.getByRole("list", { name: "Compared steps" }).nth(1).getByText("write state 'left'").waitFor();
  await page
    .getByText(/^Show steps that are the same \(\d+\)$/)
    .last()
    .click();
  await compared(page).getByText(/sleep/).first().waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 360, height: 800 });
  await expectNoSidewaysScroll(page);
});

test("at 360 px: a fork in a sandbox stores nothing, and gets results of calls from the form", async () => {
  const page = await ui.open(`/invocations/${ui.data.placed}`, { width: 360, dark: true });
  const count = async () => (await ui.world.admin.query("SELECT count(*) AS n FROM sys_invocation"))[0]?.["n"];
  const before = await count();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Fork …" }).click();
  await dialog(page).getByText("Run in a sandbox: store nothing, and call no other handler").click();
  await dialog(page).getByRole("button", { name: "Set the result of a call" }).click();
  await dialog(page).getByRole("textbox", { name: "Handler" }).fill("Stock/take");
  await dialog(page).getByRole("textbox", { name: "Result of the call" }).fill("4711");
  await expectAccessible(page);
  await dialog(page).getByRole("button", { name: "Run in the sandbox" }).click();
  const outcome = dialog(page).getByRole("region", { name: "Outcome in the sandbox" });
  await outcome.getByText("4711 left").first().waitFor();
  await outcome.getByText("Stock/sofa/take").first().waitFor();
  await outcome.getByText("with a result from the form").waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  expect(await count()).toBe(before);
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
  await dialog(page).waitFor({ state: "detached" });
});
