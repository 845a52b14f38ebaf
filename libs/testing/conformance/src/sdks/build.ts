/**
 * Builds endpoints once per change of their sources and caches them, because a first build can take minutes. Builds run one at a time and
 * at low priority, because the machine is shared with other work.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, setPriority } from "node:os";
import { join, relative } from "node:path";
import type { BuildStep, SdkLanguage, Tool } from "./language.js";
import { BUILD_STEP_MS, LAST_LINES } from "./limits.js";

const LOW_PRIORITY = 10;
/** Files that tools leave in the sources when they are run there manually. */
const LEFTOVERS = /^(target|venv)\/|__pycache__/;

/** The tool that is missing here for building the language; undefined when all are installed. */
export async function missingTool({ tools }: SdkLanguage): Promise<string | undefined> {
  for (const tool of tools) {
    const version = await versionOf(tool);
    const [major, minor] = tool.since;
    if (version === undefined) return `${tool.command} is not installed`;
    if (version.major < major || (version.major === major && version.minor < minor))
      return `${tool.command} is ${version.major}.${version.minor}, and ${major}.${minor} is needed`;
  }
  return undefined;
}

async function versionOf({ command, versionArgs }: Tool): Promise<{ major: number; minor: number } | undefined> {
  const outcome = await run({ command, args: versionArgs }, process.cwd());
  if (outcome.code !== 0) return undefined;
  return versionIn(outcome.output);
}

/** The first version that a text names: `Python 3.11.7`, `go version go1.26.8 linux/amd64`, `javac 17.0.15`. */
export function versionIn(text: string): { major: number; minor: number } | undefined {
  const match = /(\d+)\.(\d+)/.exec(text);
  if (match === null) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]) };
}

export interface Built {
  /** Directory to start the endpoint in. */
  readonly output: string;
  readonly wasCached: boolean;
}

/** Program to build: an endpoint of a language, or another program that a tool compiles from a folder. */
export type Buildable = Pick<SdkLanguage, "sources" | "build"> & { readonly name: string };

/** Rejects with the last lines of the tool that failed. */
export async function build(language: Buildable): Promise<Built> {
  const output = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "perdure/sdks", language.name);
  const stamp = join(output, "sources.sha256");
  const sources = digestOf(language.sources, JSON.stringify(language.build(output)));
  if (readIfPresent(stamp) === sources) return { output, wasCached: true };

  mkdirSync(output, { recursive: true });
  rmSync(stamp, { force: true }); // A partial build must not look complete.
  for (const step of language.build(output)) {
    const outcome = await run(step, language.sources);
    if (outcome.code !== 0) {
      const lastLines = outcome.output.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
      throw new Error(`${step.command} ${step.args.join(" ")} ended with ${outcome.code}:\n${lastLines}`);
    }
  }
  writeFileSync(stamp, sources);
  return { output, wasCached: false };
}

/** Digest of the build steps and of all files below a folder, names included. */
function digestOf(folder: string, steps: string): string {
  const hash = createHash("sha256").update(`${steps}\0`);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !LEFTOVERS.test(relative(folder, file)))
    .sort();
  for (const file of files)
    hash
      .update(`${relative(folder, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  return hash.digest("hex");
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    return undefined;
  }
}

/** `code` is null when the program could not be started or was ended by the timeout. */
function run(step: BuildStep, cwd: string): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(step.command, step.args, {
      cwd,
      env: { ...process.env, ...step.env },
      stdio: ["ignore", "pipe", "pipe"],
      signal: AbortSignal.timeout(BUILD_STEP_MS), // Unlike that of the option `timeout`, its timer does not keep the process alive.
    });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.once("spawn", () => {
      if (child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY);
    });
    child.once("error", (cause) => resolve({ code: null, output: String(cause) }));
    child.once("close", (code) => resolve({ code, output: Buffer.concat(chunks).toString("utf8") }));
  });
}
