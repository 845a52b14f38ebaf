/** A writer is killed again and again while commits, segments and checkpoints follow each other: whole batches are stored, none is lost. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { fromUtf8, PerdureError } from "@perdure/base";
import { openLevelKeyValue } from "../src/level-key-value.js";
import type { LevelStore } from "../src/level-store.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const TEST_MS = 120_000;
let root = "";
let database = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-commit-crash-"));
  database = join(root, "level");
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Lets a writer begin with a number, kills it some commits later; resolves with the last number that it acknowledged. */
async function killedWriter(first: number, commits: number): Promise<number> {
  const child: ChildProcess = spawn(
    process.execPath,
    [at("../../../../deploy/run-ts.mjs"), at("commit-writer.ts"), database, `${first}`],
    { stdio: ["ignore", "pipe", "inherit"], detached: true },
  );
  const exited = once(child, "exit");
  let acknowledged = first - 1;
  for await (const line of createInterface(child.stdout as NodeJS.ReadableStream)) {
    acknowledged = Number(line);
    if (acknowledged === first + commits) process.kill(-(child.pid as number), "SIGKILL");
  }
  await exited;
  return acknowledged;
}

/** The system releases the lock of a killed process a moment after its parent has ended. */
async function openFreed(): Promise<LevelStore> {
  for (;;) {
    try {
      return await openLevelKeyValue(database);
    } catch (cause) {
      if (!(cause instanceof PerdureError) || cause.code !== "RT0005") throw cause;
      await delay(20);
    }
  }
}

test(
  "killed at any moment, it has written whole batches, the last acknowledged one included",
  async () => {
    let first = 1;
    for (const commits of [3, 150, 611, 402]) {
      const acknowledged = await killedWriter(first, commits);
      await using kv = await openFreed();
      const n = Number(fromUtf8(kv.get("n") ?? new Uint8Array()));
      expect(n).toBeGreaterThanOrEqual(acknowledged);
      expect(n).toBeLessThanOrEqual(acknowledged + 1);
      for (let batch = Math.max(1, n - 24); batch <= n; batch++) {
        const value = `${batch} ${"x".repeat((batch * 37) % 3_000)}`;
        expect(fromUtf8(kv.get(`a${batch % 50}`) ?? new Uint8Array())).toBe(value);
        expect(fromUtf8(kv.get(`b${batch % 50}`) ?? new Uint8Array())).toBe(value);
      }
      for (let batch = n - 26; batch > Math.max(0, n - 49); batch--) expect(kv.get(`a${batch % 50}`)).toBeUndefined();
      first = n + 1;
    }
  },
  TEST_MS,
);
