/** The runner behind `make test` and other tiers: its output before a suite starts, and the totals of several runs. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const folder = mkdtempSync(join(tmpdir(), "perdure-tiers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, "deploy/testing", script), ...args], { cwd: ROOT, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

describe("a run of a tier", () => {
  test("ends before anything starts when a program is missing, with a message that names the package to install", async () => {
    const nothing = { PATH: folder, XDG_CACHE_HOME: folder, HOME: folder };
    for (const [tier, program] of [
      ["kafka", "Java 17"],
      ["k8s", "Go 1.26"],
      ["db", "redis-server"],
    ] as const) {
      const { code, stdout, stderr } = await run("run.mjs", [tier], nothing);
      expect([tier, code, stdout]).toEqual([tier, 3, ""]);
      expect(stderr).toMatch(new RegExp(`is missing: install .*${program}`));
    }
  });

  test("names the targets of suites that a filter matches in other tiers", async () => {
    const { code, stdout, stderr } = await run("run.mjs", ["node", "contract\\.redis"]);
    expect(code).toBe(2);
    expect(stdout).toContain("make test-db");
    expect(stderr).toContain("No suite of make test matches");
  });
});

test("suites that start processes begin first in a new clone, and later those that took longest", async () => {
  const order = async (tests: readonly { path: string; duration?: number }[]): Promise<string> => {
    const module = JSON.stringify(join(ROOT, "deploy/testing/longest-first.mjs"));
    const script = `import(${module}).then(({ longestFirst }) => console.log(longestFirst(${JSON.stringify(tests)}).map(({ path }) => path).join()))`;
    return (await promisify(execFile)(process.execPath, ["-e", script])).stdout.trim();
  };
  const paths = ["large.test.ts", "b.server.test.ts", "medium.test.ts", "a.server.test.ts"];
  expect(await order(paths.map((path) => ({ path })))).toBe("b.server.test.ts,a.server.test.ts,large.test.ts,medium.test.ts");
  expect(await order(paths.map((path, i) => ({ path, duration: 9 - i })))).toBe(paths.join());
});

describe("the sum of several runs", () => {
  async function sumOf(...tiers: readonly { flakes: number; passed: number; failed: number }[]) {
    const [sums, counts] = [join(folder, "sums"), join(folder, "counts")];
    let n = 0;
    const lines = tiers.map(({ flakes, passed, failed }) => {
      const of = Array.from({ length: flakes }, () => ({ name: `flaky-${++n}.test.ts`, failure: `why ${n}` }));
      return JSON.stringify({ tiers: "node", passed, failed, flakes: of, broken: [], ms: 1_000 });
    });
    writeFileSync(sums, lines.join("\n"));
    const { code, stdout } = await run("sum.mjs", [sums, counts]);
    expect(code).toBe(0);
    return { counts: readFileSync(counts, "utf8").trim(), stdout };
  }

  test("names each flake with its first failure, and lets them pass", async () => {
    const { counts, stdout } = await sumOf({ passed: 5, failed: 0, flakes: 1 }, { passed: 7, failed: 0, flakes: 1 });
    expect(counts).toBe("12 0");
    for (const text of ["FLAKE flaky-1.test.ts", "why 1", "FLAKE flaky-2.test.ts", "why 2"]) expect(stdout).toContain(text);
  });

  test("counts each flake beyond six as a failure, beside those that failed", async () => {
    expect((await sumOf({ passed: 5, failed: 1, flakes: 4 }, { passed: 7, failed: 0, flakes: 4 })).counts).toBe("12 3");
  });
});
