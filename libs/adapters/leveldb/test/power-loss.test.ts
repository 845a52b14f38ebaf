/**
 * A power cut at any moment, over thousands of commits with switches of segments, checkpoints and compactions: every acknowledged batch is
 * stored, the one under way is stored as a whole or not at all, and nothing else changed.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import { type LogFiles, logFilesIn } from "../src/commit-log/log-files.js";
import { openLevelKeyValue } from "../src/level-key-value.js";
import type { LevelStore } from "../src/level-store.js";
import { LosableNames } from "./lost-names.js";
import { type Chance, copyDatabase, loseLevelLogs, loseSectors, seeded, segmentsOf } from "./power-cut.js";

const TEST_MS = 240_000;
const SEGMENT_BYTES = 256 * 1024;
const SETTINGS = { enabled: true, segmentBytesMax: SEGMENT_BYTES };
const KEYS = 200;

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-power-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** What is stored: the number of the batch and a value for each key. */
type Model = Map<string, string>;

function batchOf(n: number, chance: Chance): Map<string, Uint8Array | null> {
  const batch = new Map<string, Uint8Array | null>([["n", utf8(`${n}`)]]);
  // All rows of a batch have its number, so that half a batch is recognised.
  const bytes = chance() < 0.02 ? SEGMENT_BYTES * chance() * 1.5 : 8_000 * chance() ** 3;
  const rows = 1 + Math.floor(chance() * 6);
  for (let row = 0; row < rows; row++) {
    const key = `k${Math.floor(chance() * KEYS)}`;
    batch.set(key, chance() < 0.2 ? null : utf8(`${n} ${"x".repeat(Math.min(200_000, bytes / rows))}`));
  }
  return batch;
}

function applied(model: Model, batch: ReadonlyMap<string, Uint8Array | null>): Model {
  const next = new Map(model);
  for (const [key, value] of batch) {
    if (value === null) next.delete(key);
    else next.set(key, fromUtf8(value));
  }
  return next;
}

async function contentOf(kv: LevelStore): Promise<Model> {
  const rows: Model = new Map();
  for await (const [key, value] of kv.scan("", "z")) rows.set(key, fromUtf8(value));
  return rows;
}

/** Cuts the power now and opens what is left. */
async function afterPowerCut(
  database: string,
  durable: ReadonlyMap<string, Buffer>,
  chance: Chance,
): Promise<{ readonly content: Model; readonly reopened: Model }> {
  const copy = join(root, "copy");
  mkdirSync(copy);
  try {
    copyDatabase(database, copy);
    loseLevelLogs(join(copy, "level"), chance);
    loseSectors(join(copy, "level-log"), durable, chance);
    const kv = await openLevelKeyValue(join(copy, "level"), SETTINGS);
    const content = await contentOf(kv);
    await kv.write(new Map([["after", utf8("it")]]));
    await kv[Symbol.asyncDispose]();
    await using again = await openLevelKeyValue(join(copy, "level"), SETTINGS);
    const reopened = await contentOf(again);
    reopened.delete("after");
    return { content, reopened };
  } finally {
    rmSync(copy, { recursive: true });
  }
}

test.each([1, 2, 3])(
  "world %i keeps what was acknowledged",
  async (seed) => {
    const chance = seeded(seed);
    const database = join(root, `world-${seed}`, "level");
    mkdirSync(join(database, ".."), { recursive: true });
    writeFileSync(join(database, "..", "perdure-format.json"), '{"format":1}\n');
    let model: Model = new Map();
    await using kv = await openLevelKeyValue(database, SETTINGS);
    let [cuts, unacknowledged] = [0, 0];
    for (let n = 0; n < 1_000; n++) {
      const batch = batchOf(n, chance);
      const next = applied(model, batch);
      const isCut = n > 2 && chance() < 0.02;
      const durable = isCut ? segmentsOf(`${database}-log`) : new Map<string, Buffer>();
      const compaction = chance() < 0.005 ? kv.compact() : undefined;
      const written = kv.write(batch);
      if (isCut) {
        cuts++;
        let isAcknowledged = false;
        void written.then(() => {
          isAcknowledged = true;
        });
        for (let turns = Math.floor(chance() * 8); turns > 0; turns--) await setImmediate();
        // Read before the copy: nothing of this thread runs in between.
        const wasAcknowledged = isAcknowledged;
        const { content, reopened } = await afterPowerCut(database, wasAcknowledged ? new Map() : durable, chance);
        if (wasAcknowledged || content.get("n") === `${n}`) expect(content).toEqual(next);
        else expect(content).toEqual(model);
        expect(reopened).toEqual(content);
        if (!wasAcknowledged) unacknowledged++;
      }
      await written;
      await compaction;
      model = next;
    }
    expect(await contentOf(kv)).toEqual(model);
    expect([cuts > 10, unacknowledged > 3]).toEqual([true, true]);
  },
  TEST_MS,
);

test(
  "a cut before names of segments are durable loses nothing, whichever of them reached the disk",
  async () => {
    const database = join(root, "names", "level");
    mkdirSync(join(database, ".."), { recursive: true });
    writeFileSync(join(database, "..", "perdure-format.json"), '{"format":1}\n');
    const cuts: { readonly copy: string; readonly acknowledged: number }[] = [];
    let acknowledged = 0;
    const cut = (): void => {
      const outcomes = names?.outcomes() ?? [];
      // The outcome without any loss is part of every other test.
      for (const outcome of outcomes.slice(0, -1)) {
        const copy = join(root, `names-${cuts.length}`);
        mkdirSync(copy);
        copyDatabase(database, copy);
        rmSync(join(copy, "level-log"), { recursive: true, force: true });
        LosableNames.write(outcome, join(copy, "level-log"));
        loseLevelLogs(join(copy, "level"), chance);
        cuts.push({ copy, acknowledged });
      }
    };
    const chance = seeded(4);
    let names: LosableNames | undefined;
    const openFiles = (log: string): LogFiles => {
      names = new LosableNames(log, logFilesIn(log), join(root, "names", "links"), cut);
      return names.files;
    };
    // The second start uses the files of the first one again. Some batches are larger than the prepared segment: two are freed at once.
    for (const last of [40, 80]) {
      await using kv = await openLevelKeyValue(database, { enabled: true, segmentBytesMax: 64 * 1024, openFiles });
      while (acknowledged < last) {
        const n = acknowledged + 1;
        const value = utf8(`${n} ${"x".repeat(n % 5 === 0 ? 90_000 : 9_000)}`);
        await kv.write(
          new Map([
            ["n", utf8(`${n}`)],
            [`k${n % 7}`, value],
          ]),
        );
        acknowledged = n;
      }
    }
    for (const { copy, acknowledged } of cuts) {
      await using again = await openLevelKeyValue(join(copy, "level"), SETTINGS);
      const n = Number(fromUtf8(again.get("n") ?? utf8("0")));
      expect([acknowledged, acknowledged + 1]).toContain(n);
      for (let batch = Math.max(1, n - 6); batch <= n; batch++)
        expect(fromUtf8(again.get(`k${batch % 7}`) ?? new Uint8Array()).split(" ")[0]).toBe(`${batch}`);
      rmSync(copy, { recursive: true });
    }
    expect(cuts.length).toBeGreaterThan(50);
  },
  TEST_MS,
);
