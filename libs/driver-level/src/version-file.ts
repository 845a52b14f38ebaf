/**
 * Every storage directory says which format it holds, in a file beside the database. A directory without one is somebody
 * else's data, or older than version files: we refuse it and never wipe anything ourselves (specification, item 6).
 */
import { access, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ErrorCode, PerdureError } from "@perdure/base";

export const STORAGE_FORMAT = 1;
const FILE = "perdure-format.json";
const DATABASE = "level";

/** `setting` is what a person changes to use another directory; `missing` the code for a directory without version. */
export interface StorageDirectory {
  readonly path: string;
  readonly setting: string;
  readonly missing: Extract<ErrorCode, "RT0009" | "META0011">;
}

/**
 * Makes the directory if need be and checks or writes its version; resolves to where the database goes. Throws META0010, RT0009 or META0011
 * when what is there is not ours to open, STO0001 or STO0004 when the directory cannot be made, read or written.
 */
export async function prepareStorageDirectory(directory: StorageDirectory): Promise<string> {
  try {
    return await prepare(directory);
  } catch (cause) {
    throw cause instanceof PerdureError ? cause : unusable(directory, cause);
  }
}

/** A file in the way, a file system mounted read-only, rights that are missing: nothing that is a defect of ours. */
function unusable({ path, setting }: StorageDirectory, cause: unknown): PerdureError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const detail = `the storage directory ${path} cannot be used: ${message}. Make it writable, or set ${setting} to another directory.`;
  return new PerdureError(code === "ENOSPC" ? "STO0004" : "STO0001", detail, { cause });
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
    // Renamed into place, so that a crash leaves no half-written version behind.
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify({ format: STORAGE_FORMAT, writtenBy: "perdure" })}\n`, { flush: true });
    await rename(draft, file);
  } else if (formatOf(stored) !== STORAGE_FORMAT) {
    throw new PerdureError(
      "META0010",
      `${path} holds storage format ${String(formatOf(stored) ?? "of unreadable version")}; this version reads ${STORAGE_FORMAT}. Run the version that wrote it, or set ${setting} to another directory.`,
    );
  }
  return join(path, DATABASE);
}

/** Whether a database was ever made below the directory. Changes nothing. */
export async function holdsDatabase(path: string): Promise<boolean> {
  // LevelDB's pointer to its present state: renamed into place when the database is made.
  return await access(join(path, DATABASE, "CURRENT")).then(
    () => true,
    () => false,
  );
}

function formatOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { format?: unknown }).format;
  } catch {
    return undefined;
  }
}
