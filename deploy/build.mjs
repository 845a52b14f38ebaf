/**
 * Bundles every service that has a `src/main.ts` into `services/<name>/dist/main.mjs`, and each `src/<name>-process.ts` and `src/<name>-thread.ts` beside it, the
 * entry points of processes and threads that the service starts; so too the programs of `deploy` that are made of our packages, and the console, which is not a program.
 * Arguments name some of them; `programs` are all but the console.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { bundle, root } from "./bundle.mjs";
import { buildConsole } from "./console.mjs";

/** Programs of users import it, too, as `dist/index.mjs`. It must share the SDK with them: the SDK recognises its own objects only. */
const LIBRARY = "test-environment";

async function bundleProgram({ name, folder }) {
  const outdir = join(folder, "dist");
  const processes = readdirSync(join(folder, "src")).filter((file) => /-(?:process|thread)\.ts$/.test(file));
  const entries = processes.map((file) => [basename(file, ".ts"), join(folder, "src", file)]);
  if (name === LIBRARY) entries.push(["index", join(folder, "src/index.ts")]);
  const options = name === LIBRARY ? { external: ["@restatedev/*"] } : {};
  const written = await bundle(join(folder, "src/main.ts"), outdir, {
    others: Object.fromEntries(entries),
    options,
    isShipped: true,
  });
  removeStale(outdir, new Set(written.map((path) => basename(path))));
  if (name === "cli") copyErrorPages(join(outdir, "errors"));
}

/** The pages that `perdure errors CODE` prints. */
function copyErrorPages(target) {
  mkdirSync(target, { recursive: true });
  const pages = join(root, "docs/errors");
  for (const file of readdirSync(pages)) if (/^[A-Z]+\d+\.md$/.test(file)) copyFileSync(join(pages, file), join(target, file));
}

const A_DAY_MS = 86_400_000;

/** Files of earlier builds stay for a day: a running server may still import one of them. */
function removeStale(outdir, current) {
  for (const entry of readdirSync(outdir, { withFileTypes: true })) {
    const path = join(outdir, entry.name);
    if (entry.isFile() && !current.has(entry.name) && Date.now() - statSync(path).mtimeMs > A_DAY_MS) rmSync(path);
  }
}

const asked = process.argv.slice(2);
const programs = [...readdirSync(join(root, "services")).map((name) => join("services", name)), "deploy/cloud", "deploy/cluster"]
  .map((path) => ({ name: basename(path), folder: join(root, path) }))
  .filter(
    ({ name, folder }) =>
      existsSync(join(folder, "src/main.ts")) && (asked.length === 0 || asked.includes("programs") || asked.includes(name)),
  );
const startedAt = performance.now();
const wantsConsole = asked.length === 0 || asked.includes("console");
// A console that cannot be built fails the build, when all else is done.
const results = await Promise.allSettled([wantsConsole && buildConsole(), ...programs.map(bundleProgram)]);
for (const result of results) if (result.status === "rejected") throw result.reason;
const isNew = results[0].value;
const names = [...programs.map(({ name }) => name), ...(isNew ? ["console"] : [])];
console.log(`bundled ${names.join(", ") || "nothing new"} in ${Math.round(performance.now() - startedAt)} ms`);
