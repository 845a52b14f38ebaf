/**
 * Why: tests need servers that a machine may not have installed. On Debian and its kin they are fetched as packages and unpacked
 * into a cache of ours: no root, nothing installed, the same version for everybody of one release.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { DOWNLOAD_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";

const run = promisify(execFile);
const LIMITS = { timeout: DOWNLOAD_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };

/** Libraries that every Debian has; unpacking another C library beside the present one breaks programs. */
const EVERYWHERE = /^(libc6|libgcc-s1|libstdc\+\+6|libcrypt1)$/;

export function cacheDirectory(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "perdure");
}

/** Packages unpacked in one directory, as a file system of their own. */
export interface Unpacked {
  readonly root: string;
  /** For `LD_LIBRARY_PATH`. */
  readonly libraryPath: string;
}

/**
 * Packages and the libraries they name, unpacked under `<cache>/<name>`; downloaded when they are not there yet. Rejects when this
 * is no Debian, or has no network and no cache.
 */
export async function unpackedPackages(name: string, packages: readonly string[]): Promise<Unpacked> {
  const root = join(cacheDirectory(), name);
  if (!existsSync(root)) await fetchInto(root, packages);
  return { root, libraryPath: (await libraryDirectories(root)).join(":") };
}

async function fetchInto(root: string, packages: readonly string[]): Promise<void> {
  await mkdir(cacheDirectory(), { recursive: true });
  const work = await mkdtemp(join(cacheDirectory(), "fetch-"));
  try {
    const debs = join(work, "debs");
    const unpacked = join(work, "root");
    await mkdir(debs);
    await mkdir(unpacked);
    await download(packages, debs, work);
    for (const deb of await readdir(debs)) await run("dpkg-deb", ["-x", join(debs, deb), unpacked], LIMITS);
    await rename(unpacked, root).catch((cause: NodeJS.ErrnoException) => {
      if (!existsSync(root)) throw cause; // Else somebody else was faster, with the same packages.
    });
  } catch (cause) {
    throw new Error(`${packages.join(", ")} cannot be fetched: install them, or run where apt-get can reach its mirror`, {
      cause,
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** With the machine's package lists; with fresh ones of our own, which need no root, when those are empty or out of date. */
async function download(packages: readonly string[], into: string, work: string): Promise<void> {
  const withLists = async (options: readonly string[]): Promise<void> => {
    const wanted = new Set(packages);
    for (const each of packages) for (const library of await librariesOf(each, options)) wanted.add(library);
    await run("apt-get", [...options, "download", ...wanted], { ...LIMITS, cwd: into });
  };
  try {
    await withLists([]);
  } catch {
    const options = [`-oDir::State::Lists=${work}/lists`, `-oDir::Cache=${work}/cache`, "-oAPT::Sandbox::User="];
    await mkdir(join(work, "lists", "partial"), { recursive: true });
    await mkdir(join(work, "cache", "archives", "partial"), { recursive: true });
    await run("apt-get", [...options, "update"], LIMITS);
    await withLists(options);
  }
}

async function librariesOf(name: string, options: readonly string[]): Promise<string[]> {
  const { stdout } = await run("apt-cache", [...options, "depends", name], LIMITS);
  return [...stdout.matchAll(/^\s*(?:Pre)?Depends: (lib[^\s<]+)$/gm)]
    .map((match) => match[1] as string)
    .filter((library) => !EVERYWHERE.test(library));
}

async function libraryDirectories(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const base of ["usr/lib", "lib"]) {
    const directory = join(root, base);
    if (!existsSync(directory)) continue;
    found.push(directory);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory() && /-linux-/.test(entry.name)) found.push(join(directory, entry.name));
    }
  }
  return found;
}
