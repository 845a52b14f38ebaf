/**
 * What two heavy SQL statements at once cost calls, each of which waits for a durable commit: `node deploy/run-ts.mjs
 * libs/testing/conformance/bench/commits-beside-queries.ts [invocations]`. Phases without and with statements alternate.
 */
import { type Context, service } from "@restatedev/restate-sdk";
import { HttpClient, type Server, TestWorld } from "../src/index.js";

const INVOCATIONS = Number(process.argv[2] ?? 20_000);
const AT_ONCE = 100;
const CALLERS = 4;
const PHASE_MS = 10_000;
const ROUNDS = 3;
const HEAVY = "SELECT count(*) AS n, sum(length(entry_json)) AS s FROM sys_journal";

const echo = service({ name: "Echo", handlers: { echo: async (_ctx: Context, value: string) => value } });

await using world = await TestWorld.start();
await world.deploy({ services: [echo] });
let left = INVOCATIONS;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await world.ingress.call(["Echo", "echo"], "x".repeat(200));
  }),
);

async function phase(statements: number): Promise<void> {
  const until = performance.now() + PHASE_MS;
  const latencies: number[] = [];
  let answered = 0;
  const clients = Array.from({ length: statements }, () => new HttpClient((world.server as Server).adminUrl));
  const queries = clients.map(async (client) => {
    while (performance.now() < until) {
      const headers = { accept: "application/json" };
      const { status } = await client.request("POST", "/query", { json: { query: HEAVY }, headers, withinMs: 60_000 });
      if (status === 200) answered++;
    }
  });
  const callers = Array.from({ length: CALLERS }, async () => {
    while (performance.now() < until) {
      const startedAt = performance.now();
      await world.ingress.call(["Echo", "echo"], "y");
      latencies.push(performance.now() - startedAt);
    }
  });
  await Promise.all([...queries, ...callers]);
  for (const client of clients) client[Symbol.dispose]();
  latencies.sort((a, b) => a - b);
  const at = (share: number): string => (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(1);
  console.log(
    `${statements} statements (${answered} answered): ${latencies.length} calls, p50 ${at(0.5)} p99 ${at(0.99)} worst ${latencies.at(-1)?.toFixed(1)} ms`,
  );
}

for (let round = 0; round < ROUNDS; round++) {
  await phase(0);
  await phase(2);
}
process.exit(0);
