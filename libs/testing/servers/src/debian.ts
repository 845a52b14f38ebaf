/**
 * Fetches servers that tests need and that a machine may not have installed. On Debian and its derivatives they are downloaded as packages
 * and unpacked into a cache: no root, nothing installed, the same version on every machine of one release.
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
  /** Value of `LD_LIBRARY_PATH`. */
  readonly libraryPath: string;
}

/** Names of packages, or how to find them: `search` resolves with the names that match a regular expression of apt's. */
export type PackageSelection =
  | readonly string[]
  | ((search: (pattern: string) => Promise<string[]>) => Promise<readonly string[]>);

/**
 * Packages and the libraries they need, unpacked under `<cache>/<name>`; downloaded when they are not there yet. Rejects when this
 * is not a Debian, or has no network and no cache.
 */
export async function unpackedPackages(name: string, selection: PackageSelection): Promise<Unpacked> {
  const root = join(cacheDirectory(), name);
  if (!existsSync(root)) await fetchInto(root, name, selection);
  return { root, libraryPath: (await libraryDirectories(root)).join(":") };
}

async function fetchInto(root: string, name: string, selection: PackageSelection): Promise<void> {
  await mkdir(cacheDirectory(), { recursive: true });
  const work = await mkdtemp(join(cacheDirectory(), "fetch-"));
  try {
    const debs = join(work, "debs");
    const unpacked = join(work, "root");
    await mkdir(debs);
    await mkdir(unpacked);
    await download(selection, debs, work);
    for (const deb of await readdir(debs)) await run("dpkg-deb", ["-x", join(debs, deb), unpacked], LIMITS);
    await rename(unpacked, root).catch((cause: NodeJS.ErrnoException) => {
      if (!existsSync(root)) throw cause; // Otherwise another process was faster, with the same packages.
    });
  } catch (cause) {
    throw new Error(`packages of ${name} cannot be fetched: install it, or run where apt-get can reach its mirror`, { cause });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Uses the machine's package lists; when those are empty or out of date, fresh ones of our own, which need no root. */
async function download(selection: PackageSelection, into: string, work: string): Promise<void> {
  const withLists = async (options: readonly string[]): Promise<void> => {
    const packages = typeof selection === "function" ? await selection((pattern) => searched(pattern, options)) : selection;
    const all = [...packages, ...(await librariesOf(packages, options))];
    await run("apt-get", [...options, "download", ...all], { ...LIMITS, cwd: into });
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

async function searched(pattern: string, options: readonly string[]): Promise<string[]> {
  const { stdout } = await run("apt-cache", [...options, "search", "--names-only", pattern], LIMITS);
  return [...stdout.matchAll(/^(\S+) - /gm)].map((match) => match[1] as string);
}

/** Libraries that the packages need, and those that these need in turn. */
async function librariesOf(packages: readonly string[], options: readonly string[]): Promise<string[]> {
  const only = [
    "--recurse",
    "--no-recommends",
    "--no-suggests",
    "--no-conflicts",
    "--no-breaks",
    "--no-replaces",
    "--no-enhances",
  ];
  const { stdout } = await run("apt-cache", [...options, "depends", ...only, ...packages], LIMITS);
  const libraries = new Set<string>();
  const next = [...packages];
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    for (const library of dependenciesIn(stdout, name)) {
      if (EVERYWHERE.test(library) || libraries.has(library)) continue;
      libraries.add(library);
      next.push(library);
    }
  }
  return [...libraries];
}

/** Each package begins a line, its dependencies follow indented; names in angle brackets are not packages. */
function dependenciesIn(listing: string, name: string): string[] {
  const lines = listing.split("\n");
  const start = lines.indexOf(name);
  const end = lines.findIndex((line, i) => i > start && !line.startsWith(" "));
  const own = start < 0 ? [] : lines.slice(start + 1, end < 0 ? undefined : end);
  return own.flatMap((line) => /^\s*\|?(?:Pre)?Depends: (lib[^\s<]+)$/.exec(line)?.[1] ?? []);
}

async function libraryDirectories(root: string): Promise<string[]> {
  const directories: string[] = [];
  for (const base of ["usr/lib", "lib"]) {
    const directory = join(root, base);
    if (!existsSync(directory)) continue;
    directories.push(directory);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory() && /-linux-/.test(entry.name)) directories.push(join(directory, entry.name));
    }
  }
  return directories;
}
