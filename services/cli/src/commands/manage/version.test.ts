import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { runCommand } from "../../run.js";
import { Variables } from "../../variables.js";

const home = mkdtempSync(join(tmpdir(), "perdure-version-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function run(fetch: typeof globalThis.fetch, ...args: readonly string[]) {
  const written = { stdout: "", stderr: "" };
  const exitCode = await runCommand(args, {
    variables: new Variables({ HOME: home, PERDURE_ADMIN_URL: "http://admin.test", PERDURE_INGRESS_URL: "http://ingress.test" }),
    clock: systemClock,
    stdin: process.stdin,
    stdout: { write: (text: string) => (written.stdout += text) },
    stderr: { write: (text: string) => (written.stderr += text) },
    signal: new AbortController().signal,
    fetch,
  });
  return { exitCode, ...written };
}

const unreachable = () => Promise.reject(new TypeError("fetch failed"));

test("the version of the command line is printed when no server answers, too", async () => {
  const { exitCode, stdout, stderr } = await run(unreachable, "version");
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^this command line: perdure \d+\.\d+\.\d+/);
  expect(stderr).toContain("http://admin.test cannot be reached");
});

test("with --json an error is JSON alone", async () => {
  const { exitCode, stdout, stderr } = await run(unreachable, "version", "--json");
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(JSON.parse(stderr)).toMatchObject({ error: { exitCode: 1 } });
});
