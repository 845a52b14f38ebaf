/**
 * Writes batches to LevelDB, durable when they resolve, one at a time. Either LevelDB's log is synced with each batch, or the batch is
 * appended to the commit log while LevelDB stores it without sync:
 *
 *     batch n   ├── commit log: write, sync ──┤ durable: acknowledge
 *               ├── LevelDB ──┤
 *
 * Three rules make that safe (decision 0059). Batch n + 1 begins after batch n is durable, so LevelDB's tables, which it writes from its
 * memory when a later batch arrives, contain only durable batches. When the memory is moved into tables for another reason, LevelDB gets
 * each batch after the commit log. And LevelDB's own log is not read after a crash.
 */
import { access } from "node:fs/promises";
import { PerdureError } from "@perdure/base";
import type { BinaryLevel } from "../binary-level.js";
import { blobDirectory } from "../blob-reads.js";
import { BLOB_FORMAT, COMMIT_LOG_FORMAT, endCommitLogFormat, FIRST_FORMAT, raiseFormat } from "../version-file.js";
import { CommitLog } from "./commit-log.js";
import type { DurableBatches } from "./durable-batches.js";
import { FLUSH_ATTEMPTS_MAX, REPLAYED_BYTES_MAX, SEGMENT_BYTES_MAX_DEFAULT } from "./limits.js";
import { type LogFiles, logFilesIn } from "./log-files.js";
import { levelLogs, lockLog, logDirectory, namedLog, nameLog, removeLevelLogs, unnameLog } from "./ownership.js";
import { checkLog, replayLog } from "./read-log.js";
import { RecordEncoder, type RowChange, rowChanges } from "./row-changes.js";

export interface CommitLogSettings {
  /** Whether batches go to a commit log. */
  readonly enabled: boolean;
  /** Size of the largest segment. */
  readonly segmentBytesMax: number;
  /** Called when the log cannot be used, so that LevelDB's log is synced with each batch until the next start. */
  readonly onUnavailable?: (cause: unknown) => void;
  /** Opens the files of the log; those of the file system when undefined. Tests make them fail. */
  readonly openFiles?: (directory: string) => LogFiles;
}

/** The defaults of `worker.storage-rocksdb`. */
export const COMMIT_LOG_DEFAULT: CommitLogSettings = { enabled: false, segmentBytesMax: SEGMENT_BYTES_MAX_DEFAULT };

/** What a batch changes, in order. */
export interface RowBatch {
  put(key: string, value: Uint8Array): void;
  del(key: string): void;
}

/** After every row: a range that contains nothing. */
const NO_ROWS = "\u{10ffff}";
const UNSYNCED = { sync: false } as const;
const SYNCED = { sync: true } as const;

/** The records that a crash left in the commit log, until they are replayed; what protects them from other processes. */
export interface CrashedLog {
  readonly id: Uint8Array;
  /** Number of the last record. */
  readonly last: number;
  readonly lock: AsyncDisposable;
}

/**
 * Call it before LevelDB is opened. When a crash left commits in the commit log, checks them and removes LevelDB's own log. Rejects with
 * RT0005 when another process uses the log, STO0006 or STO0007 when it cannot be used; nothing is changed then.
 */
export async function prepareCrashedLog(database: string): Promise<CrashedLog | undefined> {
  if ((await namedLog(database)) === undefined) return undefined;
  const lock = await lockLog(database);
  try {
    const id = await namedLog(database); // Another process may have closed the database since.
    if (id === undefined) {
      await lock[Symbol.asyncDispose]();
      return undefined;
    }
    const last = await checkLog(logFilesIn(logDirectory(database)), id);
    await removeLevelLogs(database);
    return { id, last, lock };
  } catch (cause) {
    await lock[Symbol.asyncDispose]();
    throw cause;
  }
}

export class LevelCommits implements AsyncDisposable {
  readonly #db: BinaryLevel;
  readonly #database: string;
  readonly #settings: CommitLogSettings;
  readonly #durable: DurableBatches;
  readonly #encoder = new RecordEncoder();
  #log: CommitLog | undefined;
  #lock: AsyncDisposable | undefined;
  #isLogDecided: boolean;
  /** Moves of LevelDB's memory into tables under way: LevelDB must not get a batch before the commit log then. */
  #flushCount = 0;
  #failure: unknown;
  /** The latest batch; the next one waits for it. */
  #tail: Promise<unknown> = Promise.resolve();
  #overlapped: { readonly keys: Keys; readonly durable: Promise<void> } | undefined;

  private constructor(db: BinaryLevel, database: string, settings: CommitLogSettings, durable: DurableBatches) {
    this.#db = db;
    this.#database = database;
    this.#settings = settings;
    this.#durable = durable;
    this.#isLogDecided = !settings.enabled;
  }

  /** `crashed`: what `prepareCrashedLog` returned for this database; its commits are stored first. */
  static async open(
    db: BinaryLevel,
    database: string,
    settings: CommitLogSettings,
    durable: DurableBatches,
    crashed: CrashedLog | undefined,
  ): Promise<LevelCommits> {
    const commits = new LevelCommits(db, database, settings, durable);
    if (crashed === undefined)
      await commits.#endFormat(); // A crash can have come between the end of the log and that of its format.
    else {
      await commits.#replay(crashed);
      await commits.#leaveLog();
      commits.#lock = crashed.lock;
    }
    return commits;
  }

  /** For a writer beside writer 0, which has no commit log either. */
  static withoutLog(db: BinaryLevel, database: string, durable: DurableBatches): LevelCommits {
    return new LevelCommits(db, database, COMMIT_LOG_DEFAULT, durable);
  }

  /** Resolves when the changes that `build` makes are durable. `keys`: the rows among them that readers request. */
  write(keys: Keys, build: (batch: RowBatch) => Promise<void>): Promise<void> {
    return this.#serially(async () => {
      if (!this.#isLogDecided) await this.#startLog();
      const chained = this.#db.batch();
      if (this.#log === undefined) {
        await build(chained);
        await chained.write(SYNCED);
        return;
      }
      const batch = new LoggedBatch(chained, this.#encoder.reset());
      await build(batch);
      if (!this.#log.fits(this.#encoder.bytes)) await this.#rotate(this.#log);
      if (this.#log === undefined) return chained.write(SYNCED);
      await this.#commit(this.#log, chained, keys);
    });
  }

  /**
   * Undefined when everything that LevelDB contains now is durable, or none of these rows is in a batch that is not durable yet. Otherwise
   * a promise that resolves when that batch is durable.
   */
  pending(keys?: readonly string[]): Promise<void> | undefined {
    const overlapped = this.#overlapped;
    if (overlapped === undefined || (keys !== undefined && !keys.some((key) => overlapped.keys.has(key)))) return undefined;
    return overlapped.durable;
  }

  /** Compacts a range of keys. */
  async compact(from: string, to: string): Promise<void> {
    await this.#serially(async () => {
      this.#flushCount++;
    });
    try {
      await this.#db.compactRange(from, to);
    } finally {
      this.#flushCount--;
    }
  }

  /** Ends writing: the commit log is empty afterwards, unless a write failed. Does not close LevelDB. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tail;
    try {
      if (this.#log !== undefined && this.#failure === undefined) await this.#leaveLog();
    } finally {
      await this.#log?.[Symbol.asyncDispose]();
      this.#log = undefined;
      await this.#lock?.[Symbol.asyncDispose]();
      this.#lock = undefined;
    }
  }

  #serially(step: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(() => {
      if (this.#failure === undefined) return step();
      throw new PerdureError("STO0001", "an earlier write failed, so that it is unknown what is stored", {
        cause: this.#failure,
      });
    });
    this.#tail = turn.catch(() => undefined); // The caller gets the error.
    return turn;
  }

  async #commit(log: CommitLog, chained: Chained, keys: Keys): Promise<void> {
    try {
      if (this.#flushCount > 0) {
        await log.append(this.#encoder);
        await chained.write(UNSYNCED);
        return;
      }
      this.#durable.begin();
      const appended = log.append(this.#encoder);
      this.#overlapped = { keys, durable: appended };
      const stored = chained.write(UNSYNCED);
      const [logResult, levelResult] = await Promise.allSettled([appended, stored]);
      if (logResult.status === "rejected") throw logResult.reason;
      this.#overlapped = undefined;
      this.#durable.end();
      if (levelResult.status === "rejected") throw levelResult.reason;
    } catch (cause) {
      // Never repeated: after a failed sync, the system may report the next one as successful without having written the bytes.
      this.#failure = cause;
      throw cause;
    }
  }

  /** Starts the log with the first batch: a database that is only read stays as it is. */
  async #startLog(): Promise<void> {
    let log: CommitLog | undefined;
    try {
      this.#lock ??= await lockLog(this.#database);
      log = await CommitLog.start((this.#settings.openFiles ?? logFilesIn)(logDirectory(this.#database)), {
        segmentBytesMax: this.#settings.segmentBytesMax,
        checkpoint: () => this.#flush(),
      });
      await this.#flush();
      await raiseFormat(this.#database, COMMIT_LOG_FORMAT);
      await nameLog(this.#database, log.id);
      this.#log = log;
    } catch (cause) {
      await log?.[Symbol.asyncDispose]();
      if (await this.#isNamed()) {
        this.#failure = cause; // A batch that goes to LevelDB's log now might not be read.
        throw cause;
      }
      await this.#endFormat().catch(() => undefined); // The next start tries it again; this version reads the format.
      this.#settings.onUnavailable?.(cause);
    }
    this.#isLogDecided = true;
  }

  async #isNamed(): Promise<boolean> {
    return namedLog(this.#database).then(
      (id) => id !== undefined,
      () => true,
    );
  }

  /** Continues in the next segment, or without the log when there is no space for one. */
  async #rotate(log: CommitLog): Promise<void> {
    try {
      const cause = await log.rotate(this.#encoder.bytes);
      if (cause === undefined) return;
      await this.#leaveLog();
      this.#log = undefined;
      await log[Symbol.asyncDispose]();
      this.#settings.onUnavailable?.(cause);
    } catch (cause) {
      this.#failure = cause;
      throw cause;
    }
  }

  /** Moves everything into tables, so that LevelDB's log has the latest commits from now on. */
  async #leaveLog(): Promise<void> {
    await this.#flush();
    await unnameLog(this.#database);
    await this.#endFormat();
  }

  #endFormat(): Promise<void> {
    return endCommitLogFormat(this.#database, async () => ((await hasBlobs(this.#database)) ? BLOB_FORMAT : FIRST_FORMAT));
  }

  /**
   * Moves LevelDB's memory into tables. LevelDB returns no error of that, but removes a log of its own only when its rows are in durable
   * tables. Call it while no batch is overlapped.
   */
  async #flush(): Promise<void> {
    this.#flushCount++;
    try {
      const last = Math.max(0, ...(await levelLogs(this.#database)));
      for (let attempt = 0; attempt < FLUSH_ATTEMPTS_MAX; attempt++) {
        await this.#db.compactRange(NO_ROWS, NO_ROWS);
        if ((await levelLogs(this.#database)).every((log) => log > last)) return;
      }
      throw new PerdureError("STO0001", `LevelDB did not move log ${last} of ${this.#database} into tables`);
    } finally {
      this.#flushCount--;
    }
  }

  async #replay({ id, last }: CrashedLog): Promise<void> {
    let changes: RowChange[] = [];
    let bytes = 0;
    const store = async (): Promise<void> => {
      const chained = this.#db.batch();
      for (const [key, value] of changes) {
        if (value === undefined) chained.del(key);
        else chained.put(key, value);
      }
      await chained.write(UNSYNCED);
      changes = [];
      bytes = 0;
    };
    await replayLog(logFilesIn(logDirectory(this.#database)), id, last, async ({ payload }) => {
      changes.push(...rowChanges(payload));
      bytes += payload.length;
      if (bytes >= REPLAYED_BYTES_MAX) await store();
    });
    await store();
  }
}

type Chained = ReturnType<BinaryLevel["batch"]>;
interface Keys {
  has(key: string): boolean;
}

/** Passes changes to LevelDB's batch and to the record. */
class LoggedBatch implements RowBatch {
  readonly #chained: Chained;
  readonly #encoder: RecordEncoder;

  constructor(chained: Chained, encoder: RecordEncoder) {
    this.#chained = chained;
    this.#encoder = encoder;
  }

  put(key: string, value: Uint8Array): void {
    this.#chained.put(key, value);
    this.#encoder.put(key, value);
  }

  del(key: string): void {
    this.#chained.del(key);
    this.#encoder.del(key);
  }
}

async function hasBlobs(database: string): Promise<boolean> {
  return access(blobDirectory(database)).then(
    () => true,
    () => false,
  );
}
