/**
 * Every storage directory says which format it holds, in a file beside the database. A directory without one is somebody
 * else's data, or older than version files: we refuse it and never wipe anything ourselves (specification, item 6).
 */
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ErrorCode, PerdureError } from "@perdure/base";

export const STORAGE_FORMAT = 1;
const FILE = "perdure-format.json";

/** `setting` is what a person changes to use another directory; `missing` the code for a directory without version. */
export interface StorageDirectory {
  readonly path: string;
  readonly setting: string;
  readonly missing: Extract<ErrorCode, "RT0009" | "META0011">;
}

/** Makes the directory if need be and checks or writes its version; resolves to where the database goes. */
export async function prepareStorageDirectory(directory: StorageDirectory): Promise<string> {
  const { path, setting } = directory;
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
        directory.missing,
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
  return join(path, "level");
}

function formatOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { format?: unknown }).format;
  } catch {
    return undefined;
  }
}
