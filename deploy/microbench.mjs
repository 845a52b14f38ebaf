/** Runs the measurements of single packages, `libs|services/<name>/bench/*.bench.ts`, one after the other; an argument narrows them. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { root } from "./bundle.mjs";

const [filter = ""] = process.argv.slice(2);
const files = globSync("{libs/*,services}/*/bench/*.bench.ts", { cwd: root }).filter((file) => file.includes(filter));
if (files.length === 0) {
  console.error(`no measurement matches '${filter}'`);
  process.exit(2);
}
for (const file of files.sort()) {
  console.log(`\n── ${file}`);
  const { status } = spawnSync(process.execPath, [join(root, "deploy/run-ts.mjs"), join(root, file)], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
