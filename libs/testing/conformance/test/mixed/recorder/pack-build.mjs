/**
 * How `testdata/before-0.1.0.br` was made, from a tree of ba929c1 that was built in a clean checkout:
 *
 *     node libs/testing/conformance/test/mixed/recorder/pack-build.mjs <tree> <file>
 *
 * JSON from path to text, compressed: the bundles of the roles of a cluster, without source maps. When a version is released, its build takes the
 * place of the file.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const ROLES = ["registry", "admin-api", "invoker-worker", "ingress-gateway"];

const [tree = ".", file = "build.br"] = process.argv.slice(2);
const files = {};
for (const role of ROLES) {
  const folder = join(tree, "services", role, "dist");
  for (const name of readdirSync(folder).sort())
    if (name.endsWith(".mjs")) files[`${role}/${name}`] = readFileSync(join(folder, name), "utf8");
}
const text = JSON.stringify(files);
const params = {
  [constants.BROTLI_PARAM_QUALITY]: 11,
  [constants.BROTLI_PARAM_LGWIN]: 24,
  [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
};
const packed = brotliCompressSync(text, { params });
writeFileSync(file, packed);
console.log(`${Object.keys(files).length} files, ${text.length} bytes, packed ${packed.length}`);
