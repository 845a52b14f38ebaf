/** Detects how to start the service of a folder, from the files in it: package.json, go.mod, Cargo.toml … */
import { existsSync, opendirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { jvmStart } from "./languages/jvm.js";
import { pythonStart } from "./languages/python.js";
import { GO, ofProgram, RUST } from "./languages/reload.js";
import { denoStart, managerOf, manifestIn, ofScriptRunner, packageStart } from "./languages/scripts.js";
import { type Has, type ReadFile, type StartCommand, startCommand } from "./languages/start-command.js";
import { ENTRIES_MAX, GO_FILES_MAX } from "./limits.js";

/** Entries of a new repository before it has content. */
const NOTHING: ReadonlySet<string> = new Set([
  ".git",
  ".gitignore",
  ".perdure",
  ".DS_Store",
  ".idea",
  ".vscode",
  "README.md",
  "LICENSE",
]);

export const isEmptyFolder = (folder: string): boolean => contentOf(folder) === undefined;

/** Name of one entry that a new repository does not have; undefined when the folder has no project yet. */
export function contentOf(folder: string): string | undefined {
  const entries = opendirSync(folder);
  try {
    let name = "";
    for (let entryCount = 0; entryCount < ENTRIES_MAX; entryCount++) {
      const entry = entries.readSync();
      if (entry === null) return undefined;
      name = entry.name;
      if (!NOTHING.has(name)) return name;
    }
    return name;
  } finally {
    entries.closeSync();
  }
}

/** Returns the command that starts the project in this folder; undefined when no file shows it. */
export function startOf(folder: string): StartCommand | undefined {
  const { has, read } = filesOf(folder);
  return (
    packageStart(has, read) ??
    denoStart(has, read) ??
    pythonStart(has) ??
    goStart(folder, has) ??
    (has("Cargo.toml") ? startCommand("cargo", ["run"], "Cargo.toml", true, RUST) : jvmStart(has, read))
  );
}

/** The command that the user gave; the files of the folder say whether it has to be restarted after changes. */
export function startGiven(folder: string, command: string, args: readonly string[]): StartCommand {
  const { has, read } = filesOf(folder);
  const scripts = ofScriptRunner(args, has, read);
  return startCommand(command, args, "the command given", true, scripts.length > 0 ? scripts : ofProgram(command, args));
}

function filesOf(folder: string): { readonly has: Has; readonly read: ReadFile } {
  return { has: (path) => existsSync(join(folder, path)), read: (path) => readFileSync(join(folder, path), "utf8") };
}

/** The program may be in any file of the folder, or in a folder of `cmd` when that has only one. */
function goStart(folder: string, has: Has): StartCommand | undefined {
  if (!has("go.mod")) return undefined;
  if (has("main.go") || hasGoProgram(folder)) return startCommand("go", ["run", "."], "go.mod", true, GO);
  const programs = has("cmd") ? readdirSync(join(folder, "cmd")).filter((name) => has(join("cmd", name, "main.go"))) : [];
  const [only] = programs;
  return only === undefined || programs.length > 1
    ? undefined
    : startCommand("go", ["run", `./cmd/${only}`], `cmd/${only}/main.go`, true, GO);
}

function hasGoProgram(folder: string): boolean {
  const files = readdirSync(folder).filter((name) => name.endsWith(".go") && !name.endsWith("_test.go"));
  return files.slice(0, GO_FILES_MAX).some((name) => /^package main$/m.test(readFileSync(join(folder, name), "utf8")));
}

export type Install = Pick<StartCommand, "command" | "args">;

/** Returns the command that installs the packages of the project in this folder; undefined when it has none, or they are installed. */
export function installOf(folder: string): Install | undefined {
  const { has, read } = filesOf(folder);
  const manifest = has("package.json") ? manifestIn(read("package.json")) : undefined;
  const named = Object.keys({ ...manifest?.dependencies, ...manifest?.devDependencies });
  if (named.length === 0 || hasPackages(folder)) return undefined;
  const command = managerOf(has);
  return {
    command,
    args: command === "npm" ? ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"] : ["install"],
  };
}

/** Packages of a workspace are in a parent folder. */
function hasPackages(folder: string): boolean {
  const parent = dirname(folder);
  return existsSync(join(folder, "node_modules")) || (parent !== folder && hasPackages(parent));
}

/** The command as a user types it. */
export const startText = ({ command, args }: Pick<StartCommand, "command" | "args">): string => [command, ...args].join(" ");
