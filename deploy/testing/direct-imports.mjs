/**
 * Rewrites imports to the defining files. A suite that needs one function of a package would load every module that the package's index
 * exports: 95 modules per suite on average instead of 32. After swc has compiled a module, its imports name the files that define what is
 * imported. Otherwise the tests run the same code.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import swc from "@swc/jest";
import { packageFolders } from "../workspace.mjs";

const root = join(import.meta.dirname, "../..");

/** Folder and exports of every package of the workspace, by name. */
const packages = new Map(
  [...packageFolders()].map(([name, path]) => {
    const folder = join(root, path);
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return [name, { folder, exports: exports ?? {} }];
  }),
);

const IMPORT = /^(import|export) \{([^}]*)\} from (["'])([^"']+)\3;$/gm;
const LOCAL = /^export (?:abstract |async )?(?:const|let|function\*?|class|enum) ([\w$]+)/gm;
const NAMED = /^export \{([^}]*)\} from "([^"]+)";$/gm;
const STAR = /^export \* from "([^"]+)";$/gm;

/** The TypeScript file that `specifier` names in the file at `from`; undefined for packages from outside. */
function fileOf(from, specifier) {
  if (specifier.startsWith(".")) return existing(resolve(dirname(from), specifier));
  const [, name, below] = /^(@perdure\/[^/]+)(\/.+)?$/.exec(specifier) ?? [];
  const found = packages.get(name);
  const target = found?.exports[`.${below ?? ""}`];
  return typeof target === "string" ? existing(join(found.folder, target)) : undefined;
}

function existing(path) {
  const source = path.replace(/\.js$/, ".ts");
  return source.endsWith(".ts") && existsSync(source) ? source : undefined;
}

/** Names of `{ a, type B, c as d }` that are values, as `[name there, name here]`. */
function namesOf(list) {
  return list
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "" && !one.startsWith("type "))
    .map((one) => one.split(" as "))
    .map(([there, here = there]) => [there, here]);
}

const known = new Map();

/** The exports of the file at `path`: its own names, those it re-exports by name, and files that it re-exports as a whole. */
function exportsOf(path) {
  const before = known.get(path);
  if (before !== undefined) return before;
  const source = readFileSync(path, "utf8");
  const named = new Map();
  for (const [, list, specifier] of source.matchAll(NAMED)) {
    for (const [there, here] of namesOf(list)) named.set(here, { specifier, there });
  }
  const found = {
    local: new Set([...source.matchAll(LOCAL)].map(([, name]) => name)),
    named,
    stars: [...source.matchAll(STAR)].map(([, specifier]) => specifier),
  };
  known.set(path, found);
  return found;
}

/** The file that defines `name` of the module at `path`, and its name there; undefined when the text does not show it. */
function definitionOf(path, name) {
  const { local, named, stars } = exportsOf(path);
  if (local.has(name)) return { path, name };
  const passed = named.get(name);
  if (passed !== undefined) {
    const next = fileOf(path, passed.specifier);
    return next === undefined ? undefined : definitionOf(next, passed.there);
  }
  for (const specifier of stars) {
    const next = fileOf(path, specifier);
    const found = next === undefined ? undefined : definitionOf(next, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `code` with imports that name the defining files; on the same lines, as source maps count lines. */
export function withDirectImports(code, filename) {
  return code.replaceAll(IMPORT, (statement, keyword, list, _quote, specifier) => {
    const target = fileOf(filename, specifier);
    if (target === undefined) return statement;
    const names = namesOf(list).map(([there, here]) => ({ there, here, found: definitionOf(target, there) }));
    if (names.every(({ found }) => found === undefined || found.path === target)) return statement;
    return names
      .map(({ there, here, found }) => {
        const path = found === undefined ? specifier : specifierOf(filename, found.path);
        return `${keyword} { ${found?.name ?? there} as ${here} } from "${path}";`;
      })
      .join(" ");
  });
}

function specifierOf(from, path) {
  const way = relative(dirname(from), path).replace(/\.ts$/, ".js");
  return way.startsWith(".") ? way : `./${way}`;
}

let computedKey;

/**
 * Compiled code depends on other files' exports, too: their names are part of the key of Jest's cache. Jest makes a transformer for each
 * suite; reading every source of the tree once more for each was a tenth of the processor time of a small suite.
 */
function keyOfExports() {
  computedKey ??= computeKeyOfExports();
  return computedKey;
}

function computeKeyOfExports() {
  const hash = createHash("sha256").update(readFileSync(import.meta.filename));
  for (const { folder, exports } of packages.values()) {
    for (const path of [...sourcesBelow(join(folder, "src")), ...sourcesBelow(join(folder, "test"))]) {
      const { local, named, stars } = exportsOf(path);
      hash.update(JSON.stringify([path, [...local], [...named], stars]));
    }
    hash.update(JSON.stringify(exports));
  }
  return hash.digest("hex");
}

function direct(compiled, filename) {
  return { ...compiled, code: withDirectImports(compiled.code, filename) };
}

function sourcesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => join(folder, name));
}

export default {
  createTransformer(options) {
    const compiler = swc.createTransformer(options);
    const key = keyOfExports();
    return {
      ...compiler,
      process: (source, filename, given) => direct(compiler.process(source, filename, given), filename),
      getCacheKey: (...given) => `${compiler.getCacheKey(...given)}${key}`,
    };
  },
};
