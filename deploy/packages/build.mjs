/**
 * Packs what is published into `dist/packages`: `node deploy/packages/build.mjs`. The tree must have been built. `PLATFORMS=all` packs the
 * SQL engine of every platform (a release does), otherwise that of this machine. On Linux the tarball for the platform, a Debian package and
 * a Homebrew formula follow. Nothing is published.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ARCHIVE_PLATFORMS, packArchive, stageArchive } from "./archive.mjs";
import { stageClient } from "./client.mjs";
import { canPackDebian, packDebian } from "./debian.mjs";
import { writeFormula } from "./homebrew.mjs";
import { stagePerdure } from "./perdure.mjs";
import { ownPlatform, SQL_PLATFORMS, stageSql } from "./sql.mjs";
import { stageTesting } from "./testing.mjs";
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

/** Files that `make packages` makes, and those of earlier builds. */
const MADE = /\.(?:tgz|tar\.gz|deb|rb)$/;

async function packAll() {
  const platforms = process.env.PLATFORMS === "all" ? SQL_PLATFORMS : (process.env.PLATFORMS || ownPlatform()).split(/[\s,]+/);
  const perdure = await stagePerdure();
  const libraries = [await stageClient(), await stageTesting()];
  const engines = new Map(platforms.map((platform) => [platform, stageSql(platform)]));
  const made = [perdure.folder, ...libraries, ...engines.values()].map(packNpm);
  const engine = engines.get(ownPlatform());
  if (engine === undefined || !ARCHIVE_PLATFORMS.includes(ownPlatform())) return made;
  const folder = stageArchive(perdure.folder, perdure.dependencies, engine);
  const archive = packArchive(folder);
  const debian = canPackDebian() ? [packDebian(folder)] : [];
  return [...made, archive.path, ...debian, writeFormula([archive])];
}

mkdirSync(OUTPUT, { recursive: true });
for (const file of readdirSync(OUTPUT)) if (MADE.test(file)) rmSync(join(OUTPUT, file));
for (const path of await packAll()) console.log(`${(statSync(path).size / 1e6).toFixed(1).padStart(6)} MB  ${path}`);
