/** Tests of the test rig itself: each page here has an error on purpose, which the rig must report. */
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { expectAccessible, expectLabelsInside, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole } from "./console.js";

const ui = suiteConsole({ world: "shop" });

test("a page is opened, and nothing is wrong with it", async () => {
  const page = await ui.open("/errors/RT0001");
  await page.getByRole("heading", { level: 1, name: "RT0001" }).waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  expect(ui.browser.takeComplaints()).toEqual([]);
});

test.each([
  ["an uncaught error", "setTimeout(() => { throw new Error('boom'); })", /boom/],
  ["an error in the console", "console.error('it went wrong')", /it went wrong/],
  [
    "a script that the policy forbids",
    "document.body.append(Object.assign(document.createElement('script'), {text: '1'}))",
    /Policy/,
  ],
  ["a request to somewhere else", "location.href = 'http://127.0.0.1:9/'", /a request to http:..127.0.0.1:9./],
  ["an answer that is a failure", "fetch('/nowhere')", /404/],
  ["a dialog", "setTimeout(() => alert('hello'))", /a dialog: hello/],
])("%s is noticed", async (_, script, what) => {
  const page = await ui.open("/errors/RT0001");
  await page.evaluate(script);
  let complaints = "";
  await eventually("a complaint", () => {
    complaints += ui.browser.takeComplaints().join("\n");
    return what.test(complaints);
  });
});

test("unreadable text, and content too wide for a phone, are reported", async () => {
  const page = await ui.open("/errors/RT0001", { width: 360 });
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.evaluate(() => {
    const wide = document.createElement("button");
    Object.assign(wide.style, { display: "block", width: "600px", color: "#999", background: "#aaa" });
    document.querySelector("main")?.append(wide);
  });
  await expect(expectAccessible(page)).rejects.toThrow(/button-name/);
  await expect(expectNoSidewaysScroll(page)).rejects.toThrow(/wider than its window/);
});

test("words on two lines, tables that do not fit, and labels that overlap or are cut off, are reported", async () => {
  const page = await ui.open("/errors/RT0001", { width: 360 });
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expectNoSplitWords(page);
  await expectLabelsInside(page);
  const add = (html: string) =>
    page.evaluate((text) => {
      const added = document.createElement("div");
      added.innerHTML = text;
      for (const { style, dataset } of added.querySelectorAll<HTMLElement>("[data-css]")) style.cssText = dataset["css"] ?? "";
      document.querySelector("main")?.replaceChildren(added);
    }, html);
  await add('<p data-css="width: 4rem; overflow-wrap: anywhere">NotificationDeliveryService</p>');
  await expect(expectNoSplitWords(page)).rejects.toThrow(/NotificationDeliveryService, on \d lines/);
  await add('<section class="table-room" aria-label="Wide"><p data-css="width: 900px">one</p></section>');
  await expect(expectNoSplitWords(page)).rejects.toThrow(/table Wide: 9\d\d px/);
  await add('<svg width="200" height="20"><text x="0" y="14">12:00</text><text x="190" y="14">16:00</text></svg>');
  await expect(expectLabelsInside(page)).rejects.toThrow(/16:00 is beyond/);
  await add('<svg width="200" height="20"><text x="0" y="14">12:00</text><text x="10" y="14">16:00</text></svg>');
  await expect(expectLabelsInside(page)).rejects.toThrow(/12:00 and 16:00 overlap/);
});
