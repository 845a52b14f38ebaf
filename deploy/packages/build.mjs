/**
 * Packs what is published into `dist/packages`: `node deploy/packages/build.mjs`. The tree must have been built. `PLATFORMS=all` packs the
 * SQL engine of every platform (a release does), otherwise that of this machine. Nothing is published.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { stageClient } from "./client.mjs";
import { stagePerdure } from "./perdure.mjs";
import { ownPlatform, SQL_PLATFORMS, stageSql } from "./sql.mjs";
import { OUTPUT, readJson } from "./tree.mjs";

/** Packs a folder as npm publishes it; returns the path of the tarball. */
function packNpm(folder) {
  const { name, version } = readJson(join(folder, "package.json"));
  const packed = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", OUTPUT], { cwd: folder, encoding: "utf8" }),
  );
  const tarball = join(OUTPUT, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  const [{ filename }] = Array.isArray(packed) ? packed : Object.values(packed);
  const made = join(OUTPUT, filename.replace("@", "").replace("/", "-"));
  if (made !== tarball) renameSync(made, tarball);
  return tarball;
}

async function packNpmPackages() {
  const platforms = process.env.PLATFORMS === "all" ? SQL_PLATFORMS : (process.env.PLATFORMS || ownPlatform()).split(/[\s,]+/);
  const folders = [await stagePerdure(), await stageClient(), ...platforms.map(stageSql)];
  return folders.map(packNpm);
}

mkdirSync(OUTPUT, { recursive: true });
for (const file of readdirSync(OUTPUT)) if (file.endsWith(".tgz")) rmSync(join(OUTPUT, file));
for (const path of await packNpmPackages()) console.log(`${(statSync(path).size / 1e6).toFixed(1).padStart(6)} MB  ${path}`);
