/**
 * Third-party notices: the packages that a bundle contains, or needs beside it, and their licence texts. Licences require the text with
 * every copy, and a bundle leaves all comments out. A package without a text, or with a licence that this project does not ship, fails the
 * build.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";

export const NOTICES = "THIRD-PARTY-NOTICES";

/** Licences (SPDX) that permit copies in a program under Apache-2.0 with no more than a notice. No copyleft, weak or strong. */
const PERMISSIVE = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense",
  "Zlib",
]);

/** Texts of packages that publish none: by name, in `deploy/licences`, copied from the repository in the package's manifest. */
const TEXTS = join(import.meta.dirname, "licences");
const IS_TEXT = /^(?:licen[cs]es?|copying|copyright|notice|unlicense|third[-_]?party.*)(?:[-.].*)?$/i;
const IS_CODE = /\.(?:[cm]?[jt]s|json|map|node)$/i;
/** Folders in which packages with native addons keep the sources of others that are compiled into them. */
const COMPILED_IN = "deps";
const FOLDERS_DEEP_MAX = 4;

const PACKAGE_OF = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)(?:[\\/]|$)/;

/** Folder of the package that the file at `path` belongs to, or undefined when it is ours. */
export function packageFolderOf(path) {
  return PACKAGE_OF.exec(path)?.[1];
}

/**
 * Packages of others that a bundle brings along. `inputs`: absolute paths of files that the bundle carries. `outside`: absolute paths of modules that it
 * imports from where their packages are installed; all that those packages need counts as well. Throws with the names of all packages that have no
 * licence text or no permissive licence.
 */
export function shippedPackages(inputs, outside) {
  const folders = new Set();
  for (const path of inputs) {
    const folder = packageFolderOf(path);
    if (folder !== undefined) folders.add(realpathSync(folder));
  }
  for (const path of outside) addNeeded(packageFolderOf(realpathSync(path)), folders);
  const packages = withTextsOfRepository([...folders].map(describe).filter(({ isOurs }) => !isOurs));
  const faults = packages.flatMap(faultsOf);
  if (faults.length > 0)
    throw new Error(`Third-party packages that cannot be shipped:\n${faults.map((one) => `  ${one}`).join("\n")}`);
  return packages;
}

/** The package in `folder` with all that is installed of what it needs, wherever pnpm put it. */
function addNeeded(folder, found) {
  if (folder === undefined || found.has(folder)) return;
  found.add(folder);
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = describe(folder).manifest;
  const home = folder.slice(0, folder.lastIndexOf("node_modules") + "node_modules".length);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    const needed = [join(folder, "node_modules", name), join(home, name)].find((path) => existsSync(path));
    if (needed !== undefined) addNeeded(realpathSync(needed), found);
  }
}

const described = new Map();

/** Once for each package: a build makes a dozen bundles of mostly the same ones. */
function describe(folder) {
  const known = described.get(folder);
  if (known !== undefined) return known;
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { name, version } = manifest;
  const isOurs = !folder.includes("node_modules");
  const one = { name, version, manifest, licence: licenceOf(manifest), texts: isOurs ? [] : textsOf(folder, name), isOurs };
  described.set(folder, one);
  return one;
}

function licenceOf({ license, licenses }) {
  if (typeof license === "string") return license;
  return license?.type ?? licenses?.map(({ type }) => type).join(" OR ") ?? "";
}

function textsOf(folder, name) {
  const kept = join(TEXTS, fileOf(name));
  const own = existsSync(kept) ? [kept] : textsIn(folder);
  if (own.length === 0) return sectionOfReadme(folder);
  const deps = join(folder, COMPILED_IN);
  const paths = existsSync(deps) ? [...own, ...textsBelow(deps, FOLDERS_DEEP_MAX)] : own;
  return [...new Set(paths.map(textAt))].filter((text) => text !== "");
}

const fileOf = (name) => `${name.replace("/", "__")}.txt`;
const textAt = (path) => readFileSync(path, "utf8").replaceAll("\r\n", "\n").trim();

/** Some packages publish their licence as the last section of their README. */
function sectionOfReadme(folder) {
  const readme = readdirSync(folder).find((file) => /^readme(?:\.md)?$/i.test(file));
  const section =
    readme === undefined
      ? undefined
      : /^#+ *licen[cs]e\s+([^#]*Permission is hereby granted[^#]*)$/im.exec(textAt(join(folder, readme)));
  return section?.[1] === undefined ? [] : [section[1].trim()];
}

/** Packages of one repository share a licence, and some of them omit its text: addons of one system, parts of an SDK. */
function withTextsOfRepository(packages) {
  const textsAt = new Map();
  for (const { manifest, texts } of packages) if (texts.length > 0) textsAt.set(repositoryOf(manifest), texts);
  return packages.map((one) => (one.texts.length > 0 ? one : { ...one, texts: textsAt.get(repositoryOf(one.manifest)) ?? [] }));
}

/** A package that names no repository shares with no other. */
const repositoryOf = ({ repository, name }) => (typeof repository === "string" ? repository : repository?.url) ?? `none: ${name}`;

const textsIn = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && IS_TEXT.test(entry.name) && !IS_CODE.test(entry.name))
    .map((entry) => join(folder, entry.name))
    .sort();

function textsBelow(folder, depth) {
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...textsIn(folder), ...(depth === 0 ? [] : below.flatMap((entry) => textsBelow(join(folder, entry.name), depth - 1)))];
}

function faultsOf({ name, version, licence, texts }) {
  const found = [];
  if (!isPermissive(licence)) found.push(`${name} ${version}: its licence '${licence}' is not one of those that may be shipped`);
  if (texts.length === 0) found.push(`${name} ${version}: it has no licence text; add deploy/licences/${fileOf(name)}`);
  return found;
}

/** One permissive alternative of an `OR` is enough; all parts of an `AND` must be permissive. */
export function isPermissive(expression) {
  const alternatives = expression.replace(/^\((.*)\)$/, "$1").split(/\s+OR\s+/i);
  return alternatives.some((one) =>
    one
      .replace(/^\((.*)\)$/, "$1")
      .split(/\s+AND\s+/i)
      .every((id) => PERMISSIVE.has(id.trim())),
  );
}

/** The text of the notices. Texts that several packages share are written once, below the names of all of them. */
export function noticesOf(packages) {
  const byText = new Map();
  for (const { name, version, licence, texts } of packages) {
    const text = texts.join("\n\n");
    const names = byText.get(text) ?? new Set();
    byText.set(text, names.add(`${name} ${version} (${licence})`));
  }
  const sections = [...byText].map(([text, names]) => `${[...names].sort().join("\n")}\n\n${text}\n`).sort();
  const line = `\n${"-".repeat(80)}\n\n`;
  return `This program contains software of others. Their names, versions and licences:\n${line}${sections.join(line)}`;
}
