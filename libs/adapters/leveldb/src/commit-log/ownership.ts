/**
 * Which of two logs has the latest commits of a database: the commit log when the database names one, else LevelDB's own.
 *
 *     level/commit-log.json    {"log": "<id in hex>"} while commits go to the commit log
 *     level-log/<n>.log        its segments
 *     level-log/lock           a database without rows, whose lock protects the segments
 *
 * While the commit log has the latest commits, LevelDB's log holds copies that are not durable, and perhaps a commit that the commit log
 * lacks. It must not be read then: records of the commit log would be applied on top of a later commit, and change half of it.
 */
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { PerdureError } from "@perdure/base";
import { ClassicLevel } from "classic-level";
import { openFailure } from "../open-failure.js";
import { LOG_ID_BYTES } from "./format.js";
import { syncDirectory } from "./log-files.js";

const NAME = "commit-log.json";
const LEVEL_LOG = /^([0-9]+)\.log$/;

/** Directory of the commit log, beside the database. */
export const logDirectory = (database: string): string => `${database}-log`;

/** Id of the commit log that has the latest commits; undefined when LevelDB's log has them. Rejects with STO0007 when it cannot be read. */
export async function namedLog(database: string): Promise<Uint8Array | undefined> {
  const path = join(database, NAME);
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw cause;
  });
  if (text === undefined) return undefined;
  const id = /^\{"log":"([0-9a-f]+)"\}\n$/.exec(text)?.[1];
  if (id?.length !== 2 * LOG_ID_BYTES) throw new PerdureError("STO0007", `${path} does not name a commit log`);
  return Buffer.from(id, "hex");
}

/** Durable when it resolves. Afterwards, LevelDB's log is not read. */
export async function nameLog(database: string, id: Uint8Array): Promise<void> {
  const draft = join(database, `${NAME}.draft`);
  await using file = await open(draft, "w");
  await file.writeFile(`{"log":"${Buffer.from(id).toString("hex")}"}\n`);
  await file.sync();
  await rename(draft, join(database, NAME));
  await syncDirectory(database);
}

/** Durable when it resolves. Afterwards, LevelDB's log has the latest commits. */
export async function unnameLog(database: string): Promise<void> {
  await rm(join(database, NAME), { force: true });
  await syncDirectory(database);
}

/** Numbers of LevelDB's own logs, which exist until their rows are in tables. */
export async function levelLogs(database: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const name of await readdir(database)) {
    const match = LEVEL_LOG.exec(name);
    if (match !== null) numbers.push(Number(match[1]));
  }
  return numbers;
}

/** Removes LevelDB's own logs. Call it only while the database names a commit log whose records were checked, and is locked. */
export async function removeLevelLogs(database: string): Promise<void> {
  for (const name of await readdir(database)) if (LEVEL_LOG.test(name)) await rm(join(database, name), { force: true });
}

/**
 * Locks the segments against other processes: LevelDB locks its directory only while it has it open, and opening reads its log. Node.js
 * has no lock of files that ends with the process, so a database without rows provides one. Rejects with RT0005.
 */
export async function lockLog(database: string): Promise<AsyncDisposable> {
  const directory = join(logDirectory(database), "lock");
  await mkdir(directory, { recursive: true });
  const lock = new ClassicLevel(directory);
  try {
    await lock.open({ cacheSize: 0, writeBufferSize: 64 * 1024 });
  } catch (cause) {
    throw openFailure(directory, cause);
  }
  return { [Symbol.asyncDispose]: () => lock.close() };
}
