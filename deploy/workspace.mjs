/** The packages of the workspace: the folders that `pnpm-workspace.yaml` names. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

/** Folder of each package by the package's name; folders are relative to the root, with `/`. */
export function packageFolders() {
  const patterns = [...readFileSync(join(root, "pnpm-workspace.yaml"), "utf8").matchAll(/^ {2}- ([\w*/-]+)$/gm)].map(
    ([, pattern]) => pattern,
  );
  const folders = patterns.flatMap(expand).filter((folder) => existsSync(join(root, folder, "package.json")));
  return new Map(folders.map((folder) => [JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")).name, folder]));
}

/** Folders that match a pattern of names and `*`. */
function expand(pattern) {
  return pattern
    .split("/")
    .reduce(
      (folders, part) =>
        folders.flatMap((folder) => (part === "*" ? below(folder) : [folder === "" ? part : `${folder}/${part}`])),
      [""],
    );
}

function below(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
    .map((entry) => `${folder}/${entry.name}`);
}
