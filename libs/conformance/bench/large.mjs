/**
 * Processor time of the server for calls with 1 MB: a state that is read and replaced, and a payload that is returned. The published SDK,
 * four callers, servers in turn in each round; the median of the rounds.
 *
 *     make build && node libs/conformance/bench/large.mjs [another perdure]
 *
 * CALLS=200 in a round, ROUNDS=3, BYTES=1000000. The reference comes from npm; REFERENCE=0 leaves it out. Traffic goes to 127.0.0.1 only.
 */
import { cpuSeconds, residentMiB, Server, startEndpoint } from "./servers.mjs";

const CALLS = Number(process.env.CALLS ?? 200);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const BYTES = Number(process.env.BYTES ?? 1_000_000);
const CALLERS = 4;

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

const workloads = {
  "state read and replaced": { path: (n) => `Keeper/${n % 8}/replace`, body: JSON.stringify(BYTES) },
  "payload returned": { path: () => "Bench/echo", body: JSON.stringify("x".repeat(BYTES)) },
};

async function callAll(server, { path, body }, calls) {
  let sent = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (sent < calls) {
        const answer = await fetch(`${server.ingress}/${path(sent++)}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        });
        if (!answer.ok) throw new Error(`${server.name}: ${answer.status} ${await answer.text()}`);
        await answer.arrayBuffer();
      }
    }),
  );
}

using endpoint = await startEndpoint(19_380);
const [other] = process.argv.slice(2);
const servers = [];
if (process.env.REFERENCE !== "0") servers.push(Object.assign(new Server("reference", 19_400), { name: "reference" }));
if (other !== undefined) servers.push(Object.assign(new Server("perdure", 19_410, {}, other), { name: "the other" }));
servers.push(Object.assign(new Server("perdure", 19_420), { name: "this one" }));
try {
  for (const server of servers) {
    await server.start();
    await server.register(endpoint.uri);
  }
  for (const [title, workload] of Object.entries(workloads)) {
    const cpuMs = new Map(servers.map(({ name }) => [name, []]));
    for (const server of servers) await callAll(server, workload, CALLS / 4); // Warm.
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of servers) {
        const before = cpuSeconds(server.pid);
        await callAll(server, workload, CALLS);
        cpuMs.get(server.name).push(((cpuSeconds(server.pid) - before) / CALLS) * 1000);
      }
    }
    for (const [name, figures] of cpuMs)
      console.log(
        `${title}: ${name} ${median(figures).toFixed(2)} ms of processor a call (${figures.map((n) => n.toFixed(2)).join(", ")})`,
      );
  }
  for (const { name, pid } of servers) console.log(`resident: ${name} ${residentMiB(pid).toFixed(0)} MiB`);
} finally {
  for (const server of servers) await server[Symbol.asyncDispose]();
}
