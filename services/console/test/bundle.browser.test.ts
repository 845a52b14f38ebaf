/** Bundles in the browser: downloaded from the page of an invocation, opened from a file and by dropping it, and sent nowhere. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { expectAccessible, suiteConsole } from "./console.js";

const ui = suiteConsole();

test("a bundle is downloaded, opened from its file, and dropped onto another page", async () => {
  const page = await ui.open(`/invocations/${ui.data.placed}`);
  await page.getByRole("heading", { level: 1, name: /Orders\/place succeeded/ }).waitFor();
  await page.getByRole("button", { name: "More actions" }).click();
  const downloading = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: "Download bundle" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(`${ui.data.placed}.bundle.json.gz`);
  const path = join(mkdtempSync(join(tmpdir(), "perdure-bundle-")), "order.bundle.json.gz");
  await download.saveAs(path);
  const bytes = readFileSync(path);
  rmSync(dirname(path), { recursive: true });
  expect(JSON.parse(gunzipSync(bytes).toString())).toMatchObject({
    format: "perdure.bundle",
    invocation: { id: ui.data.placed },
  });

  const opened = await ui.open("/bundle");
  const sent: string[] = [];
  opened.on("request", (request) => {
    if (request.method() !== "GET" || request.postData() !== null) sent.push(request.url());
  });
  const name = "order.bundle.json.gz";
  await opened.getByLabel("Bundle file").setInputFiles({ name, mimeType: "application/gzip", buffer: bytes });
  await opened.getByRole("heading", { level: 1, name: /Orders\/place succeeded/ }).waitFor();
  await opened.getByRole("treeitem", { name: /^run 'pack it', .*, succeeded/ }).waitFor();
  await opened.getByRole("region", { name: "Journal entries" }).getByText("run pack it").waitFor();
  await expectAccessible(opened);
  await opened.getByRole("button", { name: "Close bundle" }).click();

  await opened
    .getByLabel("Bundle file")
    .setInputFiles({ name: "other.json", mimeType: "application/json", buffer: Buffer.from("{}") });
  await opened.getByText("other.json cannot be shown.").waitFor();
  expect(sent).toEqual([]);

  await page.evaluate(
    (numbers) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(numbers)], "dropped.bundle.json.gz"));
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true }));
    },
    [...bytes],
  );
  await page.getByText("dropped.bundle.json.gz").waitFor();
  expect(new URL(page.url()).pathname).toMatch(/\/bundle$/);
});
