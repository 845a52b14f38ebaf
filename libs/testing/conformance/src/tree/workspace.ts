/** The packages of the workspace, for the rules of the tree. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Folder of each package by the package's name: the folders that `pnpm-workspace.yaml` below `root` names, relative to it. */
export function workspacePackages(root: string): ReadonlyMap<string, string> {
  const workspace = readFileSync(join(root, "pnpm-workspace.yaml"), "utf8");
  const patterns = [...workspace.matchAll(/^ {2}- ([\w*/-]+)$/gm)].map(([, pattern]) => pattern ?? "");
  const folders = patterns.flatMap((pattern) => expand(root, pattern));
  return new Map(
    folders
      .filter((folder) => existsSync(join(root, folder, "package.json")))
      .map((folder) => [(JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as { name: string }).name, folder]),
  );
}

/** Folders that match a pattern of names and `*`. */
function expand(root: string, pattern: string): readonly string[] {
  return pattern.split("/").reduce<readonly string[]>(
    (folders, part) =>
      folders.flatMap((folder) => {
        if (part !== "*") return [join(folder, part)];
        const entries = readdirSync(join(root, folder), { withFileTypes: true });
        return entries
          .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
          .map(({ name }) => join(folder, name));
      }),
    [""],
  );
}
