/** A frequent filter is saved under a name, and a range of time is drawn, not typed. */
/// <reference lib="dom" />
import { expect, test } from "@jest/globals";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole();

test("a view is saved, listed in the menu and in the palette, and deleted", async () => {
  const page = await ui.open("/invocations?status=failed&sort=created");
  await page.getByRole("row").filter({ hasText: "more than the card has" }).first().waitFor();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save view …" }).click();
  await page.getByLabel("Name").fill("declined cards");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await page.goto(ui.url("/invocations"));
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "declined cards" }).click();
  await page.waitForURL((url) => url.search === "?status=failed&sort=created");
  await page.goto(ui.url("/services"));
  await page.getByRole("button", { name: /^Go to/ }).click();
  await page.getByRole("combobox", { name: /^Search pages/ }).fill("declined");
  await page.getByRole("option", { name: "declined cards View" }).click();
  await page.waitForURL((url) => url.search === "?status=failed&sort=created");

  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Delete view …" }).click();
  await page.getByRole("button", { name: "Delete declined cards" }).click();
  await page.getByText("No view is saved.").waitFor();
  await expectAccessible(page);
});

test("views belong to all users of the environment, and two that save at the same time lose nothing", async () => {
  const [ada, grace] = await Promise.all([ui.open("/invocations?status=failed"), ui.open("/invocations?status=paused")]);
  const save = async (page: typeof ada, name: string): Promise<void> => {
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Save view …" }).click();
    await page.getByText("kept for all users of this environment", { exact: false }).waitFor();
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await Promise.all([save(ada, "of Ada"), save(grace, "of Grace")]);
  const third = await (await ui.browser.newContext()).newPage();
  await third.goto(ui.url("/invocations"));
  await third.getByRole("button", { name: "Views" }).click();
  await third.getByRole("menuitem", { name: "of Ada" }).waitFor();
  await third.getByRole("menuitem", { name: "of Grace" }).click();
  await third.waitForURL((url) => url.search === "?status=paused");
  // The browser reports the conflict of the one that was second, when both were under way at once.
  for (const complaint of ui.browser.takeComplaints()) expect(complaint).toMatch(/409 \(Conflict\).*console-documents\/views/);
});

test("the bars show when invocations were created, and a range that is drawn over them becomes the filter", async () => {
  const page = await ui.open("/invocations");
  const bars = page.getByRole("img", { name: /^Invocations by time of creation: \d+, of which \d+ failed; at most \d+ in / });
  await bars.waitFor();
  await expectAccessible(page);
  const box = await bars.boundingBox();
  if (box === null) throw new Error("the bars have no place");
  await page.mouse.move(box.x + box.width * 0.99, box.y + 10);
  await page.getByText(/: \d+ created/).waitFor();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 10);
  await page.mouse.up();
  await page.waitForURL((url) => /^\d{4}-.*\.\.\d{4}-/.test(url.searchParams.get("created") ?? ""));
  await page.getByRole("button", { name: /^Remove filter Created/ }).click();
  await page.waitForURL((url) => url.search === "");
  await page.setViewportSize({ width: 360, height: 800 });
  await bars.waitFor();
  await expectNoSidewaysScroll(page);
  await expect(page.getByRole("grid").isVisible()).resolves.toBe(true);
});
