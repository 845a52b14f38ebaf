import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { addonOf, sqlPackageOf } from "./sql-library.js";

let folder: string;
let cache: string;
beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), "perdure-sql-"));
  folder = join(home, "package");
  cache = join(home, "cache");
  mkdirSync(folder);
});
afterEach(() => rmSync(dirname(folder), { recursive: true, force: true }));

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A compressed package; `sha256` of the contents is that of `claimed`. */
function aPackage(files: Readonly<Record<string, string>>, claimed = files): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
  const contents = Object.entries(claimed).map(([name, text]) => ({ name, sha256: digest(text) }));
  writeFileSync(join(folder, "contents.json"), JSON.stringify(contents));
}

describe("the library of the SQL engine", () => {
  test("is unpacked once, with every file of the package", () => {
    aPackage({ "duckdb.node": "module", "libduckdb.so": "library" });
    const path = addonOf(folder, cache);
    expect(readFileSync(path, "utf8")).toBe("module");
    expect(readFileSync(join(dirname(path), "libduckdb.so"), "utf8")).toBe("library");
    rmSync(join(folder, "libduckdb.so.br")); // The second time nothing is unpacked.
    expect(addonOf(folder, cache)).toBe(path);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  test("of another version is unpacked beside it", () => {
    aPackage({ "duckdb.node": "one" });
    const first = addonOf(folder, cache);
    aPackage({ "duckdb.node": "two" });
    expect(readFileSync(addonOf(folder, cache), "utf8")).toBe("two");
    expect(readFileSync(first, "utf8")).toBe("one");
  });

  test("that is not compressed is used where it is", () => {
    writeFileSync(join(folder, "duckdb.node"), "module");
    expect(addonOf(folder, cache)).toBe(join(folder, "duckdb.node"));
    expect(existsSync(cache)).toBe(false);
  });

  test("that is damaged is refused, and nothing of it stays in the cache", () => {
    aPackage({ "duckdb.node": "changed" }, { "duckdb.node": "module" });
    expect(() => addonOf(folder, cache)).toThrow(/cannot be unpacked.*is damaged: install the package again.*XDG_CACHE_HOME/s);
    expect(readdirSync(cache)).toEqual([]);
  });

  test.each(["../duckdb.node", ".hidden", "a/b", ""])("with the file name '%s' is refused", (name) => {
    writeFileSync(join(folder, "contents.json"), JSON.stringify([{ name, sha256: digest("") }]));
    expect(() => addonOf(folder, cache)).toThrow("names a file that cannot be unpacked");
  });

  test("with contents that are not a list is refused", () => {
    writeFileSync(join(folder, "contents.json"), "{}");
    expect(() => addonOf(folder, cache)).toThrow("is not a list of files");
  });
});

test("the package of a platform has the name of system, processor and C library", () => {
  expect(sqlPackageOf("linux", "x64", false)).toBe("@perdure/sql-linux-x64");
  expect(sqlPackageOf("linux", "arm64", true)).toBe("@perdure/sql-linux-arm64-musl");
  expect(sqlPackageOf("darwin", "arm64", false)).toBe("@perdure/sql-darwin-arm64");
  expect(sqlPackageOf("freebsd", "x64", false)).toBeUndefined();
  expect(sqlPackageOf("linux", "riscv64", false)).toBeUndefined();
});
