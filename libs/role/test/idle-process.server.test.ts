/** A process of its own: the heap of a Jest worker is large and never idle. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test.each([
  ["objects of the heap", "heap"],
  ["buffers outside it, which the heap's size does not show", "buffers"],
])("garbage of a process that has nothing to do is collected: %s", async (_name, kind) => {
  // The process ends by itself, and only when its garbage is gone.
  const args = [at("../../../deploy/run-ts.mjs"), at("../testdata/idle-process.ts"), kind];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toMatch(/^collected$/m);
});
