/**
 * The overhead of a tunnel: added latency, requests per second and bytes per second, compared with direct requests. Relay,
 * client with the service behind it, and caller are processes of their own, on loopback and without TLS.
 *
 *   make microbench FILTER=tunnel
 *
 * Takes about 20 s. Results with dates are in docs/benchmarks.md.
 */
import { type ChildProcess, fork } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { type ClientHttp2Session, connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Secret, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { bareOf } from "@perdure/cloud";
import { exampleEnvironment, MemoryTenancy } from "@perdure/cloud/testing/tenancy";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { openTunnel, RUNTIME_TOKEN_HEADER } from "@perdure/tunnel";
import { createTunnelRelay } from "../src/index.js";

const TOKEN = "rt_bench";
const REQUESTS = 2_000;
const AT_ONCE = 64;
const BODY = Buffer.alloc(200, 97);
const STREAMED_BYTES = 96 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 98);
const ROUNDS = 3;

interface RelayFacts {
  readonly tunnelUrl: string;
  readonly proxyUrl: string;
  readonly environmentId: string;
  readonly bare: string;
  readonly key: string;
}

// ── processes ────────────────────────────────────────────────────────────────────────────────────

async function serveRelay(publicKey: string): Promise<void> {
  const tenancy = new MemoryTenancy();
  const facts = tenancy.put(exampleEnvironment({ signingPublicKeys: [publicKey] }));
  tenancy.runtimes.set(TOKEN, facts.id);
  const relay = createTunnelRelay(
    { tenancy, clock: systemClock, random: systemRandom, logger: silentLogger },
    { regions: [facts.region], relay: "bench", proxyUrl: "http://127.0.0.1:1", tunnelUrl: "http://127.0.0.1:2" },
  );
  const tunnels = await relay.listenTunnels({ host: "127.0.0.1", port: 0 });
  const proxy = await relay.listenProxy({ host: "127.0.0.1", port: 0 });
  process.send?.({
    tunnelUrl: `http://127.0.0.1:${tunnels.port}`,
    proxyUrl: `http://127.0.0.1:${proxy.port}`,
    environmentId: facts.id,
    bare: bareOf(facts.id),
    key: tenancy.addKey(facts.id, "rst:role::FullAccess"),
  } satisfies RelayFacts);
}

async function serveClient(publicKey: string, { tunnelUrl, environmentId, key }: RelayFacts): Promise<void> {
  const server = createServer({ settings: { initialWindowSize: 1024 * 1024 } });
  server.on("session", (session) => session.setLocalWindowSize(16 * 1024 * 1024));
  server.on("stream", (stream, headers) => {
    stream.respond({ ":status": 200 });
    if (headers[":path"] !== "/sink") return void stream.pipe(stream);
    stream.resume();
    stream.on("end", () => stream.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const tunnel = openTunnel({
    environmentId,
    name: "bench",
    servers: [tunnelUrl],
    credential: async () => key,
    signingPublicKeys: [publicKey],
    locals: [{ tunnelPort: 80, host: "127.0.0.1", port }],
    clientVersion: "bench",
    clock: systemClock,
    random: systemRandom,
  });
  await tunnel.ready;
  process.send?.(port);
}

function start<T>(...args: string[]): Promise<{ readonly child: ChildProcess; readonly said: T }> {
  const child = fork(process.argv[1] as string, args);
  return new Promise((resolve, reject) => {
    child.once("message", (said) => resolve({ child, said: said as T }));
    child.once("exit", (code) => reject(new Error(`${args[0]} ended with ${code}`)));
  });
}

// ── measuring ────────────────────────────────────────────────────────────────────────────────────

type HeadersOf = (path: string) => Record<string, string>;

function once(session: ClientHttp2Session, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: false });
    stream.on("response", (answer) => {
      if (answer[":status"] !== 200) reject(new Error(`answered ${answer[":status"]}`));
    });
    stream.on("error", reject);
    stream.on("close", () => resolve());
    stream.resume();
    stream.end(BODY);
  });
}

/** Milliseconds of each request, one after the other. */
async function latencies(session: ClientHttp2Session, headersOf: HeadersOf, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now();
    await once(session, headersOf("/echo"));
    samples.push(performance.now() - startedAt);
  }
  return samples.sort((a, b) => a - b);
}

async function perSecond(session: ClientHttp2Session, headersOf: HeadersOf): Promise<number> {
  const startedAt = performance.now();
  let left = REQUESTS;
  const one = async (): Promise<void> => {
    while (left-- > 0) await once(session, headersOf("/echo"));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return REQUESTS / ((performance.now() - startedAt) / 1000);
}

async function mebibytesPerSecond(session: ClientHttp2Session, headersOf: HeadersOf): Promise<number> {
  const startedAt = performance.now();
  await new Promise<void>((resolve, reject) => {
    const stream = session.request(headersOf("/sink"), { endStream: false });
    let left = STREAMED_BYTES;
    const write = (): void => {
      while (left > 0) {
        left -= CHUNK.length;
        if (!stream.write(CHUNK)) return void stream.once("drain", write);
      }
      stream.end();
    };
    stream.on("error", reject);
    stream.on("close", () => resolve());
    stream.resume();
    write();
  });
  return STREAMED_BYTES / 1024 ** 2 / ((performance.now() - startedAt) / 1000);
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] as number;

async function main(): Promise<void> {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const identity = createRequestIdentity(new Secret(pem), systemClock);
  const relay = await start<RelayFacts>("relay", identity.publicKey);
  const client = await start<number>("client", identity.publicKey, JSON.stringify(relay.said));
  const direct = connect(`http://127.0.0.1:${client.said}`);
  const tunnel = connect(relay.said.proxyUrl);
  const directHeaders: HeadersOf = (path) => signed({ ":method": "POST", ":path": path }, path);
  const tunnelHeaders: HeadersOf = (path) =>
    signed(
      { ":method": "POST", ":path": `/${relay.said.bare}/bench/http/localhost/80${path}`, [RUNTIME_TOKEN_HEADER]: TOKEN },
      path,
    );
  /** Signs headers for each request, as a runtime does. */
  function signed(headers: Record<string, string>, path: string): Record<string, string> {
    identity.sign(headers, path, undefined);
    return headers;
  }
  for (const [session, headersOf] of [
    [direct, directHeaders],
    [tunnel, tunnelHeaders],
  ] as const)
    await latencies(session, headersOf, 500);
  console.log("                         p50 ms   p99 ms   requests/s    MiB/s");
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, session, headersOf] of [
      ["straight", direct, directHeaders],
      ["through a tunnel", tunnel, tunnelHeaders],
    ] as const) {
      const samples = await latencies(session, headersOf, 1_000);
      const rate = await perSecond(session, headersOf);
      const bytes = await mebibytesPerSecond(session, headersOf);
      const figures = [at(samples, 0.5).toFixed(2), at(samples, 0.99).toFixed(2), rate.toFixed(0), bytes.toFixed(0)];
      console.log(name.padEnd(20) + figures.map((figure) => figure.padStart(10)).join(""));
    }
  }
  for (const { child } of [client, relay]) child.kill();
  process.exit(0);
}

const [role, publicKey = "", facts = "{}"] = process.argv.slice(2);
if (role === "relay") await serveRelay(publicKey);
else if (role === "client") await serveClient(publicKey, JSON.parse(facts) as RelayFacts);
else await main();
