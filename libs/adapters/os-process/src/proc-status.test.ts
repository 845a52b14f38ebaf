import { expect, test } from "@jest/globals";
import { privateKibOf } from "./proc-status.js";

test("mapped files do not count, where the system reports them separately", () => {
  expect(privateKibOf("Name:\tnode\nVmRSS:\t  900 kB\nRssAnon:\t  500 kB\nRssFile:\t 400 kB\n")).toBe(500);
  expect(privateKibOf("VmRSS:\t  900 kB\n")).toBe(900);
  expect(privateKibOf("State:\tZ (zombie)\n")).toBeUndefined();
});
