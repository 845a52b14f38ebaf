/**
 * Builds Go programs from modules, at the versions and checksums of a `go.mod` and `go.sum` of this repository, into a cache. A large
 * program takes minutes, once; other processes that need it meanwhile wait for the one that builds it.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheDirectory } from "./debian.js";
import { BUILD_LINES_MAX, BUILD_LOCK_POLL_MS, BUILD_MS_MAX } from "./limits.js";

export interface GoPrograms {
  /** Program and version: the directory in the cache. */
  readonly name: string;
  /** Directory with `go.mod` and `go.sum`. */
  readonly modules: string;
  /** Further source files of this repository that are compiled too. */
  readonly sources?: readonly string[];
  /** Import paths of the programs; each file is called like the last part, without a major version. */
  readonly packages: readonly string[];
  readonly linkerFlags?: readonly string[];
}

/** Called for each Go package that was compiled, with the number of packages so far. */
export type OnPackageBuilt = (name: string, compiled: number) => void;

/** The directory with the programs. Rejects where there is no Go, or no cache and no proxy of modules. */
export async function builtPrograms(programs: GoPrograms, onPackage?: OnPackageBuilt): Promise<string> {
  const directory = join(cacheDirectory(), programs.name);
  if (existsSync(directory)) return directory;
  await mkdir(cacheDirectory(), { recursive: true });
  await using _lock = await lockOf(`${directory}.lock`);
  if (!existsSync(directory)) await buildInto(directory, programs, onPackage);
  return directory;
}

async function buildInto(directory: string, programs: GoPrograms, onPackage: OnPackageBuilt | undefined): Promise<void> {
  const { name, modules, packages, sources = [], linkerFlags = [] } = programs;
  const work = await mkdtemp(join(cacheDirectory(), "build-"));
  try {
    for (const file of ["go.mod", "go.sum", ...sources]) await copyFile(join(modules, file), join(work, file));
    const flags = ["-v", "-mod=readonly", "-trimpath", "-ldflags", ["-s", "-w", ...linkerFlags].join(" ")];
    // Low priority: other tests run beside it and have timeouts.
    const args = ["-n", "19", "go", "build", ...flags, "-o", `${join(work, "bin")}/`, ...packages];
    await run("nice", args, work, onPackage);
    await rename(join(work, "bin"), directory);
  } catch (cause) {
    throw new Error(`${name} cannot be built: this needs Go 1.26 and a proxy of modules it can reach`, { cause });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Rejects with the end of its output when it fails. */
async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  onPackage: OnPackageBuilt = () => undefined,
): Promise<void> {
  const env = { ...process.env, CGO_ENABLED: "0" };
  const child = spawn(program, args, { cwd, env, timeout: BUILD_MS_MAX, stdio: ["ignore", "ignore", "pipe"] });
  const lines: string[] = [];
  let compiled = 0;
  const listening = (async () => {
    for await (const line of createInterface({ input: child.stderr })) {
      lines.push(line);
      if (lines.length > BUILD_LINES_MAX) lines.shift();
      if (isPackage(line)) onPackage(line, ++compiled);
    }
  })();
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (...ending: [number | null, string | null]) => resolve(ending));
  });
  await listening;
  if (code !== 0) throw new Error(`${program} ended with ${code ?? signal}: ${lines.join("\n")}`);
}

/**
 * Whether a line of the output names a package. With `-v` go prints the import path of each package that it compiles, and "go: downloading
 * …" before.
 */
const isPackage = (line: string): boolean => !line.includes(" ") && !line.startsWith("#");

/** Held by one running process at a time; the lock of a process that has ended is taken over. */
async function lockOf(path: string): Promise<AsyncDisposable> {
  for (const deadline = performance.now() + BUILD_MS_MAX; ; await sleep(BUILD_LOCK_POLL_MS)) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    }
    if (!isAlive(holderOf(path))) await rm(path, { force: true });
    if (performance.now() > deadline) throw new Error(`${path} is held for more than ${BUILD_MS_MAX} ms`);
  }
}

/** Undefined when the lock was released, or is being written, at this moment. */
function holderOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, "utf8")) || undefined;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    return undefined;
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}
