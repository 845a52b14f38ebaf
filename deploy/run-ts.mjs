/**
 * Runs one TypeScript file of the tree: `node deploy/run-ts.mjs <file> [arguments]`. The file is bundled like a service, into a
 * folder that is removed afterwards. `--expose-gc` is on, so that measurements can start from a clean heap.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, root } from "./bundle.mjs";

/** Gives each file its original URL, by which it finds files beside it although it runs from another path. */
const urlsOfSources = {
  name: "urls-of-sources",
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/, namespace: "file" }, ({ path }) => {
      const contents = readFileSync(path, "utf8");
      if (!contents.includes("import.meta.url")) return undefined;
      return { contents: contents.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)), loader: "ts" };
    });
  },
};

const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node deploy/run-ts.mjs <file.ts> [arguments]");
  process.exit(2);
}
const outdir = mkdtempSync(join(root, "node_modules/.perdure-run-"));
process.on("exit", () => rmSync(outdir, { recursive: true, force: true }));
await bundle(resolve(file), outdir, { plugins: [urlsOfSources] });

const child = spawn(process.execPath, ["--enable-source-maps", "--expose-gc", join(outdir, "main.mjs"), ...args], {
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 0 : 1)));
