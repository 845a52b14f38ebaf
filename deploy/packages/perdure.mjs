/**
 * The npm package `perdure`: every program in one folder, so that they share the code they have in common, the console beside them, a launcher
 * that starts one by name, and the library entry. Packages with native addons are dependencies, and the SQL engine is one for each platform.
 */
import { chmodSync, cpSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { PROGRAMS } from "@perdure/cli/programs";
import { build } from "esbuild";
import { bundle, root } from "../bundle.mjs";
import { NOTICES } from "../notices.mjs";
import { SBOM } from "../sbom.mjs";
import { SQL_PLATFORMS, sqlPackage } from "./sql.mjs";
import { emptyFolder, HERE, keepDependencies, NODE_VERSION, readJson, STAGE, VERSION, writePapers } from "./tree.mjs";
import { writeTypes } from "./types.mjs";

/** Packages with native addons, which load files beside themselves. Everything else is in the bundle. */
const DEPENDENCIES = /^(?:classic-level|@node-rs\/(?:xxhash|argon2)|lz4-napi)$/;
const SQL_BINDINGS = /^@duckdb\/node-bindings$/;

/** Processes and threads that programs start, by the name under which they expect them beside themselves. */
const PROCESSES = {
  "sql-process": "services/standalone/src/sql-process.ts",
  "sql-store-thread": "services/standalone/src/sql-store-thread.ts",
  "shard-thread": "services/standalone/src/shard-thread.ts",
  "cluster-sql-process": "services/admin-api/src/cluster-sql-process.ts",
};

/** Resolves with the folder of the package, and the folders of the packages that stay outside by their names. */
export async function stagePerdure() {
  const folder = emptyFolder(STAGE, "perdure");
  const homes = await bundlePrograms(join(folder, "dist/programs"));
  const dependencies = Object.fromEntries([...homes].map(([name, home]) => [name, readJson(join(home, "package.json")).version]));
  for (const file of [NOTICES, SBOM]) renameSync(join(folder, "dist/programs", file), join(folder, file));
  copyConsole(folder);
  copyHealthMessages(join(folder, "proto"));
  copyErrorPages(join(folder, "dist/programs/errors"));
  await bundleEntry("launcher.ts", join(folder, "bin/perdure.mjs"));
  chmodSync(join(folder, "bin/perdure.mjs"), 0o755);
  await bundleEntry("start-server.ts", join(folder, "index.mjs"));
  await writeTypes({ index: join(HERE, "src/start-server.ts") }, folder);
  writePapers(folder, manifestOf(dependencies), "perdure.md");
  return { folder, dependencies: homes };
}

function manifestOf(dependencies) {
  return {
    name: "perdure",
    description: "Durable execution: a server, its command line and every role of a cluster. Try `npx perdure dev`.",
    type: "module",
    bin: { perdure: "bin/perdure.mjs" },
    types: "./index.d.ts",
    exports: { ".": { types: "./index.d.ts", default: "./index.mjs" }, "./package.json": "./package.json" },
    files: ["bin", "dist", "console", "proto", "index.mjs", "index.d.ts", "types", NOTICES, SBOM],
    engines: { node: ">=20" },
    dependencies,
    optionalDependencies: Object.fromEntries(SQL_PLATFORMS.map((platform) => [sqlPackage(platform), VERSION])),
  };
}

/** Resolves with the packages that stay outside, and the folder of each, which has the version of the lock file. */
async function bundlePrograms(outdir) {
  const entries = Object.entries(PROGRAMS).map(([name, { service }]) => [name, `services/${service}/src/main.ts`]);
  const others = Object.fromEntries([...entries.slice(1), ["cli", "services/cli/src/main.ts"], ...Object.entries(PROCESSES)]);
  const [[name, entry]] = entries;
  const homes = new Map();
  await bundle(entry, outdir, {
    name,
    program: "perdure",
    others: Object.fromEntries(Object.entries(others).map(([out, path]) => [out, join(root, path)])),
    isShipped: true,
    keepOutside: (_, outside) => keepDependencies(DEPENDENCIES, outside, homes),
    plugins: [compressedSqlEngine()],
    // A bundled package that reads a file beside itself (the messages of health checks) finds it at the same relative path.
    options: { sourcemap: false, minifyWhitespace: true, define: { __dirname: "import.meta.dirname" } },
  });
  return new Map([...homes].sort());
}

function compressedSqlEngine() {
  return {
    name: "compressed-sql-engine",
    setup(bundler) {
      bundler.onResolve({ filter: SQL_BINDINGS }, () => ({ path: join(HERE, "src/duckdb-bindings.cjs") }));
    },
  };
}

/** A file without dependencies that every supported Node can load. */
async function bundleEntry(entry, outfile) {
  await build({
    absWorkingDir: root,
    entryPoints: [join(HERE, "src", entry)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    define: { PERDURE_NODE_VERSION: JSON.stringify(NODE_VERSION) },
    logLevel: "warning",
  });
}

function copyConsole(folder) {
  const console = join(root, "services/console/dist");
  // The papers of the console stay: its packages are others than those of the programs.
  cpSync(console, join(folder, "console/dist"), { recursive: true, filter: (path) => !path.endsWith(".map") });
}

function copyHealthMessages(target) {
  const { resolve } = createRequire(join(root, "libs/platform/cluster-kit/package.json"));
  cpSync(join(dirname(resolve("grpc-health-check/package.json")), "proto"), target, { recursive: true });
}

function copyErrorPages(target) {
  const pages = join(root, "docs/errors");
  cpSync(pages, target, { recursive: true, filter: (path) => path === pages || /^[A-Z]+\d+\.md$/.test(basename(path)) });
}
