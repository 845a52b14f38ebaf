/** Measures logs on disk. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { SPARE } from "./commit-log/commit-log.js";

/** Size of the logs in the directory, and of the file that the commit log uses next; 0 when it does not exist. */
export async function logBytesIn(directory: string): Promise<number> {
  const names = await readdir(directory).catch(missing([]));
  const logs = names.filter((name) => name.endsWith(".log") || name === SPARE);
  const sizes = await Promise.all(logs.map((name) => stat(join(directory, name)).then(({ size }) => size, missing(0))));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** Logs are replaced at any time. */
function missing<T>(instead: T): (cause: NodeJS.ErrnoException) => T {
  return (cause) => {
    if (cause.code === "ENOENT") return instead;
    throw cause;
  };
}
