/**
 * Makes a release: checks the tree, writes the version and the change log, commits, tags, and packs what is published. Nothing leaves this
 * machine. A dry run checks everything and changes nothing.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newestVersionOf, withRelease } from "./change-log.ts";
import { type NeededRelease, neededRelease } from "./commits.ts";
import type { LastRelease, Repository } from "./repository.ts";
import { mayHaveVersion, replaceVersion } from "./version-places.ts";
import { KINDS, kindOfStep, parseVersion, textOf, versionAfter } from "./versions.ts";

const MAIN = "main";
const CHANGE_LOG = "CHANGELOG.md";
const REASONS_MAX = 10;

export interface Release {
  readonly root: string;
  /** `1.2.3`. */
  readonly version: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly isDryRun: boolean;
}

export interface ReleaseTools {
  readonly repository: Repository;
  readonly print: (line: string) => void;
  /** Runs a program in the root; throws when it fails. */
  readonly run: (command: string, args: readonly string[]) => void;
  readonly isInstalled: (command: string) => boolean;
}

/** Throws with what is wrong before it has changed anything. */
export function makeRelease(release: Release, tools: ReleaseTools): void {
  const { root, version, isDryRun } = release;
  const { print, repository } = tools;
  const last = checkRelease(release, tools);
  const files = filesOfRelease(release, repository.files(), last.version);
  print(`${isDryRun ? "Would write" : "Write"} version ${version} to ${files.size} files (it is ${last.version}).`);
  if (!isDryRun) for (const [path, text] of files) writeFileSync(join(root, path), text);
  const commit = `chore(release): version ${version}`;
  print(`${isDryRun ? "Would commit" : "Commit"}: ${commit}`);
  if (!isDryRun) repository.commit([...files.keys()], commit);
  packRelease(release, tools);
  // Last, so that a tag names only what could be packed.
  print(`${isDryRun ? "Would tag" : "Tag"}: v${version}`);
  if (!isDryRun) repository.tag(`v${version}`, `Perdure ${version}`);
  printNextSteps(release, print);
}

/** Checks the branch, the tree, the tag and the version. Returns the release before. */
function checkRelease({ root, version }: Release, { repository, print }: ReleaseTools): LastRelease {
  const next = parseVersion(version);
  const branch = repository.branch();
  if (branch !== MAIN) throw new Error(`releases are made on ${MAIN}, and this is ${branch}`);
  const changed = repository.changedFiles();
  if (changed.length > 0) throw new Error(`commit or remove these changes first: ${changed.slice(0, REASONS_MAX).join(", ")}`);
  if (repository.hasTag(`v${version}`)) throw new Error(`the tag v${version} exists already`);
  const last = lastRelease(root, repository);
  const needed = neededRelease(repository.commitsSince(last.commit), parseVersion(last.version));
  const kind = kindOfStep(parseVersion(last.version), next);
  if (kind === undefined || KINDS.indexOf(kind) < KINDS.indexOf(needed.kind)) throw refusal(version, last.version, needed);
  print(`Version ${version} is a ${kind} release after ${last.version}; its commits need a ${needed.kind} release.`);
  if (needed.othersCount > 0) print(`${needed.othersCount} commits are not Conventional Commits and count as fixes.`);
  return last;
}

function refusal(version: string, last: string, { kind: needed, because }: NeededRelease): Error {
  const possible = KINDS.slice(KINDS.indexOf(needed)).map((kind) => textOf(versionAfter(parseVersion(last), kind)));
  const reasons = because.slice(0, REASONS_MAX).map(({ hash, subject }) => `\n  ${hash.slice(0, 8)} ${subject}`);
  const others = because.length > REASONS_MAX ? `\n  and ${because.length - REASONS_MAX} more` : "";
  return new Error(
    `${version} cannot follow ${last}: the commits since then need a ${needed} release, so write ${possible.join(" or ")}${reasons.join("")}${others}`,
  );
}

/** By its tag, or in a clone without tags by the commit that gave it a section in the change log. */
function lastRelease(root: string, repository: Repository): LastRelease {
  const tagged = repository.lastTag();
  if (tagged !== undefined) return tagged;
  const version = newestVersionOf(readFileSync(join(root, CHANGE_LOG), "utf8"));
  const commit = version === undefined ? undefined : repository.commitThatAdded(`## v${version} (`, CHANGE_LOG);
  if (version === undefined || commit === undefined)
    throw new Error("there is no tag of an earlier release (v1.2.3), and CHANGELOG.md names none: fetch the tags");
  return { version, commit };
}

/** New texts of all files that have the version, and of the change log, by path. */
function filesOfRelease({ root, version, date }: Release, paths: readonly string[], last: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const path of paths.filter(mayHaveVersion)) {
    const { text, count } = replaceVersion(path, readFileSync(join(root, path), "utf8"), last, version);
    if (count > 0) texts.set(path, text);
  }
  texts.set(CHANGE_LOG, withRelease(readFileSync(join(root, CHANGE_LOG), "utf8"), version, date));
  return texts;
}

/** Packs npm packages and charts into `dist`, and lists the images: building these needs a container engine. */
function packRelease({ root, version, isDryRun }: Release, { run, isInstalled, print }: ReleaseTools): void {
  const step = (command: string, args: readonly string[]): void => {
    print(`${isDryRun ? "Would run" : "Run"}: ${[command, ...args].join(" ")}`);
    if (!isDryRun) run(command, args);
  };
  step("make", ["packages", "PLATFORMS=all"]);
  const charts = readdirSync(join(root, "charts"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  if (isInstalled("helm"))
    for (const { name } of charts) step("helm", ["package", `charts/${name}`, "--destination", "dist/charts"]);
  else print("Charts are not packed: helm is not installed.");
  print("Images of this release:");
  for (const name of imagesOf(root)) print(`  perdure-${name}:${version}`);
}

/** Names of the images, from the script that builds them. */
export function imagesOf(root: string): readonly string[] {
  const [, names] = /\$\{IMAGES:-([a-z -]+)\}/.exec(readFileSync(join(root, "deploy/images/build.sh"), "utf8")) ?? [];
  if (names === undefined) throw new Error("deploy/images/build.sh does not list the images");
  return names.split(" ");
}

function printNextSteps({ version, isDryRun }: Release, print: (line: string) => void): void {
  if (isDryRun) return print(`Nothing was changed. Make the release: make release VERSION=${version} PUBLISH=1`);
  print("Nothing was published. Check the commit and dist/, and then push both, which starts .github/workflows/release.yml:");
  print(`  git push origin ${MAIN} v${version}`);
  print("Record the stored forms of this release afterwards: docs/contributing/releases.md.");
}
