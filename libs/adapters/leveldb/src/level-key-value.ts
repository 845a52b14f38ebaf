/**
 * LevelDB with files for large payloads (`blob-files.ts`) as the engine of partition stores. One synced batch per commit; point reads are
 * synchronous, because a miss in the bloom filter or a hit in the memtable costs less than a task in the thread pool.
 *
 * Several threads of the process may write, each its own rows, through a handle of its own: LevelDB is thread-safe, and writes the batches
 * that wait for each other with one sync. A batch becomes visible to readers in all threads only after that sync.
 */
import { invariant, PerdureError } from "@perdure/base";
import { ClassicLevel } from "classic-level";
import type { BinaryLevel } from "./binary-level.js";
import { ownedBlobs, recoverBlobs } from "./blob-owners.js";
import { COMMIT_LOG_DEFAULT, type CommitLogSettings, LevelCommits, prepareCrashedLog } from "./commit-log/level-commits.js";
import { DatabaseMemory } from "./database-memory.js";
import { LevelKeyValue, type LevelStore } from "./level-store.js";
import { openFailure } from "./open-failure.js";
import { MARKER_KEY } from "./stored-value.js";

/** Size of the memtable: two are in memory and bound the log that is replayed at start; 4 MiB hold some thousand invocations. */
const WRITE_BUFFER_BYTES = 4 * 1024 * 1024;
/** Cache of uncompressed blocks of cold data; hot data is in the memtable. */
const BLOCK_CACHE_BYTES = 8 * 1024 * 1024;

/** Directories that this thread has open as writer 0: LevelDB would let it open one again, and two such writers would corrupt it. */
const written = new Set<string>();

export interface LevelWriters {
  /** Number of writers, writer 0 included. */
  readonly writers: number;
  /** Whether writer 0 writes the row. Each row belongs to one writer from the start of the process to its end. */
  readonly isOwn: (key: string) => boolean;
}

const ONE_WRITER: LevelWriters = { writers: 1, isOwn: () => true };

/**
 * Opens or creates the database, as its writer 0. Threads that are started afterwards may read it (`openLevelReader`), and write it when
 * there are several `writers` (`openLevelWriter`), which must not have a commit log. The result is disposed of after the others: disposing
 * of it rejects with STO0001 while other writers are open. Rejects with RT0005 when another process or this thread has it open for
 * writing, STO0003 when it is damaged or blob files are missing, STO0006 or STO0007 when its commit log is damaged or missing, STO0001
 * otherwise.
 */
export async function openLevelKeyValue(
  directory: string,
  commitLog: CommitLogSettings = COMMIT_LOG_DEFAULT,
  writers: LevelWriters = ONE_WRITER,
): Promise<LevelStore> {
  invariant(writers.writers === 1 || !commitLog.enabled, "the commit log has one writer");
  if (written.has(directory)) throw new PerdureError("RT0005", `the storage directory ${directory} is open already`);
  written.add(directory);
  try {
    return await openFirst(directory, commitLog, writers);
  } catch (cause) {
    written.delete(directory);
    throw cause instanceof PerdureError ? cause : openFailure(directory, cause);
  }
}

async function openFirst(directory: string, settings: CommitLogSettings, { writers, isOwn }: LevelWriters): Promise<LevelStore> {
  await using acquired = new AsyncDisposableStack();
  const crashed = await prepareCrashedLog(directory);
  if (crashed !== undefined) acquired.use(crashed.lock);
  const db = await openDatabase(directory);
  acquired.defer(() => db.close());
  const memory = DatabaseMemory.create(writers);
  const commits = await LevelCommits.open(db, directory, settings, memory.durable, crashed);
  const stored = await recoverBlobs(db, directory, isOwn);
  memory.fill(stored, writers > 1);
  memory.publish(directory);
  acquired.move();
  return new LevelKeyValue({
    db,
    commits,
    directory,
    memory,
    owners: stored.owners,
    isMarkerStored: stored.marker !== undefined,
    isOwn,
    onClose: () => {
      const others = memory.openWriters;
      if (others.length > 0)
        throw new PerdureError("STO0001", `writers ${others.join(", ")} of ${directory} are still open, so it stays open`);
      memory.withdraw(directory);
    },
    onClosed: () => void written.delete(directory),
  });
}

export interface LevelWriter {
  /** From 1 to the number of writers, exclusive. */
  readonly writer: number;
  /** As `LevelWriters.isOwn`. */
  readonly isOwn: (key: string) => boolean;
}

/**
 * Opens a database that the process has open (`openLevelKeyValue`, with exactly the same path and several writers) in a thread that was
 * started since, as one more writer. Rejects with RT0005 when the process does not have it open, or has that writer open already.
 */
export async function openLevelWriter(directory: string, { writer, isOwn }: LevelWriter): Promise<LevelStore> {
  const memory = DatabaseMemory.of(directory);
  if (memory === undefined)
    throw new PerdureError("RT0005", `the storage directory ${directory} has no writer 0 in this process`);
  if (!memory.begin(writer))
    throw new PerdureError("RT0005", `writer ${writer} of the storage directory ${directory} is open already`);
  await using acquired = new AsyncDisposableStack();
  acquired.defer(() => memory.end(writer));
  const db = await openDatabase(directory);
  acquired.defer(() => db.close());
  const commits = LevelCommits.withoutLog(db, directory, memory.durable);
  const isMarkerStored = db.getSync(MARKER_KEY) !== undefined;
  const owners = await ownedBlobs(db, isOwn);
  acquired.move();
  return new LevelKeyValue({
    db,
    commits,
    directory,
    memory,
    owners,
    isMarkerStored,
    isOwn,
    onClose: () => undefined,
    onClosed: () => memory.end(writer),
  });
}

async function openDatabase(directory: string): Promise<BinaryLevel> {
  const db: BinaryLevel = new ClassicLevel<string, Uint8Array>(directory, { keyEncoding: "utf8", valueEncoding: "view" });
  try {
    await db.open({ writeBufferSize: WRITE_BUFFER_BYTES, cacheSize: BLOCK_CACHE_BYTES, compression: true, multithreading: true });
  } catch (cause) {
    throw openFailure(directory, cause);
  }
  return db;
}
