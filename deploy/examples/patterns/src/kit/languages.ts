/**
 * The endpoint in each language as a program. Those that are not in TypeScript are built into `${XDG_CACHE_HOME:-~/.cache}/perdure/examples`
 * whenever they are needed; the tools build only what has changed.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** It listens on 127.0.0.1 at `PORT`, and sends requests to `OUTSIDE_URL`. */
export interface EndpointProgram {
  readonly command: string;
  readonly args: readonly string[];
}

export const TYPESCRIPT: EndpointProgram = { command: process.execPath, args: [join(FOLDER, "src/main.ts")] };

/** Languages beside TypeScript, and how the program of each is built in a folder of the cache. */
const BUILDS = { python: buildPython, go: buildGo, java: buildJava } as const;
export type Language = keyof typeof BUILDS;
export const LANGUAGES: readonly Language[] = ["python", "go", "java"];

/** Builds the endpoint in a language. Rejects with the output of the tool that failed or is missing. */
export async function endpointIn(language: Language): Promise<EndpointProgram> {
  const output = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "perdure/examples", language);
  mkdirSync(output, { recursive: true });
  return BUILDS[language](join(FOLDER, language), output);
}

async function buildPython(sources: string, output: string): Promise<EndpointProgram> {
  if (!existsSync(join(output, "bin/python"))) await run("python3", ["-m", "venv", output], sources);
  await run(join(output, "bin/pip"), ["install", "--quiet", "--requirement", "requirements.txt"], sources);
  // No byte code beside the sources.
  return { command: join(output, "bin/python"), args: ["-B", join(sources, "main.py")] };
}

async function buildGo(sources: string, output: string): Promise<EndpointProgram> {
  const program = join(output, "endpoint");
  await run("go", ["build", "-buildvcs=false", "-o", program, "."], sources);
  return { command: program, args: [] };
}

async function buildJava(sources: string, output: string): Promise<EndpointProgram> {
  const target = join(output, "target");
  await run("mvn", ["--quiet", "--batch-mode", `-Dbuild.folder=${target}`, "process-classes"], sources);
  return { command: "java", args: ["-cp", `${target}/classes:${target}/lib/*`, "dev.perdure.patterns.Main"] };
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  await promisify(execFile)(command, args, { cwd, maxBuffer: 16 * 1024 * 1024 });
}
