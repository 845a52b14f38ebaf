/**
 * The npm packages `@perdure/sql-<platform>`: the library of the SQL engine, compressed, for one platform each. `perdure` has all of them as
 * optional dependencies, and package managers install the one that fits.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { root } from "../bundle.mjs";
import { lockedDigests } from "../sbom.mjs";
import { emptyFolder, readJson, STAGE, writePapers } from "./tree.mjs";

/** As the packages of the engine name them. */
export const SQL_PLATFORMS = [
  "darwin-arm64",
  "darwin-x64",
  "linux-arm64",
  "linux-arm64-musl",
  "linux-x64",
  "linux-x64-musl",
  "win32-arm64",
  "win32-x64",
];

export const sqlPackage = (platform) => `@perdure/sql-${platform}`;

/**
 * 9 of 11: 19.0 MB instead of 70.5 for the library of Linux on x64, after 68 s of a busy processor (26 November 2026); 11 takes more than ten
 * times as long.
 */
const QUALITY = 9;
const WINDOW_BITS = 24;
const PARTS = /\.(?:node|so|dylib|dll)$/;

/** Of the machine that builds. */
export function ownPlatform() {
  const isMusl = process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime === undefined;
  return `${process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;
}

/** Folder of the package for one platform. */
export function stageSql(platform) {
  const folder = emptyFolder(STAGE, `sql-${platform}`);
  const engine = engineFolder(platform);
  const { os, cpu, libc } = readJson(join(engine, "package.json"));
  const contents = readdirSync(engine)
    .filter((file) => PARTS.test(file))
    .map((name) => {
      const bytes = readFileSync(join(engine, name));
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      writeFileSync(join(folder, `${name}.br`), compressed(bytes, sha256));
      return { name, sha256 };
    });
  writeFileSync(join(folder, "contents.json"), `${JSON.stringify(contents, null, 2)}\n`);
  cpSync(join(engine, "LICENSE"), join(folder, "LICENSE-DuckDB"));
  const manifest = {
    name: sqlPackage(platform),
    description: `The SQL engine of Perdure (DuckDB) for ${platform}, compressed.`,
    files: ["*.br", "contents.json", "LICENSE-DuckDB"],
    os,
    cpu,
    ...(libc === undefined ? {} : { libc }),
    exports: { "./package.json": "./package.json" },
  };
  writePapers(folder, manifest, "sql.md");
  return folder;
}

/** Compressing takes a minute, so the result is kept by the digest of the file. */
function compressed(bytes, sha256) {
  const kept = join(root, ".cache/compressed", `${sha256}.br`);
  if (existsSync(kept)) return readFileSync(kept);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const result = brotliCompressSync(bytes, { params });
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, result);
  return result;
}

/** Installed for this machine; fetched with npm, and compared with the lock file, for others. */
function engineFolder(platform) {
  const name = `@duckdb/node-bindings-${platform}`;
  const fromApi = createRequire(createRequire(join(root, "libs/engine/introspection/package.json")).resolve("@duckdb/node-api"));
  const bindings = fromApi.resolve("@duckdb/node-bindings/package.json");
  const installed = join(dirname(bindings), "..", `node-bindings-${platform}`);
  if (existsSync(installed)) return installed;
  const { version } = readJson(bindings);
  const kept = join(root, ".cache/sql-engines", `${platform}-${version}`);
  if (!existsSync(kept)) fetchPackage(name, version, kept);
  return kept;
}

function fetchPackage(name, version, target) {
  const folder = mkdtempSync(join(tmpdir(), "perdure-fetch-"));
  try {
    const [{ filename }] = JSON.parse(
      execFileSync("npm", ["pack", "--json", `${name}@${version}`], { cwd: folder, encoding: "utf8" }),
    );
    const file = join(folder, filename);
    const digest = createHash("sha512").update(readFileSync(file)).digest("hex");
    if (lockedDigests().get(`${name}@${version}`) !== digest)
      throw new Error(`${name} ${version} is not what the lock file names`);
    execFileSync("tar", ["-xzf", file, "-C", folder]);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(folder, "package"), target, { recursive: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
