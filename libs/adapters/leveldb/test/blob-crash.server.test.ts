/** A writer is killed at any point: acknowledged rows are stored, and no file without a row is left. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
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
  root = await mkdtemp(join(tmpdir(), "perdure-blob-crash-"));
  database = join(root, "level");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const files = () => readdir(`${database}-blobs`);

/** A writer in its own process and its output; `run-ts` starts it in a child that is killed with the process group. */
function writer(where: string, commitLog = false): { readonly lines: AsyncIterable<string>; kill(): Promise<void> } {
  const child: ChildProcess = spawn(
    process.execPath,
    [at("../../../../deploy/run-ts.mjs"), at("blob-writer.ts"), database, where, `${commitLog}`],
    {
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    },
  );
  const exited = once(child, "exit");
  return {
    lines: createInterface(child.stdout as NodeJS.ReadableStream),
    async kill() {
      process.kill(-(child.pid as number), "SIGKILL");
      await exited;
    },
  };
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

async function killedAt(where: string): Promise<void> {
  const { lines, kill } = writer(where);
  for await (const line of lines) if (line === "there") break;
  await kill();
}

test(
  "killed between a file and its batch, it leaves a file that the next start removes",
  async () => {
    await killedAt("between file and batch");
    expect(await files()).toHaveLength(1);
    await using _kv = await openFreed();
    expect(await files()).toEqual([]);
  },
  TEST_MS,
);

test(
  "killed between a batch and the removal of the file it freed, the rows of the batch are stored",
  async () => {
    {
      await using kv = await openFreed();
      await kv.write(new Map([["a", new Uint8Array(500_000).fill(1)]]));
    }
    await killedAt("between batch and removal");
    expect(await files()).toHaveLength(1);
    await using kv = await openFreed();
    expect(await files()).toEqual([]);
    expect(fromUtf8(kv.get("a") ?? new Uint8Array())).toBe("small");
  },
  TEST_MS,
);

test.each([false, true])(
  "killed anywhere, it has written whole batches, the last acknowledged one included (commit log = %s)",
  async (commitLog) => {
    for (let round = 0; round < 4; round++) {
      const { lines, kill } = writer("anywhere", commitLog);
      let acknowledged = -1;
      const reading = (async () => {
        for await (const line of lines) acknowledged = Number(line.slice("written ".length));
      })();
      while (acknowledged < 3) await delay(10);
      await delay(37 * round + 5 * (Date.now() % 20));
      await kill();
      await reading;
      await using kv = await openFreed();
      const n = Number(fromUtf8(kv.get("n") ?? new Uint8Array()));
      expect(n).toBeGreaterThanOrEqual(acknowledged);
      expect(n).toBeLessThanOrEqual(acknowledged + 1);
      const rows = new Map<string, Uint8Array>();
      for await (const [key, value] of kv.scan("k", "l")) rows.set(key, value);
      // Batch n stored its row, and batches n + 1 and n + 2 delete older ones: three are left.
      expect([...rows.keys()].sort()).toEqual([n - 2, n - 1, n].map((each) => `k${each % 5}`).sort());
      for (const each of [n - 2, n - 1, n]) {
        const expected = Buffer.alloc(600_000 + (each % 200), each % 200);
        expect(Buffer.compare(rows.get(`k${each % 5}`) ?? Buffer.alloc(0), expected)).toBe(0);
      }
      expect(await files()).toHaveLength(3);
    }
  },
  TEST_MS,
);
