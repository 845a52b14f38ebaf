/**
 * Atomic replacement of files: settings and credentials are either the old or the new ones, even when the machine stops in between
 * (cloud.md §1.7).
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/** Mode with which only the user may read the file. */
const MODE = 0o600;

/** The text of a file of at most `bytesMax`; undefined when there is none. Throws when it is larger. */
export function readText(path: string, bytesMax: number): string | undefined {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return undefined;
  if (facts.size > bytesMax) throw new Error(`${path} has ${facts.size} bytes; at most ${bytesMax} are read`);
  return readFileSync(path, "utf8");
}

/**
 * Replaces the file atomically: writes a file beside it, syncs, renames. For a link its target is replaced. The caller holds the lock of
 * the file, so no other process writes beside it, and leftovers of a killed writer are removed.
 */
export function writeTextAtomically(path: string, text: string): void {
  const target = targetOf(path);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const beside = `${target}.perdure-new`;
  rmSync(beside, { force: true });
  const file = openSync(beside, "wx", MODE);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(beside, target);
  syncFolder(dirname(target));
}

function targetOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
}

/** Syncs the folder, so that the new name is on disk too; some systems cannot open folders, and persist names by themselves. */
function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const file = openSync(folder, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
