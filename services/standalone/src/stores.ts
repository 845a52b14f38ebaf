/** Opens the embedded stores: the metadata, and the partitions once their directories have proved to belong together. */
import type { DataSetUsage } from "@perdure/admin-api";
import { partitionsOfThread } from "@perdure/base";
import {
  type CommitLogSettings,
  type LevelStore,
  openLevelKeyValue,
  openLevelMetadataStore,
  prepareStorageDirectory,
} from "@perdure/leveldb";
import type { MetadataStore } from "@perdure/metadata";
import type { ProcessPorts } from "@perdure/process-kit";
import {
  ActionMeter,
  ActionTotals,
  CompletedChanges,
  KvPartitionStore,
  type StoredPartitions,
  storedPartitions,
} from "@perdure/storage";
import { warnOfForeignFiles } from "./base-directory.js";
import { directoriesOf, type StandaloneSettings } from "./config.js";
import { LocalDataSet } from "./data-set.js";
import { storedPartitionCount } from "./partition-count.js";
import type { ThreadPlace } from "./parts.js";
import { isRowOfThread } from "./threads/row-owner.js";
import { shareOfThisProcess, threadsOf } from "./threads/thread-count.js";

export interface Stores extends Pick<OpenPartitions, "store" | "usage" | "level" | "completedChanges" | "actions"> {
  readonly metadata: MetadataStore;
  /** Directory of the partitions. */
  readonly directory: string;
  readonly partitionCount: number;
  /** The main thread. */
  readonly place: ThreadPlace;
}

/** Rejects with RT0005, RT0009, META0010, META0011, META0005 or STO0005. */
export async function openStores(settings: StandaloneSettings, ports: ProcessPorts): Promise<Stores> {
  const { lifecycle, clock, random, logger } = ports;
  const directories = directoriesOf(settings);
  const { numPartitions, acceptDataLoss } = settings.worker;
  const dataSet = new LocalDataSet({ directories, numPartitions, acceptDataLoss }, { clock, random, logger });
  await lifecycle.prepare(() => warnOfForeignFiles(directories.node, logger));
  const commitLog = commitLogOf(settings, logger);
  await lifecycle.prepare(() => dataSet.checkDirectories(() => readStoredPartitions(directories.partitions, commitLog)));
  const metadata = await lifecycle.start("metadata store", () => openMetadata(directories.metadata));
  const newMark = await lifecycle.prepare(() => dataSet.beforePartitions(metadata));
  const threads = await lifecycle.prepare(() => threadsFor(settings, metadata, logger));
  const directory = await lifecycle.prepare(() => partitionsDirectory(directories.partitions));
  const check = (stored: StoredPartitions) => dataSet.check(metadata, stored, newMark);
  const partitioned = await lifecycle.start("partition store", () =>
    openPartitions(directory, { commitLog, threads }, newMark, check),
  );
  const { store, usage, level, completedChanges, actions } = partitioned;
  const partitionCount = await lifecycle.prepare(() => dataSet.finish(metadata, partitioned));
  const place = { thread: 0, threads, own: partitionsOfThread(0, threads, partitionCount) };
  return { metadata, directory, store, usage, level, completedChanges, actions, partitionCount, place };
}

/** The database is opened for so many writers, so their number is necessary before. */
async function threadsFor(
  settings: StandaloneSettings,
  metadata: MetadataStore,
  logger: ProcessPorts["logger"],
): Promise<number> {
  const partitionCount = (await storedPartitionCount(metadata)) ?? settings.worker.numPartitions;
  const threads = threadsOf(settings, shareOfThisProcess(), partitionCount);
  const setting = settings.worker.threads;
  if (threads !== 1 || typeof setting === "number") logger.info({ threads, setting }, "threads lead the partitions");
  return threads;
}

async function openMetadata(path: string): Promise<MetadataStore> {
  const directory = await prepareStorageDirectory({ path, setting: "meta.storage-path", missing: "META0011" });
  return openLevelMetadataStore(directory);
}

function partitionsDirectory(path: string): Promise<string> {
  return prepareStorageDirectory({ path, setting: "worker.storage-rocksdb.path", missing: "RT0009" });
}

function commitLogOf({ worker: { storageRocksdb } }: StandaloneSettings, logger: ProcessPorts["logger"]): CommitLogSettings {
  return {
    enabled: storageRocksdb.commitLog,
    segmentBytesMax: storageRocksdb.commitLogSegmentSize,
    onUnavailable: (cause) =>
      logger.warn({ reason: String(cause) }, "the commit log cannot be used; syncing the log of LevelDB until the next start"),
  };
}

async function readStoredPartitions(path: string, commitLog: CommitLogSettings): Promise<StoredPartitions> {
  await using level = await openLevelKeyValue(await partitionsDirectory(path), commitLog);
  return storedPartitions(level);
}

/** The stores, and their size. */
interface OpenPartitions extends AsyncDisposable {
  readonly store: KvPartitionStore;
  readonly usage: () => Promise<DataSetUsage>;
  readonly level: LevelStore;
  /** What `store` writes, for copies of completed invocations that SQL statements read. */
  readonly completedChanges: CompletedChanges;
  /** Actions of all threads; undefined when there is one. */
  readonly actions: ActionTotals | undefined;
  /** State found before anything was written. */
  readonly stored: StoredPartitions;
  /** Id of the data set; usage is reported under the same name. */
  readonly mark: string;
}

/** `newMark` is for data without a mark; nothing is written when `check` rejects. */
async function openPartitions(
  directory: string,
  { commitLog, threads }: { readonly commitLog: CommitLogSettings; readonly threads: number },
  newMark: string,
  check: (stored: StoredPartitions) => Promise<void>,
): Promise<OpenPartitions> {
  const level = await openLevelKeyValue(directory, commitLog, { writers: threads, isOwn: isRowOfThread(0, threads) });
  const actions = threads === 1 ? undefined : ActionTotals.ofWriters(threads);
  let stored: StoredPartitions;
  let meter: ActionMeter;
  try {
    stored = storedPartitions(level);
    await check(stored);
    meter = await ActionMeter.open(level, () => newMark, actions);
  } catch (cause) {
    await level[Symbol.asyncDispose]();
    throw cause;
  }
  const completedChanges = new CompletedChanges();
  const store = new KvPartitionStore(completedChanges.recorded(level), meter);
  return {
    store,
    level,
    completedChanges,
    actions,
    stored,
    mark: meter.source,
    async usage() {
      const storedBytes = await level.storedBytes();
      return { source: meter.source, actions: meter.actions, storedBytes };
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
