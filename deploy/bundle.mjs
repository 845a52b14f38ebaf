/**
 * Bundles one entry point, so that a process starts by reading a few files instead of hundreds. Native packages, and heavy ones that are
 * rarely needed, stay outside the bundle and are imported from their installation by a path relative to the bundle: the whole tree can be
 * moved or copied into an image. Each file is written as a whole or not at all, since the program may be started while it is bundled again.
 */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { NOTICES, noticesOf, shippedPackages } from "./notices.mjs";
import { SBOM, sbomOf } from "./sbom.mjs";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** Native addons (they load files beside themselves) and packages that cost more to bundle than they save. */
const LEFT_OUTSIDE =
  /^(classic-level|@node-rs\/(?:xxhash|argon2)|@duckdb\/node-(?:api|bindings)|@aws-sdk\/.*|apache-arrow|lz4-napi|grpc-health-check)$/;

/** Imports of outside packages become relative paths from the bundle, whichever workspace package declares them. */
function leaveOutside(outdir, outside) {
  return {
    name: "leave-outside",
    setup(bundler) {
      bundler.onResolve({ filter: LEFT_OUTSIDE }, async (args) => {
        if (args.pluginData === "resolving") return undefined;
        const found = await bundler.resolve(args.path, {
          kind: args.kind,
          importer: args.importer,
          resolveDir: args.resolveDir,
          pluginData: "resolving",
        });
        if (found.errors.length > 0) return { errors: found.errors };
        outside.add(found.path);
        const path = relative(outdir, found.path).split(sep).join("/");
        return { path: path.startsWith(".") ? path : `./${path}`, external: true };
      });
    },
  };
}

/**
 * Imports `node:http` as CommonJS would. When an ES module imports it, Node reads each of its exports, and some of them load undici: 15 % of the
 * time of a short command, for a client that nothing uses.
 */
const LAZY_HTTP = {
  name: "lazy-http",
  setup(bundler) {
    bundler.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === "import-statement" ? { path: "http", namespace: "builtin" } : undefined,
    );
    bundler.onLoad({ filter: /^http$/, namespace: "builtin" }, () => ({
      contents: 'module.exports = process.getBuiltinModule("node:http");',
      loader: "js",
    }));
  },
};

/** CommonJS packages in an ES module bundle still call `require`. */
const COMMONJS_BANNER = [
  'import { createRequire as perdureCreateRequire } from "node:module";',
  "const require = perdureCreateRequire(import.meta.url);",
].join(" ");

/**
 * Writes `<outdir>/<name>.mjs`, by default `main`, and what it imports lazily; resolves with the paths written, relative to the root. `others` are entry
 * points of processes that it starts, by name: each becomes `<outdir>/<name>.mjs`. `plugins` and `options`: of esbuild, besides and over ours. `keepOutside`
 * makes the plugin that keeps packages out of the bundle and adds their modules to a set. `isShipped`: others receive the bundle, so
 * `<outdir>/THIRD-PARTY-NOTICES` and a bill of materials of `program`, `<outdir>/sbom.cdx.json`, are written too; rejects when a package may not be shipped.
 */
export async function bundle(
  entry,
  outdir,
  {
    name = "main",
    program = programOf(entry),
    others = {},
    plugins = [],
    options = {},
    isShipped = false,
    keepOutside = leaveOutside,
  } = {},
) {
  const outside = new Set();
  const isForNode = (options.platform ?? "node") === "node";
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [{ in: entry, out: name }, ...Object.entries(others).map(([out, path]) => ({ in: path, out }))],
    outdir,
    bundle: true,
    splitting: true, // Lazily imported modules stay in files of their own, and are read only when they are needed.
    platform: "node",
    format: "esm",
    target: "node24",
    outExtension: { ".js": ".mjs" },
    chunkNames: "[name]-[hash]", // Beside main: the relative paths of what stays outside hold for all files.
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    keepNames: true,
    banner: { js: COMMONJS_BANNER },
    plugins: [...(isForNode ? [LAZY_HTTP] : []), keepOutside(outdir, outside), ...plugins],
    logLevel: "warning",
    metafile: true,
    write: false,
    ...options,
  });
  const packages = isShipped ? shippedPackages(carriedBy(metafile), outside) : [];
  const papers = isShipped ? { [NOTICES]: noticesOf(packages), [SBOM]: sbomOf(packages, program) } : {};
  await mkdir(outdir, { recursive: true });
  for (const [file, contents] of Object.entries(papers)) await put({ path: join(outdir, file), contents });
  // Entry points last, after the files that they import.
  const entries = new Set([name, ...Object.keys(others)].map((one) => `${one}.mjs`));
  const isEntry = ({ path }) => entries.has(basename(path));
  await Promise.all(outputFiles.filter((file) => !isEntry(file)).map(put));
  await Promise.all(outputFiles.filter(isEntry).map(put));
  return [...Object.keys(metafile.outputs), ...Object.keys(papers).map((file) => relative(root, join(outdir, file)))];
}

/** Name of the folder above `src`, which names the program. */
const programOf = (entry) => `perdure-${basename(dirname(dirname(resolve(root, entry))))}`;

/** Absolute paths of the files of which something is in the bundle; what was read and dropped is not. */
function carriedBy({ outputs }) {
  const carried = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return new Set(carried.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => resolve(root, path)));
}

async function put({ path, contents }) {
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}
