/**
 * The library of the SQL engine is some 70 MB, which few processes load, so its packages contain it compressed. The first process that runs a
 * statement expands it into the cache; later processes load it from there.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

/** The module of the engine; its shared library is a file beside it. */
const ADDON = "duckdb.node";
const CONTENTS = "contents.json";
/** Several times the largest library, so that a damaged file cannot fill the memory. */
const EXPANDED_BYTES_MAX = 512 * 1024 * 1024;

interface LibraryFile {
  readonly name: string;
  /** SHA-256 of the expanded file, in hexadecimal digits. */
  readonly sha256: string;
}

/** Path of the engine's module for the package in `folder`. Expands the package into `cache` unless it contains plain files or was expanded before. */
export function addonOf(folder: string, cache: string): string {
  const plain = join(folder, ADDON);
  if (existsSync(plain)) return plain;
  const files = readContents(join(folder, CONTENTS));
  const digest = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
  const target = join(cache, `sql-${digest}`);
  if (!existsSync(target)) expand(folder, files, target);
  return join(target, ADDON);
}

/** The folder appears under its name when it is complete, so processes that expand it at the same time do not disturb each other. */
function expand(folder: string, files: readonly LibraryFile[], target: string): void {
  const unfinished = `${target}.${randomUUID()}`;
  try {
    mkdirSync(unfinished, { recursive: true, mode: 0o700 });
    for (const { name, sha256 } of files) {
      const bytes = brotliDecompressSync(readFileSync(join(folder, `${name}.br`)), { maxOutputLength: EXPANDED_BYTES_MAX });
      if (createHash("sha256").update(bytes).digest("hex") !== sha256)
        throw new Error(`${join(folder, name)}.br is damaged: install the package again`);
      writeFileSync(join(unfinished, name), bytes, { mode: 0o600 });
    }
    renameSync(unfinished, target);
  } catch (cause) {
    if (existsSync(target)) return; // Another process was faster.
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The SQL engine cannot be unpacked into ${target}: ${reason}. XDG_CACHE_HOME names another directory.`, {
      cause,
    });
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function readContents(path: string): readonly LibraryFile[] {
  const contents: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(contents)) throw new Error(`${path} is not a list of files`);
  return contents.map((entry: unknown) => {
    const { name, sha256 } = (entry ?? {}) as { name?: unknown; sha256?: unknown };
    // A plain name: files are written nowhere else.
    if (typeof name !== "string" || typeof sha256 !== "string" || !/^[\w.-]+$/.test(name) || name.startsWith("."))
      throw new Error(`${path} names a file that cannot be unpacked`);
    return { name, sha256 };
  });
}

/** Name of the package with the engine for a platform, or undefined when there is none. */
export function sqlPackageOf(platform: string, arch: string, isMusl: boolean): string | undefined {
  if (!["linux", "darwin", "win32"].includes(platform) || !["x64", "arm64"].includes(arch)) return undefined;
  return `@perdure/sql-${platform}-${arch}${platform === "linux" && isMusl ? "-musl" : ""}`;
}
