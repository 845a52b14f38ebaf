/** Compact pages show more of a list, remain so after a reload, and are still usable. */
import { expect, test } from "@jest/globals";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole();

test("compact pages show more rows, also after a reload", async () => {
  const page = await ui.open("/invocations", { width: 1440 });
  const row = page.getByRole("row").nth(2);
  await row.waitFor();
  const heightOf = async () => (await row.boundingBox())?.height ?? 0;
  const before = await heightOf();
  await page.getByText("Compact density").click();
  expect(await heightOf()).toBeLessThan(before);
  await page.reload();
  await row.waitFor();
  expect(await heightOf()).toBeLessThan(before);
});

test.each([
  [360, true],
  [1440, false],
])("at %i px, dark: %s: compact pages are accessible and as wide as their window", async (width, dark) => {
  const context = await ui.browser.newContext({ width, dark });
  await context.addInitScript(() => location.protocol === "http:" && localStorage.setItem("perdure.density", "compact"));
  const page = await context.newPage();
  for (const [path, shown] of [
    ["/", "By service"],
    ["/invocations", "Stock/lamp"],
    [`/invocations/${ui.data.placed}`, "number it"],
    ["/services", "Payments"],
    ["/schedules", "Create schedule"],
  ] as const) {
    await page.goto(ui.url(path));
    await page.getByRole("main").getByText(shown).filter({ visible: true }).first().waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
  }
});
