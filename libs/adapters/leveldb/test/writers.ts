/**
 * A process whose threads write one database as fast as they can, each the rows of its partitions, while another reads it:
 * `writers.ts run <database> <writers> <batches> [read]`; 0 batches: without end. `writers.ts` alone prints the path of the program.
 *
 * Batch n of a partition stores a row for n, and deletes the one for n − 3: a large one when n is divisible by 3, staged for every other
 * one. Every durable batch is acknowledged by a line with the numbers of all partitions of its writer.
 */
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { fromUtf8, present, utf8 } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";
import { ClassicLevel } from "classic-level";
import { blobDirectory } from "../src/blob-reads.js";
import { COMMIT_LOG_DEFAULT } from "../src/commit-log/level-commits.js";
import { openLevelKeyValue, openLevelWriter } from "../src/level-key-value.js";
import { openLevelReader } from "../src/level-reader.js";
import type { LevelStore } from "../src/level-store.js";
import { decodeOwner, OWNER_PREFIX, OWNERS_END } from "../src/stored-value.js";
import { say } from "./say.js";
import { checkPartition, checkRow, PARTITIONS, rowOfBatch } from "./writers-rows.js";

interface ThreadData {
  readonly database: string;
  readonly writers: number;
  readonly batches: number;
  /** Undefined for the thread that reads. */
  readonly writer: number | undefined;
  /** What the threads have done, by `WRITTEN` and `PHASE`. */
  readonly shared: Int32Array;
}

/** Number of further writers that have written everything. */
const WRITTEN = 0;
/** 0 while rows are written, 1 when the reader ends, 2 when writers close: one that closes leaves free files to the next start. */
const PHASE = 1;

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await delay(10);
}

const ownedBy =
  (writer: number, writers: number) =>
  (key: string): boolean =>
    Number(key[0]) % writers === writer;

async function writeRows(kv: LevelStore, { writers, batches }: ThreadData, writer: number): Promise<void> {
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  const [own, others] = [true, false].map((isOwn) => partitions.filter((each) => (each % writers === writer) === isOwn));
  const next = new Map((own ?? []).map((partition) => [partition, Number(fromUtf8(kv.get(`${partition}n`) ?? utf8("-1"))) + 1]));
  for (let count = 0; batches === 0 || count < batches; count++) {
    const batch = new Map<string, Uint8Array | null>();
    const staged: Disposable[] = [];
    for (const [partition, n] of next) {
      const value = rowOfBatch(partition, n);
      if (n % 2 === 0 && value.length >= kv.staging.bytesMin) staged.push(await kv.staging.stage(value));
      batch.set(`${partition}n`, utf8(`${n}`)).set(`${partition}k${n % 5}`, value);
      batch.set(`${partition}k${(n + 2) % 5}`, null);
    }
    await kv.write(batch);
    for (const each of staged) each[Symbol.dispose]();
    say([...next].map(([partition, n]) => `${partition}:${n}`).join(" "));
    for (const [partition, n] of next) next.set(partition, n + 1);
    await readOthers(kv, others ?? [], count);
  }
}

/** Rows of other writers, which replace and delete them meanwhile. */
async function readOthers(kv: LevelStore, others: readonly number[], count: number): Promise<void> {
  const partition = others[count % Math.max(others.length, 1)];
  if (partition === undefined) return;
  const keys = Array.from({ length: 5 }, (_, n) => `${partition}k${n}`);
  // Many times, so that a file is sometimes removed between the read of the row and that of the file, unless it is held.
  for (let n = 0; n < 20; n++) for (const key of keys) checkRow(key, kv.get(key));
  for (const [n, row] of (await kv.getMany(keys)).entries()) checkRow(present(keys[n]), row);
}

async function readRows({ database, shared }: ThreadData): Promise<number> {
  await using reader = await openLevelReader(database);
  let snapshots = 0;
  for (; Atomics.load(shared, PHASE) === 0; snapshots++) {
    await using snapshot: KeyValue = reader.snapshot();
    for (let partition = 0; partition < PARTITIONS; partition++) await checkPartition(snapshot, partition);
  }
  return snapshots;
}

async function runThread(data: ThreadData): Promise<void> {
  const { writer, writers, database } = data;
  if (writer === undefined) return void parentPort?.postMessage(await readRows(data));
  await using kv = await openLevelWriter(database, { writer, isOwn: ownedBy(writer, writers) });
  await writeRows(kv, data, writer);
  Atomics.add(data.shared, WRITTEN, 1);
  await until(() => Atomics.load(data.shared, PHASE) === 2);
}

/** Starts a thread; resolves with its message, if any, when it has ended, and rejects with its error. */
function thread(data: ThreadData): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const worker = new Worker(process.argv[1] as string, { workerData: data });
  let message: number | undefined;
  worker.on("message", (received: number) => {
    message = received;
  });
  worker.on("error", reject);
  worker.on("exit", () => resolve(message));
  return promise;
}

/** Numbers of the files that rows refer to. */
async function ownedFiles(database: string): Promise<string[]> {
  const level = new ClassicLevel<string, Uint8Array>(database, { valueEncoding: "view" });
  await level.open({ multithreading: true });
  const owned = new Set<number>();
  for await (const [, owner] of level.iterator({ gte: OWNER_PREFIX, lt: OWNERS_END }))
    for (const { number } of decodeOwner(owner)) owned.add(number);
  await level.close();
  return [...owned].map((number) => `${number}.blob`).sort();
}

async function run(data: ThreadData, withReader: boolean): Promise<void> {
  const { database, writers } = data;
  const first = await openLevelKeyValue(database, COMMIT_LOG_DEFAULT, { writers, isOwn: ownedBy(0, writers) });
  const reading = withReader ? thread(data) : undefined;
  const others = Array.from({ length: writers - 1 }, (_, n) => thread({ ...data, writer: n + 1 }));
  const closed = Promise.all(others);
  const written = until(() => Atomics.load(data.shared, WRITTEN) === others.length);
  await Promise.all([writeRows(first, data, 0), Promise.race([written, closed])]);
  Atomics.store(data.shared, PHASE, 1);
  say(`snapshots ${(await reading) ?? 0}`);
  const owned = await ownedFiles(database);
  const filesNow = (): string[] => readdirSync(blobDirectory(database)).sort();
  for (let n = 0; n < 100 && filesNow().join() !== owned.join(); n++) await delay(100);
  say(`files ${owned.length} ${filesNow().join() === owned.join() ? "exactly" : `but ${filesNow().length}`}`);
  Atomics.store(data.shared, PHASE, 2);
  await closed;
  await first[Symbol.asyncDispose]();
}

if (!isMainThread) await runThread(workerData as ThreadData);
else if (process.argv[2] === "run") {
  const [database, writers, batches, withReader] = process.argv.slice(3) as [string, string, string, string?];
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const data = { database, writers: Number(writers), batches: Number(batches), writer: undefined, shared };
  await run(data, withReader === "read");
} else {
  say(process.argv[1] as string);
  process.stdin.resume(); // The program exists until the process that started it ends.
}
