/** Several threads write one database: every row and file is right while they do, afterwards, and after the process was killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { openLevelKeyValue } from "../src/level-key-value.js";
import type { LevelStore } from "../src/level-store.js";
import { checkPartition, PARTITIONS } from "./writers-rows.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const TEST_MS = 300_000;
const ROUNDS = 20;
let builder: ChildProcess;
let program = "";
let root = "";
let database = "";

beforeAll(async () => {
  const parts = [at("../../../../deploy/run-ts.mjs"), at("writers.ts")];
  builder = spawn(process.execPath, parts, { stdio: ["pipe", "pipe", "inherit"] });
  for await (const line of createInterface(builder.stdout as NodeJS.ReadableStream)) {
    program = line;
    break;
  }
}, TEST_MS);
afterAll(async () => {
  builder.stdin?.end();
  await once(builder, "exit");
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-writers-"));
  database = join(root, "level");
});
afterEach(() => rm(root, { recursive: true, force: true }));

function started(...args: readonly string[]): { readonly child: ChildProcess; readonly lines: AsyncIterable<string> } {
  const child = spawn(process.execPath, [program, "run", database, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  return { child, lines: createInterface(child.stdout as NodeJS.ReadableStream) };
}

/** The system releases the lock of a killed process a moment after it has ended. */
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

/** Number of the latest batch of each partition. */
async function stored(kv: LevelStore): Promise<number[]> {
  const numbers: number[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) numbers.push(await checkPartition(kv, partition));
  return numbers;
}

/** Notes what a line of the program acknowledges. */
function note(line: string, acknowledged: number[]): void {
  for (const each of line.split(" ")) {
    const [partition, n] = each.split(":").map(Number) as [number, number];
    acknowledged[partition] = n;
  }
}

test.each([1, 3])(
  "a reader has every row of each moment while %i writers store, replace and delete them; then exactly their files exist",
  async (writers) => {
    const batches = 300;
    const { child, lines } = started(`${writers}`, `${batches}`, "read");
    const exited = once(child, "exit");
    const results: string[] = [];
    for await (const line of lines) if (/^[a-z]/.test(line)) results.push(line);
    expect(await exited).toEqual([0, null]);
    expect(results).toEqual([expect.stringMatching(/^snapshots [1-9]/), expect.stringMatching(/^files [0-9]+ exactly$/)]);
    await using kv = await openFreed();
    expect(await stored(kv)).toEqual(Array.from({ length: PARTITIONS }, () => batches - 1));
    expect(`files ${(await readdir(`${database}-blobs`)).length} exactly`).toBe(results[1]);
  },
  TEST_MS,
);

test(
  "killed at any moment, all writers have written whole batches, acknowledged ones included, whatever their number was before",
  async () => {
    let before = Array.from({ length: PARTITIONS }, () => -1);
    for (let round = 0; round < ROUNDS; round++) {
      const { child, lines } = started(`${[3, 3, 2, 5, 3, 1][round % 6]}`, "0");
      const exited = once(child, "exit");
      const acknowledged = [...before];
      const reading = (async () => {
        for await (const line of lines) note(line, acknowledged);
      })();
      while (acknowledged.some((n, partition) => n <= (before[partition] as number))) {
        expect(child.exitCode).toBeNull();
        await delay(5);
      }
      await delay((round * 37) % 150);
      child.kill("SIGKILL");
      await exited;
      await reading;
      await using kv = await openFreed();
      const latest = await stored(kv);
      for (const [partition, n] of latest.entries()) {
        expect(n).toBeGreaterThanOrEqual(acknowledged[partition] as number);
        expect(n).toBeLessThanOrEqual((acknowledged[partition] as number) + 1);
      }
      before = latest;
    }
  },
  TEST_MS,
);
