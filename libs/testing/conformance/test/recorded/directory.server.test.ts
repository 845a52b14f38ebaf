/**
 * A directory of `perdure server` as the commit before version 0.1.0 left it when it was killed in the middle of its work
 * (`recorder/record-server.ts`): the present build reads every row in it, finishes all of it, and leaves data of later versions alone.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type InvocationId, partitionOf } from "@perdure/base";
import { openLevelKeyValue } from "@perdure/leveldb";
import { invocationRowKeys, type KeyValue, KvPartitionStore, storedPartitions } from "@perdure/storage";
import { parseRecordedRows } from "@perdure/storage/testing";
import { eventually, expectRefusal, SdkEndpoint, Server, TestAdminClient, TestIngressClient } from "../../src/index.js";
import type { RecordedFacts } from "./facts.js";
import { completeAll, expectAllFinished, expectNothingLost, moveDeployment, type OpenedWorld, resumeQueue } from "./finishing.js";
import { filesOf, recordedFacts, unpackRecording } from "./packed.js";
import { recordedServices, replay } from "./services.js";
import { SERVER_SETTINGS } from "./settings.js";
import { type StoredRow, storedRows } from "./stored-rows.js";

const TEST_MS = 180_000;
const UNKNOWN_STATUS = 99;

let baseDir: string;
const directories: string[] = [];
const temporary = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "perdure-recorded-"));
  directories.push(directory);
  return directory;
};
beforeEach(() => {
  baseDir = temporary();
  unpackRecording("server.v1.files.br", baseDir);
});
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});
const facts = recordedFacts<RecordedFacts>("server.v1.json");

test("every row reads as it was recorded", async () => {
  const results = temporary();
  unpackRecording("server.v1.rows.br", results);
  const recorded = parseRecordedRows<readonly StoredRow[]>(readFileSync(join(results, "rows.json"), "utf8"));
  const kv = await openLevelKeyValue(join(baseDir, "node1/db/level"));
  await using store = new KvPartitionStore(kv);
  const rows = await storedRows(store, storedPartitions(kv).partitionCount);
  expect(rows.length).toBe(recorded.length);
  for (const [n, row] of rows.entries()) expect(row).toEqual(recorded[n]);
  const statuses = new Set(
    recorded.filter(({ table }) => table === "invocation").map(({ row }) => (row as { status: string }).status),
  );
  expect([...statuses].sort()).toEqual(["completed", "inboxed", "invoked", "paused", "ready", "scheduled", "suspended"]);
});

describe("the present server", () => {
  beforeAll(() => {
    replay.isOpen = true;
  });

  test(
    "finishes everything in it, and nothing is lost or doubled",
    async () => {
      await using endpoint = await SdkEndpoint.start({ services: recordedServices });
      await using server = await Server.start({ baseDir, settings: SERVER_SETTINGS });
      using admin = new TestAdminClient(server.adminUrl);
      using ingress = new TestIngressClient(server.ingressUrl);
      const world: OpenedWorld = { admin, ingress, endpoint, facts };
      await moveDeployment(world);
      await completeAll(world);
      await resumeQueue(world);
      await expectAllFinished(world);
      await expectNothingLost(world);
      // And once more after a restart, as data of the present version.
      await server.stop();
      await server.startAgain();
      await expectAllFinished(world);
      await expectNothingLost(world);
      await server.stop();
    },
    TEST_MS,
  );

  test(
    "ends with STO0003 when it reads a row of an unknown version, and changes nothing in it",
    async () => {
      const { id } = facts.ends.find(({ what }) => what === "a refusal") as { id: string };
      const directory = join(baseDir, "node1/db/level");
      const [, key] = invocationRowKeys(partitionOf(id as InvocationId, await partitionCountIn(directory)), id as InvocationId);
      const later = await withRows(directory, async (kv) => {
        const row = Uint8Array.from(kv.get(key) ?? []);
        row[0] = UNKNOWN_STATUS;
        await kv.write(new Map([[key, row]]));
        return row;
      });
      const server = await Server.start({ baseDir, settings: SERVER_SETTINGS });
      using ingress = new TestIngressClient(server.ingressUrl);
      await expect(ingress.output(id)).rejects.toThrow();
      await eventually("the server ends", () => !server.isRunning);
      expect(server.lines.join("\n")).toContain(`STO0003] an invocation is stored with status ${UNKNOWN_STATUS}`);
      expect(await withRows(directory, async (kv) => kv.get(key))).toEqual(later);
    },
    TEST_MS,
  );

  test.each([
    ["db", "META0010"],
    ["local-metadata-store", "META0010"],
  ])("refuses a directory '%s' of an unknown version with %s, and changes nothing in it", async (folder, code) => {
    const file = join(baseDir, "node1", folder, "perdure-format.json");
    const stored = JSON.parse(readFileSync(file, "utf8")) as { format: number };
    writeFileSync(file, JSON.stringify({ ...stored, format: 1_000 }));
    const before = filesOf(join(baseDir, "node1", folder));
    const { exit, output } = await expectRefusal({ "base-dir": baseDir, ...SERVER_SETTINGS });
    expect(exit.code).not.toBe(0);
    expect(output).toContain(code);
    const after = filesOf(join(baseDir, "node1", folder));
    expect([...after.keys()]).toEqual([...before.keys()]);
    for (const [path, bytes] of before) expect([path, after.get(path)?.equals(bytes)]).toEqual([path, true]);
  });
});

/** The rows of a server that is stopped, for as long as `work` takes. */
async function withRows<T>(directory: string, work: (kv: KeyValue) => Promise<T>): Promise<T> {
  await using kv = await openLevelKeyValue(directory);
  return await work(kv);
}

const partitionCountIn = (directory: string): Promise<number> =>
  withRows(directory, async (kv) => storedPartitions(kv).partitionCount);
