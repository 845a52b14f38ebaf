/** Decides whether a running program belongs to a project. */
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import type { PortHolder } from "@perdure/process-kit/port-holder";
import { isEmptyFolder } from "./project.js";

/** A program in the project's folder, below it or above it belongs to the project; with an empty folder, an unknown program does not. */
export function isForeign(holder: PortHolder | undefined, folder: string): boolean {
  if (holder?.folder === undefined) return isEmptyFolder(folder);
  const [own, its] = [realpathSync(folder), holder.folder];
  if (its === own || its.startsWith(own + sep)) return false;
  // A workspace starts programs from its root; the root of the file system or a home directory is not a project.
  return isEmptyFolder(folder) || !own.startsWith(its + sep) || its === sep || its === process.env["HOME"];
}
