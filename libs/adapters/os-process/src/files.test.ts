import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import { EnvironmentFiles, type RuntimeLaunch } from "./files.js";

const LAUNCH: RuntimeLaunch = {
  generation: 2,
  heapMib: 256,
  memoryMib: 512,
  uid: undefined,
  args: ["--log-format", "json"],
  ingressPort: 8080,
  adminPort: 9070,
  fingerprint: "abc",
};
let root: string;
let files: EnvironmentFiles;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "perdure-files-"));
  files = new EnvironmentFiles(root, "env_1" as EnvironmentId);
  files.make();
});

afterEach(() => rmSync(root, { recursive: true }));

test("records are read as they were written, and undefined when there is none", () => {
  expect(files.launch).toBeUndefined();
  expect(files.process).toBeUndefined();
  files.launch = LAUNCH;
  files.process = { pid: 7, identity: "started 12", fingerprint: "abc" };
  expect(files.launch).toEqual(LAUNCH);
  expect(files.process).toEqual({ pid: 7, identity: "started 12", fingerprint: "abc" });
});

test("a launch of an older version has no memory limit", () => {
  const { memoryMib: _, ...older } = LAUNCH;
  writeFileSync(join(files.folder, "launch.json"), JSON.stringify(older));
  expect(files.launch).toEqual(older);
});

test("a file with another content is an error, and not a runtime that was never started", () => {
  for (const text of ["", "[]", '{"generation":2}', JSON.stringify({ ...LAUNCH, args: "--log-format" })]) {
    writeFileSync(join(files.folder, "launch.json"), text);
    expect(() => files.launch).toThrow("launch.json does not contain the record");
  }
});
