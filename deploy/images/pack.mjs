/**
 * Copies what each image needs, and nothing else, out of a tree that is installed and built: the bundle, the console where it is served, and
 * the packages that stay outside of the bundle with what those need in turn. Relative paths stay, so bundles find them. Native packages
 * are those of the architecture that the images are for; the tree must have been installed for it too.
 *
 *     node deploy/images/pack.mjs amd64|arm64 DIRECTORY     writes DIRECTORY/<image>/ for all images, and DIRECTORY/empty/
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, root } from "../bundle.mjs";
import { NOTICES } from "../notices.mjs";
import { SBOM } from "../sbom.mjs";

/** Images by their name in the operator and the charts, without `perdure-`, with the name of the bundle. */
export const IMAGES = {
  server: "standalone",
  worker: "invoker-worker",
  registry: "registry",
  gateway: "ingress-gateway",
  admin: "admin-api",
  tenancy: "tenancy",
  "cloud-gateway": "cloud-gateway",
  "tunnel-relay": "tunnel-relay",
  "tunnel-client": "tunnel-client",
  operator: "operator",
  cli: "cli",
};

/** Examples whose images the guides use, with the entry point that is bundled for each. */
export const EXAMPLES = { "example-greeter": "deploy/examples/greeter/src/main.ts" };

/** Images whose programs serve the console from the folder beside them. */
export const WITH_CONSOLE = ["server", "admin", "tenancy"];
const CONSOLE = "services/console/dist";

/** Architectures as Node and the package registries name them. */
const CPUS = { amd64: "x64", arm64: "arm64" };
/** The C library of the base image. */
const LIBC = "glibc";
/** Files that are not read at run time. */
const LEFT_OUT = /\.(?:map|[cm]?ts|tsbuildinfo)$|^(?:README|CHANGELOG)\.md$/i;

export async function pack(arch, target) {
  checkNode(process.version);
  const cpu = CPUS[arch];
  if (cpu === undefined) throw new Error(`images are for ${Object.keys(CPUS).join(" or ")}, not for '${arch}'`);
  for (const [image, service] of Object.entries(IMAGES)) packOne(service, cpu, join(target, image));
  packErrorPages(join(target, "cli"));
  for (const image of WITH_CONSOLE) packConsole(join(target, image));
  for (const [image, entry] of Object.entries(EXAMPLES)) {
    const dist = join(target, image, "dist");
    for (const path of await bundle(entry, dist, { isShipped: true })) if (LEFT_OUT.test(path)) rmSync(resolve(root, path));
    copyFile(join(root, "LICENSE"), join(target, image));
  }
  mkdirSync(join(target, "empty"), { recursive: true });
}

/** The base image is named by digest, which may be that of another version than everything is tested with. */
export function checkNode(found) {
  const { version } = JSON.parse(readFileSync(join(root, "node_modules/node/package.json"), "utf8"));
  if (found !== `v${version}`)
    throw new Error(
      `the base image has Node ${found}, and everything is tested with v${version}: renew its digest (deploy/images/renew-base.sh)`,
    );
}

function packOne(service, cpu, target) {
  const dist = join(root, "services", service, "dist");
  const files = filesOf(dist);
  for (const file of [...files, NOTICES, SBOM]) copyFile(join(dist, file), target);
  const packages = new Set();
  for (const file of files) for (const path of outsideOf(join(dist, file))) packPackage(path, cpu, target, packages);
  for (const file of ["LICENSE", "deploy/images/healthcheck.mjs"]) copyFile(join(root, file), target, basename(file));
}

/** The pages that `perdure errors` prints. */
function packErrorPages(target) {
  const pages = join(root, "services/cli/dist/errors");
  for (const file of readdirSync(pages)) copyFile(join(pages, file), target);
}

function packConsole(target) {
  const dist = join(root, CONSOLE);
  if (!existsSync(join(dist, "index.html"))) throw new Error(`${dist} has no console: build first`);
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) copyFile(join(entry.parentPath, entry.name), target);
  }
}

const IMPORT = /(?:from|import\()\s*"(\.{1,2}\/[^"]+)"|^import "(\.{1,2}\/[^"]+)"/gm;

/** Entry points of a bundle: the program, and the processes and threads that it starts (`deploy/build.mjs` names them). */
const ENTRY = /^main\.mjs$|-(?:process|thread)\.mjs$/;

/** Names of files that a bundle consists of: its entry points and what they import, so that those of earlier builds stay behind. */
export function filesOf(dist) {
  const found = new Set();
  const follow = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const path of importsOf(join(dist, file))) if (isPart(dist, path)) follow(path.slice(2));
  };
  for (const file of readdirSync(dist)) if (ENTRY.test(file)) follow(file);
  if (!found.has("main.mjs")) throw new Error(`${dist} has no bundle: build first`);
  return [...found];
}

/** Bundles also contain texts that resemble imports. */
const isPart = (dist, path) => path.startsWith("./") && path.endsWith(".mjs") && existsSync(join(dist, path));

const importsOf = (path) => [...readFileSync(path, "utf8").matchAll(IMPORT)].map(([, from, alone]) => from ?? alone);

/** Files of packages that are not in the bundle. */
function outsideOf(path) {
  return importsOf(path)
    .filter((one) => one.includes("node_modules/"))
    .map((one) => resolve(dirname(path), one))
    .filter((one) => existsSync(one));
}

/** The package that `path` is in or is, with all that it needs, where it is. */
export function packPackage(path, cpu, target, done) {
  const [, home, name] = /^(.*\/node_modules)\/((?:@[^/]+\/)?[^/]+)(?:\/|$)/.exec(`${realpathSync(path)}/`) ?? [];
  const folder = join(home, name);
  if (done.has(folder)) return;
  done.add(folder);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  cpSync(folder, join(target, relative(root, folder)), {
    recursive: true,
    filter: (from) =>
      !LEFT_OUT.test(basename(from)) && from !== join(folder, "node_modules") && !isPrebuiltForOthers(from, folder, cpu),
  });
  const { dependencies = {}, peerDependencies = {}, optionalDependencies = {} } = manifest;
  for (const needed of Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })) {
    const link = join(home, needed);
    if (!existsSync(link)) {
      if (needed in dependencies && !(needed in optionalDependencies))
        throw new Error(`${name} needs ${needed}, which is not installed`);
      continue;
    }
    const found = JSON.parse(readFileSync(join(link, "package.json"), "utf8"));
    if (!isFor(found, cpu)) continue;
    const copied = join(target, relative(root, link));
    if (lstatSync(link).isSymbolicLink() && !existsSync(copied)) {
      mkdirSync(dirname(copied), { recursive: true });
      symlinkSync(relative(dirname(link), realpathSync(link)), copied);
    }
    packPackage(link, cpu, target, done);
  }
}

/** Whether a package supports the platform; `os`, `cpu` and `libc` as npm reads them. */
function isFor({ os, cpu, libc }, wanted) {
  const fits = (list, one) =>
    list === undefined || ((list.includes(one) || list.every((it) => it.startsWith("!"))) && !list.includes(`!${one}`));
  return fits(os, "linux") && fits(cpu, wanted) && fits(libc, LIBC);
}

/** Some packages bring the addons of all systems along, each in a folder `prebuilds/<system>-<cpu>`. */
function isPrebuiltForOthers(path, folder, cpu) {
  const [first, system] = relative(folder, path).split(sep);
  if (first !== "prebuilds" || system === undefined) return false;
  return system !== `linux-${cpu}` || /\bmusl\b/.test(basename(path));
}

function copyFile(from, target, as = relative(root, from)) {
  const to = join(target, as);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
  chmodSync(to, 0o644);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [arch, target] = process.argv.slice(2);
  if (arch === undefined || target === undefined) throw new Error("usage: pack.mjs amd64|arm64 DIRECTORY");
  process.umask(0o022); // Files must be readable for any user of the image.
  await pack(arch, resolve(target));
}
