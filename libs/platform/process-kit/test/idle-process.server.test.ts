/** Processes of their own: the heap of a Jest worker is large and never idle. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test("a process that has nothing to do collects its garbage, objects of the heap as well as buffers outside it", async () => {
  // Each process ends by itself, and only when its garbage is gone. Both wait for most of the time.
  const ended = ["heap", "buffers"].map(async (kind) => {
    const args = [at("../../../../deploy/run-ts.mjs"), at("../testdata/idle-process.ts"), kind];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  });
  for (const stdout of await Promise.all(ended)) expect(stdout).toMatch(/^collected$/m);
});
