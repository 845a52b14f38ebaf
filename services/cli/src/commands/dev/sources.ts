/** Source files of a service, with the times of their last changes. */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { causeCode } from "@perdure/base";
import { SOURCE_ENTRIES_MAX } from "./limits.js";

/** Modification time and size by path, relative to the folder. */
type Sources = ReadonlyMap<string, string>;

/** Folders of dependencies and build output; hidden ones are skipped as well. */
const SKIPPED: ReadonlySet<string> = new Set([
  "node_modules",
  "__pycache__",
  "venv",
  "target",
  "build",
  "dist",
  "vendor",
  "bin",
  "obj",
]);

/** Written by a compiler beside what it compiles. */
const DECLARATIONS = ".d.ts";

/** Files with one of these extensions (`.py`); at most SOURCE_ENTRIES_MAX entries of the folder are read, in the order of their names. */
export function sourcesIn(folder: string, extensions: readonly string[]): Sources {
  const sources = new Map<string, string>();
  const folders = [""];
  let entriesLeft = SOURCE_ENTRIES_MAX;
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of entriesOf(join(folder, at))) {
      if (entriesLeft-- === 0) return sources;
      const path = join(at, entry.name);
      if (entry.isDirectory()) {
        if (!entry.name.startsWith(".") && !SKIPPED.has(entry.name)) folders.push(path);
      } else if (extensions.includes(extname(entry.name)) && !entry.name.endsWith(DECLARATIONS)) {
        const stat = statSync(join(folder, path), { throwIfNoEntry: false });
        if (stat !== undefined) sources.set(path, `${stat.mtimeMs} ${stat.size}`);
      }
    }
  }
  return sources;
}

/** The folder may be deleted meanwhile, or not readable for this user. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (cause) {
    if (["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(causeCode(cause) ?? "")) return [];
    throw cause;
  }
}

/** Path of one file that was added, changed or deleted; undefined when both are equal. */
export function changeBetween(before: Sources, after: Sources): string | undefined {
  for (const [path, stamp] of after) if (before.get(path) !== stamp) return path;
  for (const path of before.keys()) if (!after.has(path)) return path;
  return undefined;
}
