/** The load generator of the benchmarks: wrk, which costs far less processor time than a caller in JavaScript. */
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";

/** Returns `wrk` from the PATH, else from the cache after a download. Rejects when it cannot be downloaded. */
export async function wrkProgram(): Promise<InstalledProgram> {
  const path = onPath("wrk");
  return path === undefined ? fromPackages("wrk", ["wrk"], "usr/bin/wrk") : { path, env: {} };
}
