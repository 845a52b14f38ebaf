/**
 * A server that starts for the first time in a directory with files of other programs probably has a wrong `base-dir`, and begins without
 * the data that its operator expects. Nothing is harmed, because its data have a directory of their own, so it is a warning.
 */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Logger } from "@perdure/base";

/** Entries that are searched for data of other nodes. */
const ENTRIES_MAX = 1_000;
/** Names in the log line. */
const NAMED_MAX = 5;
/** Parts of a node's directory: other nodes may share a base directory. */
const OF_A_NODE = new Set(["db", "local-metadata-store"]);

/** `node`: the directory of this node, below the base directory. Called before it is made. */
export async function warnOfForeignFiles(node: string, logger: Logger): Promise<void> {
  if ((await namesIn(node)) !== undefined) return;
  const directory = dirname(node);
  const foreign: string[] = [];
  for (const name of ((await namesIn(directory)) ?? []).slice(0, ENTRIES_MAX)) {
    const below = await namesIn(join(directory, name));
    if (!name.startsWith(".") && below?.some((part) => OF_A_NODE.has(part)) !== true) foreign.push(name);
  }
  if (foreign.length === 0) return;
  logger.warn(
    { directory, entries: foreign.length, files: foreign.sort().slice(0, NAMED_MAX).join(", "), setting: "base-dir" },
    "no data of this server were found, and its base directory has other files; starting without data",
  );
}

/** Undefined when it is not a directory that can be read. */
async function namesIn(directory: string): Promise<readonly string[] | undefined> {
  try {
    return await readdir(directory);
  } catch {
    return undefined; // Opening the stores says what is wrong with it.
  }
}
