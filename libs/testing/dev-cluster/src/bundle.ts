/**
 * Builds the executables that the suites run when they are older than the sources. The first test process builds; other processes wait for
 * it.
 */
import { execFile } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BUILD_MS_MAX } from "./limits.js";

/** The root of this tree, from the source of this module as well as from a bundle that contains it. */
export const ROOT = rootAbove(dirname(fileURLToPath(import.meta.url)));

function rootAbove(folder: string): string {
  if (existsSync(join(folder, "pnpm-workspace.yaml"))) return folder;
  if (folder === dirname(folder)) throw new Error("no folder above this module is the root of Perdure's sources");
  return rootAbove(dirname(folder));
}

/** Path of the main module of a program as it was built last; `folder` is relative to the root. */
export const builtBundle = (folder: string): string => join(ROOT, folder, "dist/main.mjs");
const CONSOLE = join(ROOT, "services/console");
const LOCK = join(ROOT, "node_modules/.perdure-build");
const NOT_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "testdata", "test", "bench"]);

/** Path of an executable `perdure`: PERDURE_CONFORMANCE_EXECUTABLE when set (another build or release), else that of this tree. */
export async function executable(): Promise<string> {
  const given = process.env["PERDURE_CONFORMANCE_EXECUTABLE"];
  if (given !== undefined && given !== "") return given;
  await programBundle("services/standalone");
  return join(ROOT, "perdure");
}

/** Folders of programs that were found fresh; each check reads the dates of thousands of files, and suites start many servers. */
const fresh = new Set<string>();

/** The same, of a program that is built first when its sources are newer. What changes after the first call is not built by this process. */
export async function programBundle(folder: string): Promise<string> {
  if (!fresh.has(folder) && !isBundleFresh(folder)) await buildAlone(folder);
  fresh.add(folder);
  return builtBundle(folder);
}

/**
 * Ensures that servers started afterwards serve the console built from the current sources; fast when nothing has changed. Another build
 * or release (PERDURE_CONFORMANCE_EXECUTABLE) has its own console.
 */
export async function builtConsole(): Promise<void> {
  if ((process.env["PERDURE_CONFORMANCE_EXECUTABLE"] ?? "") === "") await locked(() => build("console"));
}

function isBundleFresh(folder: string): boolean {
  const builtAt = modifiedAt(builtBundle(folder));
  if (builtAt === undefined) return false;
  return ["libs", "services", "proto", folder].every((sources) => newestSource(join(ROOT, sources)) < builtAt);
}

function newestSource(folder: string): number {
  let newest = 0;
  if (folder === CONSOLE) return newest; // No program contains it.
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) {
      if (!NOT_SOURCES.has(entry.name)) newest = Math.max(newest, newestSource(join(folder, entry.name)));
    } else if (entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts")) {
      newest = Math.max(newest, modifiedAt(join(folder, entry.name)) ?? 0);
    }
  }
  return newest;
}

function modifiedAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

async function buildAlone(folder: string): Promise<void> {
  await locked(async () => {
    if (!isBundleFresh(folder)) await build("programs");
  });
}

const build = (what: "programs" | "console") =>
  promisify(execFile)(process.execPath, [join(ROOT, "deploy/build.mjs"), what], { cwd: ROOT });

async function locked(work: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + BUILD_MS_MAX;
  while (!takeLock()) {
    if (Date.now() > deadline) throw new Error(`another process has been building for too long; if none is, remove ${LOCK}`);
    await delay(50);
  }
  try {
    await work();
  } finally {
    rmSync(LOCK, { force: true });
  }
}

function takeLock(): boolean {
  const acquiredAtMs = modifiedAt(LOCK);
  // A builder that was killed leaves its lock file behind.
  if (acquiredAtMs !== undefined && Date.now() - acquiredAtMs > BUILD_MS_MAX) rmSync(LOCK, { force: true });
  try {
    closeSync(openSync(LOCK, "wx"));
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    return false;
  }
}
