/**
 * Benchmark of the cloud's gateway: the hop (latency and CPU with and without it), a cached credential, and how much a flood of one tenant
 * changes another tenant's latency. Runtime, gateway and callers are processes of their own. Bundle with esbuild, then run with node; an
 * argument names one of `hop`, `hit`, `fair`. Results with commands and dates are in docs/benchmarks.md.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setPriority } from "node:os";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { bareOf, type EnvironmentFacts } from "@perdure/cloud";
import { exampleEnvironment, exampleLimits, MemoryTenancy } from "@perdure/cloud/testing/tenancy";
import { ClientAddresses } from "../src/addresses.js";
import { Callers } from "../src/callers.js";
import { createCloudGateway } from "../src/index.js";

const DOMAIN = "perdure.test";
const BODY = '"Ann"';
const ANSWER = '"Hello Ann"';

interface Place {
  readonly host: string;
  readonly key: string;
}

interface GatewayFacts {
  readonly port: number;
  readonly wide: Place;
  readonly flooding: Place;
  readonly wideFlooding: Place;
  readonly quiet: Place;
}

// ── processes ────────────────────────────────────────────────────────────────────────────────────

function serveRuntime(): void {
  const server = createServer({ keepAliveTimeout: 75_000 }, (req, res) => {
    req.resume();
    req.on("end", () => {
      res.writeHead(200, ["content-type", "application/json", "x-restate-id", "inv_1", "content-length", String(ANSWER.length)]);
      res.end(ANSWER);
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

/** `origins`: of the runtime of the measured tenant, and of the tenant that floods. */
async function serveGateway(origins: string): Promise<void> {
  const [own = "", other = own] = origins.split(" ");
  const tenancy = new MemoryTenancy();
  const gateway = createCloudGateway(
    { tenancy, clock: systemClock, random: systemRandom, logger: silentLogger },
    { region: "us", domain: DOMAIN, issuer: "https://api.us.perdure.test" },
  );
  const place = (ingressRate: EnvironmentFacts["limits"]["ingressRate"], origin = own): Place => {
    const limits = { ...exampleLimits, ingressRate };
    const facts = tenancy.put(exampleEnvironment({ upstream: { ingress: origin, admin: origin }, limits }));
    return { host: `${bareOf(facts.id)}.env.us.${DOMAIN}`, key: tenancy.addKey(facts.id, "rst:role::FullAccess") };
  };
  const { address } = await gateway.listen({ endpoint: "ingress", host: "127.0.0.1", port: 0 });
  const facts: GatewayFacts = {
    port: address.port,
    wide: place({ perSecond: 1e6, burst: 1e6 }),
    flooding: place({ perSecond: 20, burst: 50 }, other),
    wideFlooding: place({ perSecond: 500, burst: 1_500 }, other),
    quiet: place({ perSecond: 500, burst: 1_500 }),
  };
  process.on("message", () => process.send?.(process.cpuUsage()));
  process.send?.(facts);
}

function start(name: string, value = ""): { child: ChildProcess; message: Promise<unknown> } {
  const child = fork(process.argv[1] as string, [name, value]);
  return { child, message: nextMessage(child) };
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once("message", resolve));
}

async function cpuMicros(child: ChildProcess): Promise<number> {
  const message = nextMessage(child);
  child.send("cpu");
  const { user, system } = (await message) as NodeJS.CpuUsage;
  return user + system;
}

// ── callers ──────────────────────────────────────────────────────────────────────────────────────

function requestTo(place: Place | undefined): Buffer {
  const who = place === undefined ? "host: runtime" : `host: ${place.host}\r\nauthorization: Bearer ${place.key}`;
  const rest = `content-type: application/json\r\nuser-agent: bench\r\naccept: */*\r\ncontent-length: ${BODY.length}`;
  return Buffer.from(`POST /Greeter/greet HTTP/1.1\r\n${who}\r\n${rest}\r\n\r\n${BODY}`);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** One request, one answer (which fits a packet); resolves with milliseconds. */
function exchange(socket: Socket, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    socket.once("data", () => resolve(performance.now() - startedAt));
    socket.write(bytes);
  });
}

/** Latencies in milliseconds. */
async function load(port: number, bytes: Buffer, connections: number, requests: number): Promise<number[]> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const samples: number[] = [];
  let left = requests;
  await Promise.all(
    sockets.map(async (socket) => {
      while (left-- > 0) samples.push(await exchange(socket, bytes));
      socket.destroy();
    }),
  );
  return samples;
}

interface FloodOptions {
  readonly port: number;
  readonly place: Place;
  readonly perSecond: number;
}

const FLOOD_TICK_MS = 1;
/** A flooder has an end too; requests that find no free connection are not sent. */
const FLOOD_CONNECTIONS_MAX = 512;

/**
 * Sends this many requests per second, whatever the answers are, until it is killed. It has the lowest priority of the machine, since it
 * stands for load from other machines.
 */
function flood({ port, place, perSecond }: FloodOptions): void {
  setPriority(19);
  const bytes = requestTo(place);
  const free: Socket[] = [];
  let sockets = 0;
  let pendingCount = 0;
  const dial = (): void => {
    sockets++;
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => socket.write(bytes));
    socket.on("data", () => free.push(socket));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets--;
      const at = free.indexOf(socket);
      if (at >= 0) free.splice(at, 1);
    });
  };
  setInterval(() => {
    for (pendingCount += (perSecond * FLOOD_TICK_MS) / 1_000; pendingCount >= 1; pendingCount--) {
      const socket = free.pop();
      if (socket !== undefined) socket.write(bytes);
      else if (sockets < FLOOD_CONNECTIONS_MAX) dial();
    }
  }, FLOOD_TICK_MS);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const ms = (value: number): string => value.toFixed(3);
const say = (row: object): void => void process.stdout.write(`${JSON.stringify(row)}\n`);

// ── measurements ─────────────────────────────────────────────────────────────────────────────────

async function measureHit(): Promise<void> {
  const tenancy = new MemoryTenancy();
  const facts = tenancy.put(exampleEnvironment());
  const callers = new Callers(tenancy, systemClock);
  const address = new ClientAddresses(systemClock).of("127.0.0.1");
  const keys = Array.from({ length: 1_000 }, () => tenancy.addKey(facts.id, "rst:role::FullAccess"));
  for (const key of keys) await callers.check(key, facts.id, address);
  const rounds = 200_000;
  for (let run = 0; run < 3; run++) {
    const startedAt = process.cpuUsage();
    for (let i = 0; i < rounds; i++) callers.check(keys[i % keys.length] as string, facts.id, address);
    const { user, system } = process.cpuUsage(startedAt);
    say({ measurement: "known credential", "CPU µs": ((user + system) / rounds).toFixed(2) });
  }
}

async function measureHop(): Promise<void> {
  const runtime = start("runtime");
  const origin = (await runtime.message) as string;
  const gateway = start("gateway", origin);
  const { port, wide } = (await gateway.message) as GatewayFacts;
  const direct = Number(new URL(origin).port);
  await load(port, requestTo(wide), 16, 5_000);
  await load(direct, requestTo(undefined), 16, 5_000);
  for (const connections of [1, 64]) {
    const requests = connections === 1 ? 4_000 : 10_000;
    const without: number[] = [];
    const through: number[] = [];
    let cpu = 0;
    const rounds = 5;
    for (let round = 0; round < rounds; round++) {
      without.push(...(await load(direct, requestTo(undefined), connections, requests / rounds)));
      const before = await cpuMicros(gateway.child);
      through.push(...(await load(port, requestTo(wide), connections, requests / rounds)));
      cpu += (await cpuMicros(gateway.child)) - before;
    }
    say({
      measurement: "hop",
      connections,
      "p50 ms without": ms(percentile(without, 0.5)),
      "p50 ms with": ms(percentile(through, 0.5)),
      "p50 ms added": ms(percentile(through, 0.5) - percentile(without, 0.5)),
      "p99 ms without": ms(percentile(without, 0.99)),
      "p99 ms with": ms(percentile(through, 0.99)),
      "CPU µs of the gateway": (cpu / requests).toFixed(1),
    });
  }
  gateway.child.kill();
  runtime.child.kill();
}

/**
 * One request every 5 ms of a quiet tenant at each of two gateways at the same time, while another tenant floods one of them with ten
 * times its allowed rate. Other load of the machine, and the cost of the flood itself, affect both alike.
 */
async function measureFairness(): Promise<void> {
  const runtimes = [start("runtime"), start("runtime"), start("runtime")];
  const [own, other, calm] = await Promise.all(runtimes.map(({ message }) => message));
  const flooded = start("gateway", `${own} ${other}`);
  const spared = start("gateway", `${calm} ${calm}`);
  const [here, there] = (await Promise.all([flooded.message, spared.message])) as [GatewayFacts, GatewayFacts];
  const both = (forMs: number): Promise<[number[], number[]]> =>
    Promise.all([steadily(here.port, here.quiet, forMs), steadily(there.port, there.quiet, forMs)]);
  await both(2_000);
  for (const { name, options } of [
    { name: "nobody", options: undefined },
    { name: "free: 20/s, sent 200/s", options: { port: here.port, place: here.flooding, perSecond: 200 } },
    { name: "team: 500/s, sent 500/s", options: { port: here.port, place: here.wideFlooding, perSecond: 500 } },
    { name: "team: 500/s, sent 5,000/s", options: { port: here.port, place: here.wideFlooding, perSecond: 5_000 } },
  ] satisfies { name: string; options: FloodOptions | undefined }[]) {
    const flooder = options === undefined ? undefined : fork(process.argv[1] as string, ["flood", JSON.stringify(options)]);
    await both(2_000); // Uses up the burst of the plan.
    const before = await cpuMicros(flooded.child);
    const [beside, alone] = await both(FAIR_MS);
    const cpu = (await cpuMicros(flooded.child)) - before;
    flooder?.kill();
    say({ measurement: "share of a core while flooded", flood: name, share: (cpu / (FAIR_MS * 1_000)).toFixed(3) });
    for (const share of [0.5, 0.9, 0.99]) {
      const [a, b] = [percentile(alone, share), percentile(beside, share)];
      const moved = `${(((b - a) / a) * 100).toFixed(1)} %`;
      say({ measurement: `p${share * 100} ms of the quiet tenant`, flood: name, spared: ms(a), flooded: ms(b), moved });
    }
  }
  for (const { child } of [flooded, spared, ...runtimes]) child.kill();
}

const FAIR_MS = 8_000;

async function steadily(port: number, place: Place, forMs: number): Promise<number[]> {
  const bytes = requestTo(place);
  const free: Socket[] = [];
  const all: Socket[] = [];
  const samples: Promise<number>[] = [];
  const endsAt = performance.now() + forMs;
  while (performance.now() < endsAt) {
    // One answer at a time on each connection, however slow it gets.
    let socket = free.pop();
    if (socket === undefined) {
      socket = await open(port);
      all.push(socket);
    }
    const own = socket;
    samples.push(exchange(own, bytes).finally(() => free.push(own)));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const latencies = await Promise.all(samples);
  for (const socket of all) socket.destroy();
  return latencies;
}

// ── which ────────────────────────────────────────────────────────────────────────────────────────

const [mode = "all", argument = ""] = process.argv.slice(2);
if (mode === "runtime") serveRuntime();
else if (mode === "gateway") await serveGateway(argument);
else if (mode === "flood") flood(JSON.parse(argument) as FloodOptions);
else {
  if (mode === "all" || mode === "hit") await measureHit();
  if (mode === "all" || mode === "hop") await measureHop();
  if (mode === "all" || mode === "fair") await measureFairness();
}
