import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { bundleFileName, readBundleFile } from "./bundle-file.js";
import { isBundleName } from "./dropped.js";

test("files are recognised by their name", () => {
  expect([bundleFileName("inv_1"), "a.JSON", "picture.png"].map(isBundleName)).toEqual([true, true, false]);
});

test.each([
  ["plain", new Blob(['{"format":"other"}'])],
  ["compressed", new Blob([gzipSync('{"format":"other"}')])],
])("a %s file is read, and refused when it is not a bundle", async (_, file) => {
  await expect(readBundleFile(file)).rejects.toMatchObject({ code: "OPS0010", detail: expect.stringContaining("'format'") });
});
