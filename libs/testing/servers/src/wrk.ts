/** The load generator of the benchmarks: wrk, which costs far less processor time than a caller in JavaScript. */
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";

/** From the PATH, else fetched into the cache. Rejects when there is none and it cannot be fetched. */
export async function wrkProgram(): Promise<InstalledProgram> {
  const path = onPath("wrk");
  return path === undefined ? fromPackages("wrk", ["wrk"], "usr/bin/wrk") : { path, env: {} };
}
