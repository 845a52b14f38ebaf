import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import { EnvironmentFiles } from "./files.js";
import { readRuntimeLogs } from "./index.js";
import { LOG_BYTES_MAX } from "./limits.js";
import { appendToLog, boundLog } from "./runtime-log.js";

const { environmentId } = aDesiredRuntime();
let directory: string;
let files: EnvironmentFiles;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-log-"));
  files = new EnvironmentFiles(directory, environmentId);
  files.make();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const lineAt = (second: number): string =>
  JSON.stringify({ level: "info", ts: new Date(second * 1_000).toISOString(), msg: `${second}` });
const read = async (from: number, to: number, linesMax = 100): Promise<string[]> => {
  const lines = await readRuntimeLogs(directory, environmentId, { fromMs: from * 1_000, toMs: to * 1_000, linesMax });
  return lines.map(({ line }) => (line.endsWith("}") ? String((JSON.parse(line) as { msg: unknown }).msg) : line));
};

test("lines of a span are shown, the latest when there are too many, and other output with the line before it", async () => {
  expect(await read(0, 100)).toEqual([]);
  const said = [lineAt(1), lineAt(2), "    at somewhere", '{"ts":"cut of', lineAt(3), lineAt(4)];
  writeFileSync(files.log, `orphan\n${said.join("\n")}\n`);
  expect(await read(2, 4)).toEqual(["2", "    at somewhere", '{"ts":"cut of', "3"]);
  expect(await read(0, 100, 2)).toEqual(["3", "4"]);
  appendToLog(files, 5_000, "ended", { reason: "it hung" });
  expect(await read(5, 6)).toEqual(["ended"]);
});

test("a log stays bounded, and keeps earlier output", async () => {
  writeFileSync(files.log, `${lineAt(1)}\n`);
  boundLog(files);
  expect(statSync(files.log).size).toBeGreaterThan(0);
  appendFileSync(files.log, `${"x".repeat(LOG_BYTES_MAX)}\n${lineAt(2)}\n`);
  boundLog(files);
  expect(statSync(files.log).size).toBe(0);
  appendFileSync(files.log, `${lineAt(3)}\n`);
  expect(await read(0, 100)).toEqual(["2", "3"]);
});
