/**
 * Compares the reflector and the requests of this package with the informer and the object API of `@kubernetes/client-node` (decision 0049).
 * Prints one line for each figure. Each client runs in a process of its own; the API server is a fake one in this process.
 *
 *     node deploy/run-ts.mjs libs/adapters/kubernetes/bench/client-library.ts
 */
import { fork } from "node:child_process";
import { FakeApiServer, type WatchFault } from "./fake-api-server.js";
import { type ClientName, type Figures, measure, type Work } from "./measured-client.js";

const CLIENTS: readonly ClientName[] = ["ours", "library", "library, our connections"];
const SCENARIOS: readonly { readonly work: Work; readonly fault: WatchFault; readonly changes?: number }[] = [
  { work: "cache", fault: "none" },
  { work: "requests", fault: "none" },
  { work: "fault", fault: "status 500", changes: 1 },
  { work: "fault", fault: "damaged line", changes: 1 },
];

const [, program = "", ...given] = process.argv;
if (given.length > 0) {
  const [name, work, kubeconfig = ""] = given as [ClientName, Work, string];
  process.send?.(await measure(name, work, kubeconfig), () => process.exit(0));
} else {
  for (const { work, fault, changes } of SCENARIOS) {
    const title = fault === "none" ? work : `${work}: ${fault}`;
    console.log(`\n${title.padEnd(52)}${CLIENTS.map((name) => name.padStart(26)).join("")}`);
    const columns: Figures[] = [];
    for (const name of CLIENTS) {
      await using server = await FakeApiServer.start();
      server.fault = fault;
      if (changes !== undefined) server.changes = changes;
      const figures = await run(name, work, server.kubeconfig());
      columns.push({ ...figures, ...server.counts });
    }
    for (const key of Object.keys(columns[0] ?? {})) {
      console.log(key.padEnd(52) + columns.map((column) => shown(column[key]).padStart(26)).join(""));
    }
  }
}

function run(name: ClientName, work: Work, kubeconfig: string): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(program, [name, work, kubeconfig], { execArgv: ["--expose-gc"] });
    child.once("message", (figures) => resolve(figures as Figures));
    child.once("exit", (code) => reject(new Error(`the measured client ended with ${code}`)));
  });
}

function shown(value: number | string | undefined): string {
  return typeof value === "number" ? String(Math.round(value * 10) / 10) : String(value);
}
