/**
 * The operator: how soon an environment is ready, and what hundreds of them cost the operator and its API server. Pods are reported as running as
 * soon as they are created, so only Perdure is measured. COUNTS=500,2000 chooses the sizes of the cell.
 */
import { spawn } from "node:child_process";
import { loadavg } from "node:os";
import { join } from "node:path";
import { median, table } from "./harness/figures.ts";
import { root } from "./harness/processes.ts";

const COUNTS = (process.env.COUNTS ?? "500,2000").split(",").map(Number);
const QUICK_COUNT = 50;
/** Reconciles per second of the measured operator: more than its default of 20, which would only add waiting. */
const PER_SECOND = 100;

export async function measureKubernetes({ quick, say, machine, commit }) {
  const tell = (line) => say(`${line} (load ${loadavg()[0].toFixed(1)})`);
  await run([join(root, "deploy/build.mjs"), "operator"], tell);
  const soon = (await runTs("services/operator/bench/soon.ts", [quick ? 3 : 10], tell)).trim().split("\n").map(Number);
  tell(`created to ready: ${median(soon)} ms`);
  const rows = [["created to Ready, one at a time (median, slowest)", "", `${median(soon)} ms, ${Math.max(...soon)} ms`]];
  for (const count of quick ? [QUICK_COUNT] : COUNTS) {
    const printed = await runTs("services/operator/bench/main.ts", [count, PER_SECOND], tell);
    rows.push(...rowsOf(count, JSON.parse(printed.trim().split("\n").at(-1))));
  }
  const text = `## The operator

Measured by \`make bench ONLY=kubernetes\` on ${machine}, commit ${commit}, load ${loadavg()[0].toFixed(1)} at the end. A real etcd and kube-apiserver on the same
machine; pods are reported as ready as soon as they are created, so that image pulls, schedulers and volumes are not in these numbers.
The operator reconciles ${PER_SECOND} environments a second at most here (20 by default).

${table(["what", "environments", "figure"], rows)}
`;
  return text;
}

function rowsOf(count, { growing, quiet, peakMiB, lastMiB }) {
  const sum = (requests) => Object.values(requests).reduce((all, one) => all + one, 0);
  const verbs = ["get", "create", "patch"].map((verb) => `${((growing.requests[verb] ?? 0) / count).toFixed(1)} ${verb}`);
  return [
    ["created at once to the last one ready", count, `${growing.seconds.toFixed(0)} s`],
    ["requests to the API server for each", count, `${(sum(growing.requests) / count).toFixed(1)} (${verbs.join(", ")})`],
    ["reconciliations of each until it is ready", count, (growing.reconciles / count).toFixed(1)],
    ["the operator's CPU for each", count, `${((growing.cpuSeconds / count) * 1000).toFixed(0)} ms`],
    ["requests while they are made", count, `${(sum(growing.requests) / growing.seconds).toFixed(0)} a second`],
    ["the operator's memory, most and afterwards", count, `${peakMiB.toFixed(0)} MiB, ${lastMiB.toFixed(0)} MiB`],
    ["a cell in which nothing happens: requests", count, `${(sum(quiet.requests) / quiet.seconds).toFixed(1)} a second`],
    ["the same: the operator's CPU", count, `${((quiet.cpuSeconds / quiet.seconds) * 100).toFixed(1)} % of a processor`],
  ];
}

const runTs = (file, args, tell) => run([join(root, "deploy/run-ts.mjs"), join(root, file), ...args.map(String)], tell);

/** The output of the program; its log is passed to `tell`. Rejects when it fails. */
function run(args, tell) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    let said = "";
    child.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    child.stderr.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-4_000);
      for (const line of String(chunk).trim().split("\n")) tell(line);
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(printed) : reject(new Error(`${args.join(" ")} ended with ${code}: ${said}`)),
    );
  });
}
