/** Data directories whose two halves do or do not belong together. */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { openLevelMetadataStore } from "@perdure/leveldb";
import { readDataSet } from "@perdure/metadata";
import { Health, Lifecycle } from "@perdure/process-kit";
import { Metrics, noTracer, Sampler } from "@perdure/telemetry";
import { startStandalone } from "./composition.js";
import { loadSettings } from "./config.js";

const ENDPOINTS = [
  "--ingress.bind-address=127.0.0.1",
  "--admin.bind-address=127.0.0.1",
  "--ingress.bind-port=0",
  "--admin.bind-port=0",
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-data-set-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (...names: string[]): string => join(folder, "node1", ...names);
const [PARTITIONS, METADATA] = ["db", "local-metadata-store"];

/** Starts a server and stops it. Rejects when it refuses to start. */
async function run(...flags: string[]): Promise<void> {
  const given = [...ENDPOINTS, "--worker.num-partitions=2", "--base-dir", folder, ...flags];
  const inputs = { file: undefined, environment: {}, flags: given };
  const { values } = loadSettings(inputs);
  const lifecycle = new Lifecycle({ logger: silentLogger, clock: systemClock, health: new Health(), shutdownTimeoutMs: 5000 });
  await startStandalone(
    values,
    {
      lifecycle,
      metrics: new Metrics(),
      tracer: noTracer,
      invocationTracer: noTracer,
      sampler: new Sampler({ ratio: 0 }, systemRandom),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    },
    { inputs, onLogFilter() {} },
  );
  lifecycle.stop("test");
  expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
}

/** The refusal; with the mark that accepts the loss. */
async function refused(...flags: string[]): Promise<{ readonly detail: string; readonly mark: string }> {
  const cause: unknown = await run(...flags).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(cause).toMatchObject({ code: "STO0005" });
  const { detail } = cause as { detail: string };
  return { detail, mark: /accept-data-loss=([\w.]+?)\.? /.exec(detail)?.[1] as string };
}

async function inMetadata<T>(work: (metadata: Awaited<ReturnType<typeof openLevelMetadataStore>>) => Promise<T>): Promise<T> {
  await using metadata = await openLevelMetadataStore(at(METADATA, "level"));
  return await work(metadata);
}
const recorded = () => inMetadata(readDataSet);
const countOf = () => inMetadata(async (metadata) => (await metadata.get("cluster/partitions"))?.value);
/** As the version before left it. */
const deleteRecord = () =>
  inMetadata((metadata) => metadata.write([{ kind: "delete", key: "cluster/data-set", expectedVersion: undefined }]));

describe("a server whose partitions are missing", () => {
  test("does not start, makes nothing in their place, and continues when they are back", async () => {
    await run();
    renameSync(at(PARTITIONS), at("elsewhere"));
    const { detail } = await refused();
    expect(detail).toContain(at(PARTITIONS));
    await refused("--worker.accept-data-loss=another");
    expect(existsSync(at(PARTITIONS))).toBe(false);
    renameSync(at("elsewhere"), at(PARTITIONS));
    await run();
  });

  test("starts without them once their mark is given, and not a second time", async () => {
    await run();
    rmSync(at(PARTITIONS), { recursive: true });
    const { mark } = await refused();
    const accept = `--worker.accept-data-loss=${mark}`;
    await run(accept);
    await run();
    expect(await recorded()).toMatchObject({ state: "established", accepted: [{ lostId: mark, atMs: expect.any(Number) }] });
    rmSync(at(PARTITIONS), { recursive: true });
    expect((await refused(accept)).mark).not.toBe(mark);
  });

  test("is noticed on the directory of the version before too", async () => {
    await run();
    await deleteRecord();
    rmSync(at(PARTITIONS), { recursive: true });
    const { mark } = await refused();
    await run(`--worker.accept-data-loss=${mark}`);
  });
});

describe("a server whose partitions belong to another", () => {
  test("does not start, and with the mark it continues with them and their number", async () => {
    await run("--worker.num-partitions=3");
    renameSync(at(PARTITIONS), join(folder, "of another"));
    rmSync(at(), { recursive: true });
    await run();
    const own = (await recorded())?.id;
    rmSync(at(PARTITIONS), { recursive: true });
    cpSync(join(folder, "of another"), at(PARTITIONS), { recursive: true });
    const { mark } = await refused();
    expect(mark).toBe(own);
    await run(`--worker.accept-data-loss=${mark}`);
    expect(await countOf()).toEqual({ count: 3 });
    await run();
  });
});

describe("a server whose metadata are missing", () => {
  test("does not start, makes nothing in their place, and continues when they are back", async () => {
    await run();
    renameSync(at(METADATA), at("elsewhere"));
    expect((await refused()).detail).toContain(at(METADATA));
    expect(existsSync(at(METADATA))).toBe(false);
    renameSync(at("elsewhere"), at(METADATA));
    await run();
  });

  test("starts without them once the mark is given, with as many partitions as there are", async () => {
    await run();
    rmSync(at(METADATA), { recursive: true });
    const { mark } = await refused();
    await run("--worker.num-partitions=7", `--worker.accept-data-loss=${mark}`);
    expect(await countOf()).toEqual({ count: 2 });
    expect(await recorded()).toMatchObject({ id: mark, partitionCount: 2, accepted: [{ lostId: mark }] });
    await run();
  });

  test("refuses a second loss under a setting that was left behind, whether it accepted the first or stood there before", async () => {
    await run();
    rmSync(at(METADATA), { recursive: true });
    const first = await refused();
    const left = `--worker.accept-data-loss=${first.mark}`;
    await run(left);
    await run(left);
    rmSync(at(METADATA), { recursive: true });
    const second = await refused(left);
    expect(second.mark).not.toBe(first.mark);
    await run(`--worker.accept-data-loss=${second.mark}`);
    expect(await recorded()).toMatchObject({ id: first.mark, state: "established" });

    const next = second.mark.replace(/\d+$/, (count) => String(Number(count) + 1));
    await run(`--worker.accept-data-loss=${next}`);
    rmSync(at(METADATA), { recursive: true });
    await refused(`--worker.accept-data-loss=${next}`);
  });
});

test("a directory of the version before gets its record, and one that is deleted as a whole begins anew", async () => {
  await run();
  const id = (await recorded())?.id;
  await deleteRecord();
  await run();
  expect((await recorded())?.id).toBe(id);
  rmSync(at(), { recursive: true });
  await run();
  expect((await recorded())?.id).not.toBe(id);
});
