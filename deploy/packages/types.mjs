/**
 * Declarations of a package: the compiler writes one for each source that the entries reach, and imports of our own packages, which cannot be
 * installed, become relative paths between these files.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { root } from "../bundle.mjs";
import { packageFolders } from "../workspace.mjs";
import { readJson } from "./tree.mjs";

const SPECIFIER = /(\bfrom\s+|\bimport\(\s*|\bimport\s+)"([^"]+)"/g;

/**
 * Writes `<name>.d.ts` for each entry and what they need below `types/`. Returns the packages of others that the declarations import; the package
 * must depend on them.
 */
export async function writeTypes(entries, folder) {
  const made = mkdtempSync(join(root, ".cache/types-"));
  try {
    compile(Object.values(entries), made);
    const written = new Map();
    const outside = new Set();
    for (const [name, entry] of Object.entries(entries)) {
      const start = declarationOf(relative(root, entry));
      follow(start, made, written, outside);
      const home = `types/${start}`.replace(/\.d\.ts$/, ".js");
      const text =
        Object.keys(entries).length === 1 && written.size === 1
          ? written.get(start)
          : `export * from "./${home.split(sep).join("/")}";\n`;
      writeFileSync(join(folder, `${name}.d.ts`), text);
    }
    if (written.size > 1) for (const [path, text] of written) put(join(folder, "types", path), text);
    return outside;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function compile(entries, outDir) {
  const config = join(outDir, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    stripInternal: true,
    outDir,
    rootDir: root,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    paths: sourcePaths(),
  };
  writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, files: entries }));
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", config], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
}

/** Source of each export of our packages: for imports that lead through `node_modules` the compiler writes no declarations. */
function sourcePaths() {
  const paths = {};
  for (const [name, folder] of packageFolders()) {
    const { exports = {} } = readJson(join(root, folder, "package.json"));
    for (const [path, source] of Object.entries(exports)) paths[name + path.slice(1)] = [join(root, folder, source)];
  }
  return paths;
}

const declarationOf = (source) => source.replace(/\.ts$/, ".d.ts");

/** Collects the declarations that `path` (relative to the root) reaches, with specifiers rewritten. */
function follow(path, made, written, outside) {
  if (written.has(path)) return;
  written.set(path, "");
  const text = readFileSync(join(made, path), "utf8").replaceAll(SPECIFIER, (whole, before, specifier) => {
    const target = targetOf(specifier, path);
    if (target === undefined) {
      if (!specifier.startsWith("node:")) outside.add(specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"));
      return whole;
    }
    follow(target, made, written, outside);
    const way = relative(dirname(path), target)
      .split(sep)
      .join("/")
      .replace(/\.d\.ts$/, ".js");
    return `${before}"${way.startsWith(".") ? way : `./${way}`}"`;
  });
  written.set(path, text);
}

/** Path of the declaration that `specifier` means in the file `from`, or undefined for a package of others. */
function targetOf(specifier, from) {
  if (specifier.startsWith(".")) return join(dirname(from), specifier).replace(/\.js$/, ".d.ts");
  if (!specifier.startsWith("@perdure/")) return undefined;
  const [scope, name, ...rest] = specifier.split("/");
  const folder = packageFolders().get(`${scope}/${name}`);
  const { exports } = readJson(join(root, folder, "package.json"));
  return declarationOf(join(folder, exports[["."].concat(rest).join("/")]));
}

function put(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

mkdirSync(join(root, ".cache"), { recursive: true });
if (!existsSync(join(root, "node_modules/typescript/bin/tsc"))) throw new Error("the compiler is not installed: run make build");
