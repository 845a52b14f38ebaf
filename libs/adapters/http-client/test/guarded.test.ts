/** A guarded transport against servers on this machine, with a resolver whose answers the test sets. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { systemClock, systemRandom } from "@perdure/base";
import { createEgressGuard, type EgressGuard, parseAllowance } from "@perdure/egress";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { createHttpTransport, type FetchOutcome, fetchOnce } from "../src/index.js";

const DENIED: FetchOutcome = { kind: "failed", failure: { kind: "denied", message: "destination not allowed" } };
/** Stands for the internet: the guard lets connections go there, by an exception. */
const OUTSIDE = "127.0.0.2";
const INSIDE = "127.0.0.1";

let open: AsyncDisposable[];
beforeEach(() => {
  open = [];
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

interface Counted {
  readonly port: number;
  connections: number;
}

async function listening(server: Server, host: string, port = 0): Promise<Counted> {
  const counted = { port: 0, connections: 0 };
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => {
    counted.connections++;
    sockets.add(socket);
  });
  server.listen(port, host);
  await once(server, "listening");
  open.push({
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  });
  counted.port = (server.address() as AddressInfo).port;
  return counted;
}

function endpoint(http: 1 | 2, headers: Record<string, string> = {}, status = 200): Server {
  if (http === 1) return createHttpServer((_req, res) => res.writeHead(status, headers).end("hello"));
  return createHttp2Server((_req, res) => {
    res.writeHead(status, headers);
    res.end("hello");
  }) as unknown as Server; // What is counted of it are its TCP connections.
}

interface Guarded {
  readonly guard: EgressGuard;
  readonly transport: EndpointTransport;
  /** Addresses that the resolver returns from now on. */
  answer: readonly string[];
  readonly resolvedHosts: string[];
}

function aGuarded(...allow: readonly string[]): Guarded {
  const state = { answer: [] as readonly string[], resolvedHosts: [] as string[] };
  const guard = createEgressGuard(
    { allowPlainHttp: true, ownDomains: [], ownRanges: [], allowances: [OUTSIDE, ...allow].map((text) => parseAllowance(text)!) },
    {
      resolve(hostname, done) {
        state.resolvedHosts.push(hostname);
        done(
          null,
          state.answer.map((address) => ({ address, family: 4 })),
        );
      },
      onDenied() {},
    },
  );
  const transport = createHttpTransport({ clock: systemClock, random: systemRandom, guard });
  open.push(transport);
  return Object.assign(state, { guard, transport });
}

function fetchGuarded(
  { guard, transport }: Guarded,
  uri: string,
  httpVersion: "HTTP/1.1" | "HTTP/2.0" | "auto",
): Promise<FetchOutcome> {
  const request = {
    uri,
    httpVersion,
    method: "GET",
    path: "/discover",
    headers: {},
    responseBytesMax: 1024,
    timeoutMs: 5_000,
  } as const;
  return fetchOnce({ transport, clock: systemClock, guard }, request);
}

describe.each([
  [1, "HTTP/1.1"],
  [2, "HTTP/2.0"],
] as const)("a guarded transport over HTTP/%i", (http, version) => {
  test("connects to the address that was checked", async () => {
    const { port } = await listening(endpoint(http), OUTSIDE);
    const world = aGuarded();
    world.answer = [OUTSIDE];
    expect(await fetchGuarded(world, `http://sdk.example.com:${port}/`, version)).toMatchObject({
      kind: "response",
      status: 200,
    });
    expect(world.resolvedHosts).toEqual(["sdk.example.com"]);
  });

  test.each(["http://127.0.0.1:PORT/", "http://2130706433:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://localhost:PORT/"])(
    "does not even resolve %s",
    async (uri) => {
      const inside = await listening(endpoint(http), INSIDE);
      const world = aGuarded();
      expect(await fetchGuarded(world, uri.replace("PORT", String(inside.port)), version)).toEqual(DENIED);
      expect(world.resolvedHosts).toEqual([]);
      expect(inside.connections).toBe(0);
    },
  );

  test("T4: a name that resolves to an internal address for the second connection is refused there, and nothing connects", async () => {
    const outside = await listening(endpoint(http, http === 1 ? { connection: "close" } : {}), OUTSIDE);
    const inside = await listening(endpoint(http), INSIDE, outside.port);
    const world = aGuarded();
    const uri = `http://rebind.example.com:${outside.port}/`;
    world.answer = [OUTSIDE];
    expect(await fetchGuarded(world, uri, version)).toMatchObject({ kind: "response" });
    await world.transport[Symbol.asyncDispose](); // As when a connection ended by itself: the next one is a new one.
    const next = { ...world, transport: createHttpTransport({ clock: systemClock, random: systemRandom, guard: world.guard }) };
    open.push(next.transport);
    world.answer = [INSIDE];
    expect(await fetchGuarded(next, uri, version)).toEqual(DENIED);
    expect(outside.connections).toBe(1);
    expect(inside.connections).toBe(0);
  });

  test("one answer that leads inside spoils the others", async () => {
    const inside = await listening(endpoint(http), INSIDE);
    const world = aGuarded();
    world.answer = [OUTSIDE, INSIDE];
    expect(await fetchGuarded(world, `http://mixed.example.com:${inside.port}/`, version)).toEqual(DENIED);
    expect(inside.connections).toBe(0);
  });

  test("a redirect is an answer like any other", async () => {
    const inside = await listening(endpoint(http), INSIDE);
    const { port } = await listening(endpoint(http, { location: `http://127.0.0.1:${inside.port}/` }, 302), OUTSIDE);
    expect(await fetchGuarded(aGuarded(), `http://${OUTSIDE}:${port}/`, version)).toMatchObject({
      kind: "response",
      status: 302,
    });
    expect(inside.connections).toBe(0);
  });

  test("connections are counted until they are gone", async () => {
    const { port } = await listening(endpoint(http), OUTSIDE);
    const world = aGuarded();
    const origin = `http://${OUTSIDE}:${port}`;
    const held = Array.from({ length: 99 }, () => world.guard.admitOrigin(origin));
    expect(await fetchGuarded(world, origin, version)).toMatchObject({ kind: "response" }); // The hundredth; it is kept for later requests.
    expect(world.guard.admitOrigin(origin).kind).toBe("full");
    const other = createHttpTransport({ clock: systemClock, random: systemRandom, guard: world.guard });
    open.push(other);
    expect(await fetchGuarded({ ...world, transport: other }, origin, version)).toMatchObject({
      kind: "failed",
      failure: { kind: "connect", message: expect.stringContaining("too many connections") },
    });
    for (const one of held) if (one.kind === "admitted") one.release();
    expect(await fetchGuarded({ ...world, transport: other }, origin, version)).toMatchObject({ kind: "response" });
  });
});

test("the handshake that negotiates the version is guarded too", async () => {
  const inside = await listening(createServer(), INSIDE);
  const world = aGuarded();
  world.answer = [INSIDE];
  expect(await fetchGuarded(world, `https://127.0.0.1:${inside.port}/`, "auto")).toEqual(DENIED);
  expect(world.resolvedHosts).toEqual([]);
  expect(await fetchGuarded(world, `https://rebind.example.com:${inside.port}/`, "auto")).toEqual(DENIED);
  expect(world.resolvedHosts).toEqual(["rebind.example.com"]);
  expect(inside.connections).toBe(0);
});

test.each(["HTTP/1.1", "HTTP/2.0"] as const)("connections over TLS are guarded by %s", async (version) => {
  const inside = await listening(createServer(), INSIDE);
  const world = aGuarded();
  world.answer = [INSIDE];
  expect(await fetchGuarded(world, `https://rebind.example.com:${inside.port}/`, version)).toEqual(DENIED);
  expect(inside.connections).toBe(0);
});

test("an exception for a place opens what is below its path only", async () => {
  const inside = await listening(endpoint(1), INSIDE);
  const world = aGuarded(`http://127.0.0.1:${inside.port}/2abc/`);
  const uri = `http://127.0.0.1:${inside.port}`;
  expect(await fetchGuarded(world, `${uri}/2abc/t`, "HTTP/1.1")).toMatchObject({ kind: "response" });
  expect(await fetchGuarded(world, `${uri}/2other/t`, "HTTP/1.1")).toEqual(DENIED);
  expect(await fetchGuarded(world, `${uri}/2abc/../2other/t`, "HTTP/1.1")).toEqual(DENIED);
  expect(inside.connections).toBe(1);
});
