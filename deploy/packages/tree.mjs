/** What all packages share: places, versions, and files that every package contains. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../bundle.mjs";

export const OUTPUT = join(root, "dist/packages");
/** Folders of packages before they are packed. */
export const STAGE = join(OUTPUT, "stage");
export const HERE = join(root, "deploy/packages");
export const VERSION = readJson(join(root, "package.json")).version;
/** The Node that tests run with, as the lock file has it. */
export const NODE_VERSION = readJson(join(root, "node_modules/node/package.json")).version;
export const REPOSITORY = "https://github.com/perdure/perdure";

export function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** An empty folder for a package. */
export function emptyFolder(...path) {
  const folder = join(...path);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Writes `package.json`, README and licence. `manifest` has what is particular to the package; `readme` is a file of `deploy/packages/readme`. */
export function writePapers(folder, manifest, readme) {
  const { name, description, ...rest } = manifest;
  const all = {
    name,
    version: VERSION,
    description,
    license: "Apache-2.0",
    author: "The Perdure authors",
    homepage: "https://perdure.dev",
    repository: { type: "git", url: `git+${REPOSITORY}.git` },
    bugs: { url: `${REPOSITORY}/issues` },
    keywords: ["durable-execution", "workflows", "restate"],
    ...rest,
    // With provenance the registry records which workflow of the repository built the package.
    publishConfig: { access: "public", provenance: true },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(all, null, 2)}\n`);
  const text = readFileSync(join(HERE, "readme", readme), "utf8");
  writeFileSync(join(folder, "README.md"), text.replaceAll("{{name}}", name).replaceAll("{{version}}", VERSION));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
}

/**
 * An esbuild plugin: imports that match `filter` keep their names, because the package manager of the user installs them. Adds their modules to
 * `outside`, and the folder of each package to `homes`.
 */
export function keepDependencies(filter, outside, homes) {
  return {
    name: "keep-dependencies",
    setup(bundler) {
      bundler.onResolve({ filter }, async (args) => {
        if (args.pluginData === "resolving") return undefined;
        const { kind, importer, resolveDir } = args;
        const found = await bundler.resolve(args.path, { kind, importer, resolveDir, pluginData: "resolving" });
        if (found.errors.length > 0) return { errors: found.errors };
        outside.add(found.path);
        const [home] = new RegExp(`^.*/node_modules/${args.path}(?=/)`).exec(found.path) ?? [];
        homes.set(args.path, home);
        return { path: args.path, external: true };
      });
    },
  };
}
