/** Finds the program of a server: on the PATH, else in the cache, else it is fetched into the cache; the search is the same for all. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { unpackedPackages } from "./debian.js";

/** Path of a program and its environment variables. */
export interface InstalledProgram {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The program as the PATH finds it. The name is kept: a program with several names behaves by the one it was called by. */
export function onPath(name: string): string | undefined {
  for (const directory of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(directory, name);
    if (directory !== "" && existsSync(path)) return path;
  }
  return undefined;
}

/** Unpacks the packages and finds the program among their files. */
export async function fromPackages(name: string, packages: readonly string[], path: string): Promise<InstalledProgram> {
  const { root, libraryPath } = await unpackedPackages(name, packages);
  const ours = process.env["LD_LIBRARY_PATH"];
  return {
    path: join(root, path),
    env: { LD_LIBRARY_PATH: ours === undefined || ours === "" ? libraryPath : `${libraryPath}:${ours}` },
  };
}
