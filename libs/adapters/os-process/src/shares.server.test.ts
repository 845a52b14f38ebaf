import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import { cgroupShares } from "./shares.js";

/** A directory with the files that the kernel would show there. */
let group: string;

beforeEach(() => {
  group = mkdtempSync(join(tmpdir(), "perdure-cgroup-"));
});
afterEach(() => rmSync(group, { recursive: true, force: true }));

const read = (...names: string[]): string => readFileSync(join(group, ...names), "utf8");

test("each runtime gets a group with its memory and a fair share, and its process begins in it", () => {
  writeFileSync(join(group, "cgroup.controllers"), "cpuset cpu io memory pids\n");
  const shares = cgroupShares(group);
  expect(read("cgroup.subtree_control")).toBe("+cpu +memory +pids");
  const { environmentId: id } = aDesiredRuntime();
  const { script, prefix } = shares.prepare(id, 256);
  expect(prefix).toEqual([]);
  expect(read(id, "memory.max")).toBe(String((320 + 512) * 1024 * 1024));
  expect([read(id, "cpu.weight"), read(id, "pids.max"), read(id, "memory.oom.group")]).toEqual(["100", "128", "0"]);
  const pid = execFileSync("/bin/sh", ["-c", `${script}exec sh -c 'echo $$'`], { encoding: "utf8" });
  expect(read(id, "cgroup.procs")).toBe(pid);
});

test("releasing a group that is gone, or was never made, does nothing", () => {
  writeFileSync(join(group, "cgroup.controllers"), "cpu memory pids");
  const shares = cgroupShares(group);
  const { environmentId: id } = aDesiredRuntime();
  shares.release(id);
  expect(existsSync(join(group, id))).toBe(false);
});

test("OPS0001 where the kernel would not enforce limits", () => {
  expect(() => cgroupShares(group)).toThrow("ENOENT");
  writeFileSync(join(group, "cgroup.controllers"), "cpu pids");
  expect(() => cgroupShares(group)).toThrow(
    `[OPS0001] 'provisioner.cgroup' ${group} cannot be used: it has no controller 'memory'`,
  );
});
