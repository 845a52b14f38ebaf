/**
 * Processor time of the server for calls with large values, and its memory: states that are read, written or only carried along, payloads
 * and results of steps. The published SDK, four callers, servers in turn in each round; the median of the rounds.
 *
 *     make build && node libs/testing/conformance/bench/large.mjs [another perdure]
 *
 * CALLS=100 in a round (a tenth of it for 10 MB), ROUNDS=3, BYTES=1000000, ONLY=<part of a title>. The reference comes from npm;
 * REFERENCE=0 leaves it out. Traffic goes to 127.0.0.1 only.
 */
import { median, table } from "./figures.mjs";
import { cpuSeconds, residentMiB, Server, startEndpoint } from "./servers.mjs";

const CALLS = Number(process.env.CALLS ?? 100);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const BYTES = Number(process.env.BYTES ?? 1_000_000);
const CALLERS = 4;
const OBJECTS = 8;
const SETTLED_AFTER_MS = 5_000;

const number = JSON.stringify(BYTES);
const large = JSON.stringify("x".repeat(BYTES));
const keeper = (handler) => (n) => `Keeper/${n % OBJECTS}/${handler}`;

/** `prepare` fills the objects before the measurement; `goal` is the largest ratio to the reference. */
const workloads = [
  { title: "state read and replaced", path: keeper("replace"), body: number, goal: 0.8 },
  { title: "state written", path: keeper("write"), body: number, goal: 0.8 },
  { title: "state read", prepare: "write", path: keeper("read"), body: number, goal: 0.8 },
  { title: "small state beside it changed", prepare: "write", path: keeper("count"), body: number, goal: 0.8 },
  { title: "payload returned", path: () => "Bench/echo", body: large, goal: 0.6 },
  { title: "payload taken", path: () => "Bench/take", body: large, goal: 0.6 },
  { title: "result made", path: () => "Bench/make", body: number, goal: 0.6 },
  { title: "result of a step", path: () => "Bench/step", body: number, goal: 0.8 },
  {
    title: "payload ten times as large returned",
    path: () => "Bench/echo",
    body: JSON.stringify("x".repeat(BYTES * 10)),
    calls: Math.ceil(CALLS / 10),
    goal: 0.6,
  },
].filter(({ title }) => title.includes(process.env.ONLY ?? ""));

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

/** Milliseconds of processor per call, of each server in each round. */
async function measure(workload) {
  const { prepare, calls = CALLS } = workload;
  const cpuMs = new Map(servers.map(({ name }) => [name, []]));
  for (const server of servers) {
    if (prepare !== undefined) await callAll(server, { path: keeper(prepare), body: number }, OBJECTS);
    await callAll(server, workload, Math.ceil(calls / 4)); // Warm.
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const server of servers) {
      const before = cpuSeconds(server.pid);
      await callAll(server, workload, calls);
      cpuMs.get(server.name).push(((cpuSeconds(server.pid) - before) / calls) * 1000);
    }
  }
  return cpuMs;
}

const figure = (list) => `${median(list).toFixed(1)} (${list.map((ms) => ms.toFixed(1)).join(", ")})`;

function rowOf({ title, goal }, cpuMs) {
  const names = servers.map(({ name }) => name);
  const cells = names.map((name) => figure(cpuMs.get(name)));
  if (names[0] !== "reference") return [title, ...cells];
  const ratios = names.slice(1).map((name) => (median(cpuMs.get(name)) / median(cpuMs.get("reference"))).toFixed(2));
  return [title, ...cells, ratios.join(" → "), `≤ ${goal}`];
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
  const rows = [];
  for (const workload of workloads) {
    const row = rowOf(workload, await measure(workload));
    console.error(row.join("  "));
    rows.push(row);
  }
  const atOnce = servers.map(({ pid }) => residentMiB(pid).toFixed(0));
  await new Promise((done) => setTimeout(done, SETTLED_AFTER_MS));
  const later = servers.map(({ pid }) => residentMiB(pid).toFixed(0));
  const tail = process.env.REFERENCE === "0" ? [] : ["", ""];
  rows.push(["MiB resident afterwards", ...atOnce, ...tail], [`${SETTLED_AFTER_MS / 1000} s later`, ...later, ...tail]);
  const head = [`ms of processor a call, ${BYTES} bytes`, ...servers.map(({ name }) => name)];
  console.log(table(tail.length > 0 ? [...head, "ratio", "goal"] : head, rows));
} finally {
  for (const server of servers) await server[Symbol.asyncDispose]();
}
