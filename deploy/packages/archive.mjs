/**
 * The tarball for a platform: Node beside the package `perdure` with everything that it needs, so that nothing has to be installed or
 * fetched. It is built on the platform that it is for, from packages that the lock file names.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { root } from "../bundle.mjs";
import { packPackage } from "../images/pack.mjs";
import { ownPlatform, sqlPackage } from "./sql.mjs";
import { emptyFolder, HERE, OUTPUT, readJson, STAGE, VERSION } from "./tree.mjs";

/** Platforms whose tarballs can be built: `packPackage` leaves out what others than Linux with glibc need. */
export const ARCHIVE_PLATFORMS = ["linux-x64", "linux-arm64"];

/** The same sources give the same bytes: files have this time unless `SOURCE_DATE_EPOCH` names another. */
const FILE_TIME = process.env.SOURCE_DATE_EPOCH || "1767225600";

/** Folder of the unpacked tarball. `perdure` and `sql` are folders of npm packages, `dependencies` those of packages that stay outside. */
export function stageArchive(perdure, dependencies, sql) {
  const folder = emptyFolder(STAGE, `perdure-${VERSION}-${ownPlatform()}`);
  const modules = join(folder, "lib/perdure/node_modules");
  cpSync(perdure, join(folder, "lib/perdure"), { recursive: true });
  cpSync(sql, join(modules, sqlPackage(ownPlatform())), { recursive: true });
  const packed = new Set();
  for (const [name, home] of dependencies) {
    packPackage(home, process.arch, join(folder, "lib/perdure"), packed);
    const link = join(modules, name);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link))
      symlinkSync(relative(dirname(link), join(folder, "lib/perdure", relative(root, realpathSync(home)))), link);
  }
  copyNode(join(folder, "lib/node"));
  mkdirSync(join(folder, "bin"));
  cpSync(join(HERE, "archive/perdure.sh"), join(folder, "bin/perdure"));
  chmodSync(join(folder, "bin/perdure"), 0o755);
  for (const file of ["LICENSE", "README.md"]) cpSync(join(perdure, file), join(folder, file));
  return folder;
}

/** The Node that tests run with, and its licence, which covers what is compiled into it. */
function copyNode(target) {
  const wrapper = realpathSync(join(root, "node_modules/node"));
  const name = `node-${process.platform}-${process.arch}`;
  const manifest = createRequire(join(wrapper, "package.json")).resolve(`${name}/package.json`);
  if (readJson(manifest).version !== readJson(join(wrapper, "package.json")).version)
    throw new Error(`${manifest} has another version than the package node`);
  mkdirSync(join(target, "bin"), { recursive: true });
  cpSync(join(wrapper, "bin/node"), join(target, "bin/node"));
  cpSync(join(dirname(manifest), "LICENSE"), join(target, "LICENSE"));
}

/** Packs the folder; returns the path and the SHA-256 of the tarball. */
export function packArchive(folder) {
  const name = relative(STAGE, folder);
  const path = join(OUTPUT, `${name}.tar.gz`);
  const same = ["--sort=name", `--mtime=@${FILE_TIME}`, "--owner=0", "--group=0", "--numeric-owner", "--mode=go-w,a+rX"];
  execFileSync("tar", [...same, "-czf", path, "-C", STAGE, name]);
  return { path, sha256: createHash("sha256").update(readFileSync(path)).digest("hex") };
}
