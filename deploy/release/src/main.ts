/**
 * `node deploy/release/src/main.ts <version>` makes a release (`make release`), as a dry run unless `PUBLISH=1`;
 * `node deploy/release/src/main.ts notes <version>` prints its section of the change log.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { notesOf } from "./change-log.ts";
import { makeRelease } from "./release.ts";
import { Repository } from "./repository.ts";

const root = process.env["PERDURE_RELEASE_ROOT"] ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Folders of the `PATH`, then those with the helm that tests have compiled. */
function programFolders(): string[] {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "perdure");
  const compiled = existsSync(cache) ? readdirSync(cache).filter((name) => /^helm-[\d.]+$/.test(name)) : [];
  return [...(process.env["PATH"] ?? "").split(delimiter).filter(Boolean), ...compiled.map((name) => join(cache, name))];
}

function main([first = "", second = ""]: readonly string[]): void {
  if (first === "notes") return console.log(notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), second.replace(/^v/, "")));
  if (first === "") throw new Error("name the version: make release VERSION=1.2.3");
  const release = {
    root,
    version: first,
    date: new Date().toISOString().slice(0, "YYYY-MM-DD".length),
    isDryRun: process.env["PUBLISH"] !== "1",
  };
  const folders = programFolders();
  const isInstalled = (command: string): boolean => folders.some((folder) => existsSync(join(folder, command)));
  const env = { ...process.env, PATH: folders.join(delimiter) };
  const run = (command: string, args: readonly string[]): void => {
    execFileSync(command, args, { cwd: root, stdio: "inherit", env });
  };
  makeRelease(release, { repository: new Repository(root), print: console.log, run, isInstalled });
}

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
