/**
 * Handlers that wait, more of them than there are slots by default or by a limit: what a call notices of them, and how long callers take
 * that each wait for one callee. Beside them the reference with its own default.
 */
import { cpuSeconds, REFERENCE_VERSION, Server, startEndpoint, until } from "./servers.mjs";

const JSON_HEADERS = { "content-type": "application/json" };
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function post(server, path, body) {
  const answer = await fetch(`${server.ingress}/${path}`, {
    method: "POST",
    headers: body === undefined ? {} : JSON_HEADERS,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${server.kind}: ${path} answered ${answer.status} ${text}`);
  return text;
}

async function noOpMs(server) {
  const began = performance.now();
  await post(server, "Bench/noop");
  return performance.now() - began;
}

/** Sends `count` one-way calls over 64 connections. */
async function sendMany(server, path, body, count) {
  let sent = 0;
  const send = async () => {
    while (sent++ < count) await post(server, `${path}/send`, body);
  };
  await Promise.all(Array.from({ length: 64 }, send));
}

/** No-ops, one after the other, until `work` is done; the longest of them. */
async function longestNoOpDuring(server, work) {
  let isDone = false;
  let longest = 0;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    longest = Math.max(longest, await noOpMs(server));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await done;
  return longest;
}

const MEASURES = {
  sleepers: async (server, { sleepers }) => {
    await sendMany(server, "Waiting/sleep", 45_000, sleepers);
    return { sleepersMs: await noOpMs(server) };
  },
  callers: async (server, { callers }) => {
    const cpu = cpuSeconds(server.pid);
    const began = performance.now();
    const calls = Promise.all(Array.from({ length: callers }, (_, n) => post(server, "Waiting/call", n)));
    const besideCallersMs = await longestNoOpDuring(server, calls);
    return { callersMs: performance.now() - began, besideCallersMs, callersCpuMs: (cpuSeconds(server.pid) - cpu) * 1_000 };
  },
  burst: async (server, { sends }) => {
    await sendMany(server, "Waiting/quick", 0, sends);
    return { burstMs: await noOpMs(server) };
  },
};

const ROWS = (options) => [
  ["sleepersMs", `${options.sleepers.toLocaleString("en")} handlers sleep 45 s: a no-op after that, ms`],
  ["callersMs", `${options.callers.toLocaleString("en")} callers of one callee each, at once: until all are done, ms`],
  ["besideCallersMs", "… the longest no-op of another service meanwhile, ms"],
  ["callersCpuMs", "… processor time of the server, ms"],
  ["burstMs", `${options.sends.toLocaleString("en")} one-way calls: a no-op of another service after that, ms`],
];

/** The section of docs/benchmarks.md. Each figure is of a process of its own; the servers alternate. */
export async function measureSlots({ quick, rounds, say, machine, commit }) {
  const options = quick ? { sleepers: 1_100, callers: 1_500, sends: 5_000 } : { sleepers: 1_100, callers: 1_500, sends: 95_000 };
  using endpoint = await startEndpoint(19_180);
  const variants = [
    { name: "perdure", create: () => new Server("perdure", 19_210) },
    {
      name: "limit",
      create: () => new Server("perdure", 19_210, { PERDURE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: "1000" }),
    },
    { name: "reference", create: () => new Server("reference", 19_200) },
  ];
  const figures = new Map(variants.map(({ name }) => [name, {}]));
  for (let round = 0; round < rounds; round++) {
    for (const [what, measure] of Object.entries(MEASURES)) {
      if (what === "burst" && round > 0) continue; // Once is enough of what takes minutes.
      for (const { name, create } of variants) {
        await using server = create();
        await server.start();
        await server.register(endpoint.uri);
        await until("the endpoint to be known", async () => (await noOpMs(server)) >= 0);
        for (let warm = 0; warm < 200; warm++) await noOpMs(server);
        const measured = await measure(server, options);
        for (const [key, value] of Object.entries(measured)) {
          figures.get(name)[key] ??= [];
          figures.get(name)[key].push(value);
          say(`${what}, ${name}: ${key} ${value.toFixed(1)}`);
        }
      }
    }
  }
  const cell = (name, key) => {
    const all = figures.get(name)[key];
    const range = all.length > 1 ? ` (${Math.min(...all).toFixed(0)}–${Math.max(...all).toFixed(0)})` : "";
    return `${median(all).toFixed(0)}${range}`;
  };
  const table = ROWS(options)
    .map(([key, title]) => `| ${title} | ${cell("perdure", key)} | ${cell("limit", key)} | ${cell("reference", key)} |`)
    .join("\n");
  return `## Handlers that wait, and slots

\`ONLY=slots make bench\` on ${new Date().toISOString().slice(0, 10)}, commit ${commit}, Node ${process.version}, ${machine}; reference ${REFERENCE_VERSION} with its
default configuration. ${rounds} alternating rounds, a new process for each figure, medians and ranges.

| Work | Perdure | Perdure, limit 1,000 | Reference |
|---|---|---|---|
${table}
`;
}
