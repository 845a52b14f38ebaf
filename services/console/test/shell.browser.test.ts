/** The frame of every page: keys, focus, narrow windows, colours, error pages, and a server that stops under an open page. */
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole({ world: "shop" });

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });
/** The page moves the focus after it has drawn what gets it. */
const focusOn = (page: Page, target: string) =>
  page.waitForFunction((text) => [document.activeElement?.id, document.activeElement?.textContent].includes(text), target);

test("everything is reached with the keyboard", async () => {
  const page = await ui.open("/errors/RT0016");
  await heading(page, "RT0016").waitFor();
  await page.keyboard.press("Tab");
  await focusOn(page, "Skip to content");
  await page.keyboard.press("Enter");
  await focusOn(page, "main");

  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await heading(page, "Getting started").waitFor();
  await focusOn(page, "main");

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await expectAccessible(page);
  // Shortcuts do nothing within an open dialog.
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.getByRole("checkbox", { name: "Single-key shortcuts" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.keyboard.press("?");
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  expect(await page.getByRole("dialog").count()).toBe(0);
  await heading(page, "Getting started").waitFor();

  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Search pages/ }).fill("sche");
  await page.getByRole("option", { name: "Schedules" }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await heading(page, "Schedules").waitFor();
  await page.getByRole("button", { name: /^Go to/ }).click();
  await page.keyboard.insertText("awake");
  await page.getByRole("option", { name: "Awakeables" }).click();
  await heading(page, "Awakeables").waitFor();
});

test("on a phone the pages are behind a button", async () => {
  const page = await ui.open("/errors/RT0016", { width: 360 });
  await heading(page, "RT0016").waitFor();
  await expectNoSidewaysScroll(page);
  const menu = page.getByRole("button", { name: "Menu" });
  expect(await page.getByRole("link", { name: "Services" }).isVisible()).toBe(false);
  await menu.click();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Getting started" }).click();
  await heading(page, "Getting started").waitFor();
  await page.getByRole("button", { name: "Menu", expanded: false }).waitFor();
  await page.getByRole("link", { name: "Services", exact: true }).waitFor({ state: "hidden" });
});

test("colours follow the system until the user chooses", async () => {
  const page = await ui.open("/errors/RT0016", { dark: true });
  await heading(page, "RT0016").waitFor();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await expectAccessible(page);
  await page.getByLabel("Theme").click();
  await page.getByRole("option", { name: "Light" }).click();
  await eventually("light", async () => (await ground()) !== dark);
  await page.reload();
  await heading(page, "RT0016").waitFor();
  expect(await ground()).not.toBe(dark);
  await expectAccessible(page);
});

test("codes link to each other without loading the page again; unknown codes are marked", async () => {
  const page = await ui.open("/errors/META0003");
  const link = page.getByRole("link", { name: "META0014" });
  expect(await link.getAttribute("href")).toBe("/ui/errors/META0014");
  expect(await link.evaluate((one) => getComputedStyle(one).textDecorationLine)).toBe("underline");
  await page.evaluate(() => Object.assign(window, { isSame: true }));
  await link.click();
  await heading(page, "META0014").waitFor();
  expect(await page.evaluate("window.isSame")).toBe(true);
  expect(
    await page
      .getByRole("main")
      .getByRole("link")
      .evaluateAll((all) => all.map((one) => one.getAttribute("href"))),
  ).not.toContainEqual(expect.stringMatching(/\.md/));
  await page.goto(ui.url("/errors/ABC1234"));
  await page.getByText("Only error codes of Perdure have a page").waitFor();
});

test("an address that leads nowhere leads back", async () => {
  const page = await ui.open("/no/such/page");
  await heading(page, "Page not found").waitFor();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Go to overview" }).click();
  await page.waitForURL(ui.url("/"));
});

test("a server that is killed and started again under an open page", async () => {
  const page = await ui.open("/tour", { mayFail: true });
  await page.getByText(/^Registered:/).waitFor();
  await ui.world.server.kill();
  await page.getByText("The server cannot be reached.").waitFor();
  // Loaded data stays.
  expect(await page.getByText(/^Registered:/).isVisible()).toBe(true);
  await expectAccessible(page);
  // A page that was never opened before cannot be loaded from a stopped server.
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "SQL" }).click();
  await page.getByText("This page could not be loaded.").waitFor();
  await page.goBack();
  await page.getByText(/^Registered:/).waitFor();
  await ui.world.server.startAgain();
  await page.getByText("The server is back.").waitFor();
  await page.getByText("The server cannot be reached.").waitFor({ state: "hidden" });
});

test("a newer console while an old page is open", async () => {
  const page = await ui.open("/errors/RT0016", { mayFail: true });
  await heading(page, "RT0016").waitFor();
  // Like a new installation: other names, the old files are deleted.
  await page.route("**/assets/*-page-*", (route) => route.fulfill({ status: 404, body: "" }));
  await page.route(ui.url("/"), async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/assets\/index-[\w-]+\.js/, "assets/index-newer.js") });
  });
  await page.getByRole("link", { name: "Getting started" }).click();
  await page.getByText("A newer version of the console is installed").waitFor();
  await expectAccessible(page);
  await page.unrouteAll();
  await page.getByRole("button", { name: "Reload" }).click();
  await heading(page, "Getting started").waitFor();
});

test("the sidebar leads to the documentation of the server's version", async () => {
  const page = await ui.open("/");
  const link = page.getByRole("link", { name: "Documentation" });
  expect(await link.getAttribute("href")).toBe("https://perdure.dev/docs/v0.1.0");
  expect(await link.getAttribute("target")).toBe("_blank");
});
