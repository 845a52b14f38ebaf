/**
 * Extensions of the files whose change restarts a service, by the command that starts it. A command that watches files itself is not
 * restarted: it would start twice.
 */
import { basename } from "node:path";

export const PYTHON = [".py"];
export const GO = [".go"];
export const RUST = [".rs"];
export const JVM = [".java", ".kt"];
const TYPESCRIPT = [".ts", ".mts", ".cts", ".tsx"];
const JAVASCRIPT = [...TYPESCRIPT, ".js", ".mjs", ".cjs", ".jsx"];

/** Flags and programs that watch the sources. */
const WATCHES =
  /(?:^|[\s/:"'])(?:--watch\S*|--hot|--reload|-w|watch|quarkus:dev|quarkusDev|nodemon|ts-node-dev|tsnd|node-dev|next|nuxt|vite|vite-node|astro|wrangler|vercel|netlify|turbo|nx|cargo-watch|air|watchexec|watchfiles|entr)(?=$|[\s"'])/;
/** A script that compiles writes JavaScript, whose change must not restart it again. */
const COMPILES = /(?:^|[\s/:"'])(?:tsc|swc|esbuild|tsup|rollup|webpack|build)(?=$|[\s"':])/;
/** What another tool compiles is not changed by a change of a source file. */
const IS_COMPILED = /(?:^|\s)(?:\.\/)?(?:dist|build|out|lib)\//;

export const watchesFiles = (text: string): boolean => WATCHES.test(text);

/** Of a shell command that runs JavaScript or TypeScript, such as a script of package.json. */
export function ofScript(text: string): readonly string[] {
  if (watchesFiles(text)) return [];
  if (COMPILES.test(text)) return TYPESCRIPT;
  return IS_COMPILED.test(text) ? [] : JAVASCRIPT;
}

const BY_PROGRAM: Readonly<Record<string, readonly string[]>> = {
  uv: PYTHON,
  poetry: PYTHON,
  hypercorn: PYTHON,
  uvicorn: PYTHON,
  go: GO,
  cargo: RUST,
  mvn: JVM,
  mvnw: JVM,
  gradle: JVM,
  gradlew: JVM,
};
const JAVASCRIPT_RUNTIMES: ReadonlySet<string> = new Set(["node", "tsx", "ts-node", "deno", "bun"]);

/** Of a command that the user gave; empty for programs whose sources are not known. Runners of scripts, such as npm, are not among them. */
export function ofProgram(command: string, args: readonly string[]): readonly string[] {
  const program = basename(command);
  const text = [program, ...args].join(" ");
  if (watchesFiles(text)) return [];
  if (/^python[\d.]*$/.test(program)) return PYTHON;
  return JAVASCRIPT_RUNTIMES.has(program) ? ofScript(text) : (BY_PROGRAM[program] ?? []);
}
