/**
 * The control planes that the suites of one run share, their number is the argument: started by `deploy/testing/run.mjs`, prints the paths
 * of their files in one line of JSON (see `kubernetes-lease.ts`), and stops them when its standard input ends, which it does however the
 * runner ends.
 */
import { startSharedKubernetes } from "./kubernetes-lease.js";

// Ctrl-C reaches the whole group of processes; the runner decides when the servers stop.
process.on("SIGINT", () => {});
const shared = await Promise.all(Array.from({ length: Number(process.argv[2]) }, startSharedKubernetes));
console.log(JSON.stringify(shared.map(({ file }) => file)));
process.stdin.resume().once("end", async () => {
  await Promise.all(shared.map(({ server }) => server[Symbol.asyncDispose]()));
  process.exit();
});
