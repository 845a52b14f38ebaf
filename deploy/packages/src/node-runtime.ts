/**
 * Finds the Node that Perdure runs on. The package is installed and started by whatever Node the machine has; when that one is too old,
 * another is used: of `PERDURE_NODE`, of the package `node` in the same project, or of the cache, into which npm fetches it once.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { NODE_MAJOR_MIN } from "./limits.js";

export interface RuntimeSearch {
  readonly environment: NodeJS.ProcessEnv;
  readonly cache: string;
  /** The Node that the machine has: version without `v`, and its path. */
  readonly current: { readonly version: string; readonly path: string };
  readonly platform: string;
  readonly arch: string;
  /** The version that Perdure was tested with, which is fetched. */
  readonly fetchedVersion: string;
  /** Path of a file, beside which the package `node` is searched. */
  readonly besides: string;
  /** Installs one package of the registry into a folder. Throws when that fails. */
  readonly install: (specifier: string, folder: string) => void;
  readonly report: (line: string) => void;
}

/** Path of a Node that is new enough. Throws with what to do when there is none and none can be fetched. */
export function findNode(search: RuntimeSearch): string {
  const { environment, current } = search;
  const given = environment["PERDURE_NODE"];
  if (given !== undefined && given !== "") return given;
  if (majorOf(current.version) >= NODE_MAJOR_MIN) return current.path;
  return installedNode(search) ?? fetchedNode(search);
}

function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}

const executable = (platform: string): string => (platform === "win32" ? "node.exe" : "node");

/** The npm package `node`, which a project may have as a dependency. */
function installedNode({ besides, platform }: RuntimeSearch): string | undefined {
  const require = createRequire(besides);
  try {
    const manifest: unknown = require("node/package.json");
    const { version } = (manifest ?? {}) as { version?: unknown };
    if (typeof version !== "string" || majorOf(version) < NODE_MAJOR_MIN) return undefined;
    const path = join(dirname(require.resolve("node/package.json")), "bin", executable(platform));
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined; // The project has no such package.
  }
}

function fetchedNode(search: RuntimeSearch): string {
  const { cache, platform, arch, fetchedVersion, current, install, report } = search;
  const name = `node-${platform === "win32" ? "win" : platform}-${arch}`;
  const target = join(cache, `${name}-${fetchedVersion}`);
  const path = join(target, "node_modules", name, "bin", executable(platform));
  if (existsSync(path)) return path;
  report(
    `Perdure runs on Node ${NODE_MAJOR_MIN} or later, and this is Node ${current.version}. Fetching Node ${fetchedVersion} into ${target}, once …`,
  );
  const unfinished = `${target}.${process.pid}`;
  try {
    mkdirSync(unfinished, { recursive: true });
    install(`${name}@${fetchedVersion}`, unfinished);
    rmSync(target, { recursive: true, force: true });
    renameSync(unfinished, target);
  } catch (cause) {
    if (!existsSync(path)) throw new Error(adviceOn(search, cause), { cause });
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  if (!existsSync(path)) throw new Error(adviceOn(search, new Error(`the package ${name} has no ${path}`)));
  return path;
}

function adviceOn({ current, fetchedVersion }: RuntimeSearch, cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return [
    `Perdure needs Node ${NODE_MAJOR_MIN} or later; this is Node ${current.version}, and fetching Node ${fetchedVersion} failed: ${reason}`,
    `Install Node ${NODE_MAJOR_MIN}, add it to the project (npm install node@${fetchedVersion}), or name one in PERDURE_NODE.`,
  ].join("\n");
}

/** Installs through npm, which knows the registry, proxy and certificates of this machine. */
export function installWithNpm(specifier: string, folder: string): void {
  const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel=error"];
  const isWindows = process.platform === "win32";
  const { status, error, stderr } = spawnSync(
    isWindows ? "npm.cmd" : "npm",
    ["install", "--prefix", folder, ...flags, specifier],
    { cwd: folder, stdio: ["ignore", "ignore", "pipe"], encoding: "utf8", shell: isWindows },
  );
  if (error !== undefined) throw new Error(`npm cannot be started (${error.message})`);
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1) ?? `npm ended with exit code ${status}`);
}
