/**
 * Builds the console (`services/console/dist`) when its sources have changed since the last build. Bundling programs takes a moment and
 * building the console some seconds, so a developer who changes programs only need not wait for it.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./bundle.mjs";
import { NOTICES, noticesOf, shippedPackages } from "./notices.mjs";
import { SBOM, sbomOf } from "./sbom.mjs";
import { packageFolders } from "./workspace.mjs";

const HOME = join(root, "services/console");
/** Digest of the sources of the last build; in the folder for files that can be created again. */
const STAMP = join(root, ".cache/console-sources");
const NOT_SOURCES = new Set(["node_modules", "dist", "test", "testdata", "testing", "bench"]);

/** Resolves with whether it had to be built. */
export async function buildConsole() {
  const sources = digestOfSources();
  const isThere = ["index.html", NOTICES, SBOM].every((file) => existsSync(join(HOME, "dist", file)));
  if (isThere && existsSync(STAMP) && readFileSync(STAMP, "utf8") === sources) return false;
  // Vite is a dependency of the console, and its manifest has the path of its command.
  const manifest = createRequire(join(HOME, "package.json")).resolve("vite/package.json");
  const vite = join(dirname(manifest), JSON.parse(readFileSync(manifest, "utf8")).bin.vite);
  mkdirSync(dirname(STAMP), { recursive: true });
  const made = join(root, `.cache/console-${process.pid}`);
  const modules = `${made}-modules`;
  try {
    const options = ["--outDir", made, "--emptyOutDir", "--logLevel", "error"];
    // The build may run inside a test and must still be the production build.
    const env = { ...process.env, NODE_ENV: "production", PERDURE_CONSOLE_MODULES: modules };
    await promisify(execFile)(process.execPath, [vite, "build", ...options], { cwd: HOME, env });
    const packages = shippedPackages(readFileSync(modules, "utf8").split("\n"), []);
    writeFileSync(join(made, NOTICES), noticesOf(packages));
    writeFileSync(join(made, SBOM), sbomOf(packages, "perdure-console"));
    publish(made);
  } finally {
    for (const path of [made, modules]) rmSync(path, { recursive: true, force: true });
  }
  writeFileSync(STAMP, sources);
  return true;
}

/** A program that starts meanwhile finds a complete console, the last one or this. */
function publish(made) {
  const dist = join(HOME, "dist");
  const last = `${made}-last`;
  if (existsSync(dist)) renameSync(dist, last);
  renameSync(made, dist);
  rmSync(last, { recursive: true, force: true });
}

/**
 * Digest of everything that the console is built from: its own files, our libraries below it, the pages of errors, and the versions of
 * third-party packages.
 */
function digestOfSources() {
  const hash = createHash("sha256");
  const feed = (path) =>
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(root, path)))
      .update("\0");
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) NOT_SOURCES.has(entry.name) || walk(path);
      else if (entry.isFile() && !/\.test\.tsx?$/.test(entry.name)) feed(path);
    }
  };
  for (const folder of packagesBelow("services/console")) walk(folder);
  walk("docs/errors");
  feed("pnpm-lock.yaml");
  return hash.digest("hex");
}

/** The folders of a package and of our packages that it depends on. */
const folderOf = packageFolders();

function packagesBelow(folder, found = new Set()) {
  if (found.has(folder)) return found;
  found.add(folder);
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  for (const [name, range] of Object.entries(dependencies)) {
    if (range.startsWith("workspace:")) packagesBelow(folderOf.get(name), found);
  }
  return found;
}
