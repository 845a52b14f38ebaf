/** Stands in for `@duckdb/node-bindings` in published packages: the same module, from the compressed package of this platform. */
const { dirname } = require("node:path");
const { cacheFolder } = require("./cache.ts");
const { addonOf, sqlPackageOf } = require("./sql-library.ts");

const { platform, arch } = process;
const isMusl = platform === "linux" && process.report.getReport().header.glibcVersionRuntime === undefined;
const name = sqlPackageOf(platform, arch, isMusl);
if (name === undefined) throw new Error(`There is no SQL engine for ${platform} on ${arch}.`);

let manifest;
try {
  // The name is computed, so bundlers leave both calls alone: the package is an optional dependency.
  manifest = require.resolve(`${name}/package.json`);
} catch (cause) {
  throw new Error(`The SQL engine is not installed: install the package ${name} beside 'perdure', in the same version.`, {
    cause,
  });
}
module.exports = require(addonOf(dirname(manifest), cacheFolder(process.env)));
