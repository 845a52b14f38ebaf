/** Detects how to start the service of a folder, from the files in it: package.json, go.mod, Cargo.toml … */
import { existsSync, opendirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { ENTRIES_MAX } from "./limits.js";

export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The file and entry that determined the command, as text for the user. */
  readonly because: string;
  /** Whether the file states the command; otherwise it is only the usual one, and is shown as advice instead of run. */
  readonly isCertain: boolean;
  /** Extensions of source files that require a restart after a change (`.py`); empty when the command reloads by itself, or may. */
  readonly restartsOn: readonly string[];
}

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

const texts = z.record(z.string(), z.string()).default({});
const packageShape = z.looseObject({
  scripts: texts,
  tasks: z.record(z.string(), z.unknown()).default({}),
  dependencies: texts,
  devDependencies: texts,
});

/** Returns the command that starts the project in this folder; undefined when no file shows it. */
export function startOf(folder: string): StartCommand | undefined {
  const has: Has = (name) => existsSync(join(folder, name));
  if (has("package.json")) {
    const script = scriptIn(readFileSync(join(folder, "package.json"), "utf8"));
    if (script !== undefined) return { ...runScript(script, has), isCertain: true, restartsOn: [] };
  }
  const deno = ["deno.json", "deno.jsonc"].find(has);
  if (deno !== undefined) {
    const script = scriptIn(readFileSync(join(folder, deno), "utf8"), "tasks");
    if (script !== undefined) return start("deno", ["task", script.name], `task '${script.name}' of ${deno}`, true, []);
  }
  if (has("__main__.py") && has("pyproject.toml"))
    return start("uv", ["run", "."], "pyproject.toml and __main__.py", true, PYTHON);
  const python = ["main.py", "app.py", "service.py", "example.py", "src/main.py", "src/app.py"].find(has);
  if (python !== undefined) {
    if (has("uv.lock") || has("pyproject.toml"))
      return start("uv", ["run", python], `${has("uv.lock") ? "uv.lock" : "pyproject.toml"} and ${python}`, true, PYTHON);
    return start("python3", [python], python, has("requirements.txt"), PYTHON);
  }
  if (has("go.mod") && has("main.go")) return start("go", ["run", "."], "go.mod", true, [".go"]);
  if (has("Cargo.toml")) return start("cargo", ["run"], "Cargo.toml", true, [".rs"]);
  const gradle = ["build.gradle.kts", "build.gradle"].find(has);
  if (gradle !== undefined) return start(has("gradlew") ? "./gradlew" : "gradle", ["run", "--console=plain"], gradle, false, JVM);
  if (has("pom.xml")) return start(has("mvnw") ? "./mvnw" : "mvn", ["-q", "compile", "exec:java"], "pom.xml", false, JVM);
  return undefined;
}

const PYTHON = [".py"];
const JVM = [".java", ".kt"];

function start(
  command: string,
  args: readonly string[],
  because: string,
  isCertain: boolean,
  restartsOn: readonly string[],
): StartCommand {
  return { command, args, because, isCertain, restartsOn };
}

/** `dev` before `start`; undefined when the file has neither or is not a package.json. */
function scriptIn(text: string, field: "scripts" | "tasks" = "scripts"): { name: string } | undefined {
  const scripts = packageIn(text)?.[field];
  const name = ["dev", "start"].find((script) => scripts?.[script] !== undefined);
  return name === undefined ? undefined : { name };
}

function packageIn(text: string): z.infer<typeof packageShape> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
  const parsed = packageShape.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

type Has = (file: string) => boolean;

/** The package manager whose lock file is there. */
function managerOf(has: Has): "npm" | "pnpm" | "yarn" | "bun" {
  if (has("pnpm-lock.yaml")) return "pnpm";
  if (has("yarn.lock")) return "yarn";
  return has("bun.lock") || has("bun.lockb") ? "bun" : "npm";
}

function runScript({ name }: { name: string }, has: Has): Omit<StartCommand, "isCertain" | "restartsOn"> {
  const manager = managerOf(has);
  return {
    command: manager,
    args: manager === "npm" ? ["run", "--silent", name] : ["run", name],
    because: `script '${name}' of package.json`,
  };
}

export type Install = Pick<StartCommand, "command" | "args">;

/** Returns the command that installs the packages of the project in this folder; undefined when it has none, or they are installed. */
export function installOf(folder: string): Install | undefined {
  const has: Has = (name) => existsSync(join(folder, name));
  const manifest = has("package.json") ? packageIn(readFileSync(join(folder, "package.json"), "utf8")) : undefined;
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
