/** Which rows refer to which blob files, read when a writer is opened. */
import { readdir, rm } from "node:fs/promises";
import { basename } from "node:path";
import { PerdureError } from "@perdure/base";
import type { BinaryLevel } from "./binary-level.js";
import { BlobFile } from "./blob-files.js";
import { blobDirectory, blobPath } from "./blob-reads.js";
import type { StoredFiles } from "./database-memory.js";
import { decodeOwner, MARKER_KEY, OWNER_PREFIX, OWNERS_END } from "./stored-value.js";

/** Files of each row with parts in files, by the row's key, each once. */
export type BlobOwners = Map<string, readonly BlobFile[]>;

interface FileOfRow {
  readonly number: number;
  readonly bytes: number;
}

interface RecoveredBlobs extends StoredFiles {
  /** Rows of writer 0. */
  readonly owners: BlobOwners;
}

/**
 * Removes files that no row refers to. Call it before other writers are opened, which could be writing such a file. Rejects with STO0003
 * when a file that rows refer to is missing.
 */
export async function recoverBlobs(db: BinaryLevel, database: string, isOwn: (key: string) => boolean): Promise<RecoveredBlobs> {
  const rows: (readonly [key: string, files: readonly FileOfRow[]])[] = [];
  const fileRows = new Map<number, number>();
  let fileBytes = 0;
  const marker = db.getSync(MARKER_KEY);
  if (marker !== undefined) {
    for await (const [key, value] of ownersIn(db)) {
      const files = decodeOwner(value);
      for (const { number, bytes } of files) {
        const before = fileRows.get(number);
        if (before === undefined) fileBytes += bytes;
        fileRows.set(number, (before ?? 0) + 1);
      }
      if (isOwn(key)) rows.push([key, files]);
    }
  }
  const lastFile = await checkFiles(blobDirectory(database), fileRows);
  return { marker, owners: ownersOf(rows), fileRows, fileBytes, lastFile };
}

/** The rows of a writer that is opened beside others. */
export async function ownedBlobs(db: BinaryLevel, isOwn: (key: string) => boolean): Promise<BlobOwners> {
  const rows: (readonly [key: string, files: readonly FileOfRow[]])[] = [];
  for await (const [key, value] of ownersIn(db)) if (isOwn(key)) rows.push([key, decodeOwner(value)]);
  return ownersOf(rows);
}

async function* ownersIn(db: BinaryLevel): AsyncIterable<readonly [key: string, owner: Uint8Array]> {
  for await (const [key, value] of db.iterator({ gte: OWNER_PREFIX, lt: OWNERS_END, fillCache: false }))
    yield [key.slice(OWNER_PREFIX.length), value];
}

function ownersOf(rows: readonly (readonly [key: string, files: readonly FileOfRow[]])[]): BlobOwners {
  const rowCounts = new Map<number, number>();
  for (const [, files] of rows) for (const { number } of files) rowCounts.set(number, (rowCounts.get(number) ?? 0) + 1);
  const opened = new Map<number, BlobFile>();
  const owners: BlobOwners = new Map();
  for (const [key, files] of rows) {
    const owned = files.map(({ number, bytes }) => {
      const file = opened.get(number) ?? new BlobFile(number, bytes, rowCounts.get(number));
      opened.set(number, file);
      return file;
    });
    owners.set(key, owned);
  }
  return owners;
}

/** Removes other files; returns the greatest number of a file. */
async function checkFiles(directory: string, owned: ReadonlyMap<number, number>): Promise<number> {
  const present = await numbersIn(directory);
  const missing = [...owned.keys()].filter((number) => !present.has(number));
  if (missing.length > 0) {
    throw new PerdureError(
      "STO0003",
      `${missing.length} of ${owned.size} blob files are missing in ${directory}, among them ${missing[0]}.blob. Bring them back from where the database comes from.`,
    );
  }
  let last = 0;
  for (const number of present) {
    last = Math.max(last, number);
    if (!owned.has(number)) await rm(blobPath(directory, number), { force: true });
  }
  return last;
}

async function numbersIn(directory: string): Promise<Set<number>> {
  const names = await readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return [];
    throw cause;
  });
  const numbers = new Set<number>();
  for (const name of names) if (/^[0-9]+\.blob$/.test(name)) numbers.add(Number(basename(name, ".blob")));
  return numbers;
}
