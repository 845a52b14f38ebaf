/** JavaScript and TypeScript: scripts of package.json, tasks of Deno. */
import { z } from "zod";
import { ofScript } from "./reload.js";
import { type Has, type ReadFile, type StartCommand, startCommand } from "./start-command.js";

const texts = z.record(z.string(), z.string()).default({});
const task = z.union([z.string(), z.looseObject({ command: z.string().optional() }).transform(({ command }) => command ?? "")]);
const manifestShape = z.looseObject({
  scripts: texts,
  tasks: z.record(z.string(), task).default({}),
  dependencies: texts,
  devDependencies: texts,
});
type ProjectManifest = z.infer<typeof manifestShape>;
type Scripts = Readonly<Record<string, string>>;

/** In the order of preference. */
const NAMES = ["dev", "start"];
/** Scripts that run scripts are followed so deep. */
const DEPTH_MAX = 3;
const DENO_MAIN = "main.ts";

export function packageStart(has: Has, read: ReadFile): StartCommand | undefined {
  if (!has("package.json")) return undefined;
  const scripts = manifestIn(read("package.json"))?.scripts;
  const name = NAMES.find((script) => scripts?.[script] !== undefined);
  if (scripts === undefined || name === undefined) return undefined;
  const manager = managerOf(has);
  const args = manager === "npm" ? ["run", "--silent", name] : ["run", name];
  return startCommand(manager, args, `script '${name}' of package.json`, true, ofScript(textOf(scripts, name)));
}

export function denoStart(has: Has, read: ReadFile): StartCommand | undefined {
  const file = ["deno.json", "deno.jsonc"].find(has);
  if (file === undefined) return undefined;
  const tasks = manifestIn(withoutComments(read(file)))?.tasks;
  const name = NAMES.find((one) => tasks?.[one] !== undefined);
  if (tasks !== undefined && name !== undefined)
    return startCommand("deno", ["task", name], `task '${name}' of ${file}`, true, ofScript(textOf(tasks, name)));
  if (!has(DENO_MAIN)) return undefined;
  const args = ["run", "--allow-net", "--allow-env", "--watch", DENO_MAIN];
  return startCommand("deno", args, `${file} and ${DENO_MAIN}`, true, []);
}

/** Extensions that restart a runner of scripts which the user gave as a command; empty when it runs none of the project's scripts. */
export function ofScriptRunner(args: readonly string[], has: Has, read: ReadFile): readonly string[] {
  const file = ["package.json", "deno.json", "deno.jsonc"].find(has);
  const manifest = file === undefined ? undefined : manifestIn(withoutComments(read(file)));
  const scripts = { ...manifest?.tasks, ...manifest?.scripts };
  const name = args.find((arg) => scripts[arg] !== undefined);
  return name === undefined ? [] : ofScript(textOf(scripts, name));
}

/** Text of a script, with the texts of the scripts that it runs by `npm run`, `deno task` and the like. */
function textOf(scripts: Scripts, name: string, depth = 0): string {
  const text = scripts[name] ?? "";
  if (depth === DEPTH_MAX) return text;
  const inner = [...text.matchAll(/(?:npm|pnpm|yarn|bun|deno)\s+(?:run\s+|task\s+)?(?:-\S+\s+)*([\w:.-]+)/g)];
  return [text, ...inner.map(([, script]) => textOf(scripts, script ?? "", depth + 1))].join(" ");
}

/** Undefined when the text is not JSON, or not that of a manifest. */
export function manifestIn(text: string): ProjectManifest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
  const parsed = manifestShape.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** JSON with comments and commas before closing brackets (JSONC) as JSON. Strings are left as they are. */
function withoutComments(text: string): string {
  const string = '("(?:\\\\.|[^"\\\\])*")';
  return text
    .replace(new RegExp(`${string}|//[^\\n]*|/\\*[\\s\\S]*?\\*/`, "g"), (_match, kept: string | undefined) => kept ?? "")
    .replace(new RegExp(`${string}|,(?=\\s*[}\\]])`, "g"), (_match, kept: string | undefined) => kept ?? "");
}

/** The package manager whose lock file is there. */
export function managerOf(has: Has): "npm" | "pnpm" | "yarn" | "bun" {
  if (has("pnpm-lock.yaml")) return "pnpm";
  if (has("yarn.lock")) return "yarn";
  return has("bun.lock") || has("bun.lockb") ? "bun" : "npm";
}
