/**
 * `make bench ONLY=cluster|cloud|kubernetes`: what is more than one server, each as a section of docs/benchmarks.md that a run rewrites.
 * QUICK=1 runs short rounds and prints the section instead.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { measureCloud } from "./cloud.mjs";
import { measureCluster } from "./cluster/section.mjs";
import { root } from "./harness/processes.ts";
import { measureKubernetes } from "./kubernetes.mjs";

const quick = process.env.QUICK === "1";
const options = {
  quick,
  rounds: Number(process.env.ROUNDS || (quick ? 1 : 3)),
  seconds: Number(process.env.SECONDS || (quick ? 2 : 5)),
  sleepers: Number(process.env.SLEEPERS || (quick ? 2_000 : 100_000)),
  say: (text) => console.log(`${new Date().toISOString().slice(11, 19)}  ${text}`),
  machine: `${cpus().length} × ${cpus()[0].model}`,
  commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim(),
};

const SECTIONS = { cluster: measureCluster, cloud: measureCloud, kubernetes: measureKubernetes };
const BENCHMARKS = join(root, "docs/benchmarks.md");

/** Replaces the section with the same title, or appends it; all others stay. */
function rewrite(section) {
  const title = /^## .*/.exec(section)[0];
  const parts = readFileSync(BENCHMARKS, "utf8").split(/^(?=## )/m);
  const at = parts.findIndex((part) => part.startsWith(`${title}\n`));
  parts.splice(at < 0 ? parts.length : at, 1, section);
  writeFileSync(BENCHMARKS, parts.map((part) => `${part.trimEnd()}\n`).join("\n"));
}

const measure = SECTIONS[process.env.ONLY];
if (measure === undefined) throw new Error(`ONLY is one of ${Object.keys(SECTIONS).join(", ")}`);
const section = await measure(options);
if (quick) console.log(section);
else rewrite(section);
process.exit(0); // Idle connections of fetch would keep the process for a while.
