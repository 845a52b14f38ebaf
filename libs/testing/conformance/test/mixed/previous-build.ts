/** The bundles of the previous release, packed in a file, because old and new processes run together in an upgrade. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type LocalRole, ROOT } from "@perdure/dev-cluster";

export const PREVIOUS_ROLES: readonly LocalRole[] = ["registry", "admin-api", "invoker-worker", "ingress-gateway"];

const PACKED = new URL("./testdata/before-0.1.0.br", import.meta.url);
const STORE = join(ROOT, "node_modules/.pnpm");
/** A package that bundles leave outside, by its place in the tree that was bundled: the store has a folder for each version. */
const OUTSIDE = /"\.\.\/\.\.\/\.\.\/node_modules\/\.pnpm\/([^"/]+)@[^"/@]+\/node_modules\//g;

/** Unpacks the bundles below an empty directory; returns folders by role. Files outside bundles come from this tree. */
export function unpackPreviousBuild(directory: string): Readonly<Record<LocalRole, string>> {
  const stored = readdirSync(STORE);
  const outside = (name: string): string => {
    const folder = stored.find((one) => one.startsWith(`${name}@`));
    if (folder === undefined) throw new Error(`the previous build needs the package ${name}`);
    return `"${join(STORE, folder, "node_modules")}/`;
  };
  const files = JSON.parse(brotliDecompressSync(readFileSync(PACKED)).toString()) as Readonly<Record<string, string>>;
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(
      join(directory, path),
      text.replaceAll(OUTSIDE, (_, name: string) => outside(name)),
    );
  }
  return Object.fromEntries(PREVIOUS_ROLES.map((role) => [role, join(directory, role)])) as Record<LocalRole, string>;
}
