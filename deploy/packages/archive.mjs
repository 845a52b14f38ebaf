/**
 * The tarball for a platform: Node beside the package `perdure` with everything that it needs, so that nothing has to be installed or
 * fetched. It is built on the platform that it is for, from packages that the lock file names.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
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
  const { version } = readJson(join(wrapper, "package.json"));
  const program = join(wrapper, "bin/node");
  const built = execFileSync(program, ["--version"], { encoding: "utf8" }).trim();
  if (built !== `v${version}`) throw new Error(`${program} is ${built}, and its package has version ${version}`);
  mkdirSync(join(target, "bin"), { recursive: true });
  cpSync(program, join(target, "bin/node"));
  copyLicence(wrapper, `node-${process.platform}-${process.arch}`, version, join(target, "LICENSE"));
}

/** Only the package of the platform has the licence, and an installation from pnpm's cache leaves it out. */
function copyLicence(wrapper, name, version, target) {
  const installed = join(wrapper, "node_modules", name, "LICENSE");
  if (existsSync(installed)) return cpSync(installed, target);
  const folder = mkdtempSync(join(tmpdir(), "perdure-node-"));
  try {
    execFileSync("npm", ["pack", `${name}@${version}`, "--silent", "--pack-destination", folder], { stdio: "pipe" });
    execFileSync("tar", ["-xzf", join(folder, `${name}-${version}.tgz`), "-C", folder, "package/LICENSE"]);
    cpSync(join(folder, "package/LICENSE"), target);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Packs the folder; returns the path and the SHA-256 of the tarball. */
export function packArchive(folder) {
  const name = relative(STAGE, folder);
  const path = join(OUTPUT, `${name}.tar.gz`);
  const same = ["--sort=name", `--mtime=@${FILE_TIME}`, "--owner=0", "--group=0", "--numeric-owner", "--mode=go-w,a+rX"];
  execFileSync("tar", [...same, "-czf", path, "-C", STAGE, name]);
  return { path, sha256: createHash("sha256").update(readFileSync(path)).digest("hex") };
}
