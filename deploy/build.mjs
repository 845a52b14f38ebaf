/**
 * Bundles every service that has a `src/main.ts` into `services/<name>/dist/main.mjs`, and each `src/<name>-thread.ts` beside it, the
 * entry point of a worker thread; arguments name some of the services.
 */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { bundle, root } from "./bundle.mjs";

async function bundleService(name) {
  const folder = join(root, "services", name);
  const outdir = join(folder, "dist");
  const threads = readdirSync(join(folder, "src")).filter((file) => file.endsWith("-thread.ts"));
  const entries = threads.map((file) => [basename(file, ".ts"), join(folder, "src", file)]);
  const written = await bundle(join(folder, "src/main.ts"), outdir, Object.fromEntries(entries));
  removeStale(outdir, new Set(written.map((path) => basename(path))));
}

const A_DAY_MS = 86_400_000;

/** Files of earlier builds stay for a day: a server that is running may still import one of them. */
function removeStale(outdir, current) {
  for (const entry of readdirSync(outdir, { withFileTypes: true })) {
    const path = join(outdir, entry.name);
    if (entry.isFile() && !current.has(entry.name) && Date.now() - statSync(path).mtimeMs > A_DAY_MS) rmSync(path);
  }
}

const asked = process.argv.slice(2);
const services = readdirSync(join(root, "services")).filter(
  (name) => existsSync(join(root, "services", name, "src/main.ts")) && (asked.length === 0 || asked.includes(name)),
);
const startedAt = performance.now();
await Promise.all(services.map(bundleService));
console.log(`bundled ${services.join(", ")} in ${Math.round(performance.now() - startedAt)} ms`);
