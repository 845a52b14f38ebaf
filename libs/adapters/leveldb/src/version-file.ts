/**
 * The version file of a storage directory has the format of the data, beside the database. A directory with data but without version file
 * belongs to another program or is older than version files: it is refused and never deleted (specification, item 6).
 */
import { access, mkdir, open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { threadId } from "node:worker_threads";
import { causeCode, causeMessage, type ErrorCode, jsonFields, PerdureError, parseJson } from "@perdure/base";

/** The latest format. */
export const STORAGE_FORMAT = 3;
/**
 * Rows are whole in LevelDB. New directories have this format, and versions that support no other can open them until there are blob
 * files, and while the commit log is empty.
 */
export const FIRST_FORMAT = 1;
/** Large payloads are in blob files. A directory is raised to it with its first blob file. */
export const BLOB_FORMAT = 2;
/** The latest commits are in the commit log. A directory has this format while it is written, and after a crash. */
export const COMMIT_LOG_FORMAT = 3;
const FILE = "perdure-format.json";
const DATABASE = "level";

/** `setting` is the setting for another directory; `missing` the error code for a directory without version file. */
export interface StorageDirectory {
  readonly path: string;
  readonly setting: string;
  readonly missing: Extract<ErrorCode, "RT0009" | "META0011">;
}

/**
 * Creates the directory if needed and checks or writes its version; resolves with the path of the database. Throws META0010, RT0009 or
 * META0011 when the directory cannot be used for this server's data, STO0001 or STO0004 when it cannot be created, read or written.
 */
export async function prepareStorageDirectory(directory: StorageDirectory): Promise<string> {
  try {
    return await prepare(directory);
  } catch (cause) {
    throw cause instanceof PerdureError ? cause : unusable(directory, cause);
  }
}

/** The error for a file in the way, a read-only file system or missing permissions, none of which is a defect of the server. */
function unusable({ path, setting }: StorageDirectory, cause: unknown): PerdureError {
  const detail = `the storage directory ${path} cannot be used: ${causeMessage(cause)}. Make it writable, or set ${setting} to another directory.`;
  return new PerdureError(causeCode(cause) === "ENOSPC" ? "STO0004" : "STO0001", detail, { cause });
}

async function prepare({ path, setting, missing }: StorageDirectory): Promise<string> {
  await mkdir(path, { recursive: true });
  const file = join(path, FILE);
  const stored = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw cause;
  });
  if (stored === undefined) {
    const others = (await readdir(path)).filter((name) => !name.startsWith(`${FILE}.`));
    if (others.length > 0) {
      throw new PerdureError(
        missing,
        `${path} is not empty and has no ${FILE}: it holds data of something else, or damaged data. Move it away or set ${setting} to another directory.`,
      );
    }
    await writeFormat(path, FIRST_FORMAT);
  } else if (!isReadable(formatOf(stored))) {
    throw new PerdureError(
      "META0010",
      `${path} holds storage format ${String(formatOf(stored) ?? "of unreadable version")}; this version reads ${FIRST_FORMAT} to ${STORAGE_FORMAT}. Run the version that wrote it, or set ${setting} to another directory.`,
    );
  }
  return join(path, DATABASE);
}

function isReadable(format: unknown): boolean {
  return typeof format === "number" && Number.isInteger(format) && format >= FIRST_FORMAT && format <= STORAGE_FORMAT;
}

/** Writes the file under another name, one of this thread, and renames it, so that a crash leaves no partial version file. */
async function writeFormat(path: string, format: number): Promise<void> {
  const file = join(path, FILE);
  const draft = `${file}.${process.pid}.${threadId}`;
  await writeFile(draft, `${JSON.stringify({ format, writtenBy: "perdure" })}\n`, { flush: true });
  await rename(draft, file);
}

/**
 * Raises the format to at least this one. Call it before the database stores what only that format allows; durable when it resolves. Several
 * threads may call it at the same time when they raise it to the same format.
 */
export function raiseFormat(database: string, format: number): Promise<void> {
  return changeFormat(database, async (stored) => (typeof stored === "number" && stored >= format ? stored : format));
}

/**
 * Ends `COMMIT_LOG_FORMAT`; another format stays. `rest` reads the format of what is stored apart from the log, while no other change of
 * the format is under way. Durable when it resolves.
 */
export function endCommitLogFormat(database: string, rest: () => Promise<number>): Promise<void> {
  return changeFormat(database, async (stored) => (stored === COMMIT_LOG_FORMAT ? rest() : undefined));
}

/** The latest change of each version file. Changes read the file before they write it, under one name of a draft: one at a time. */
const changes = new Map<string, Promise<void>>();

/**
 * A database without version file stays unchanged, and so does one for which `next` resolves with undefined. When it resolves with the
 * stored format, that becomes durable.
 */
function changeFormat(database: string, next: (stored: unknown) => Promise<number | undefined>): Promise<void> {
  const path = dirname(database);
  const change = (changes.get(path) ?? Promise.resolve()).then(async () => {
    const stored = await storedFormat(path);
    if (stored === undefined) return;
    const format = await next(stored);
    if (format === undefined) return;
    if (format !== stored) await writeFormat(path, format); // Else another thread may have written it, and not have made that durable yet.
    await using directory = await open(path, "r");
    await directory.sync();
  });
  const ended = change
    .catch(() => undefined) // The caller gets the error.
    .then(() => {
      if (changes.get(path) === ended) changes.delete(path);
    });
  changes.set(path, ended);
  return change;
}

/** Undefined when there is no version file, null when it names no format. */
async function storedFormat(path: string): Promise<unknown> {
  const stored = await readFile(join(path, FILE), "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw cause;
  });
  return stored === undefined ? undefined : (formatOf(stored) ?? null);
}

/** Whether a database was created below the directory. Changes nothing. */
export async function holdsDatabase(path: string): Promise<boolean> {
  // LevelDB's pointer to its current manifest, renamed into place when the database is created.
  return await access(join(path, DATABASE, "CURRENT")).then(
    () => true,
    () => false,
  );
}

function formatOf(text: string): unknown {
  return jsonFields(parseJson(text))?.["format"];
}
