/** A relay on loopback with a tenancy in memory, an environment with its keys, and clients of both sides. */
import { generateKeyPairSync } from "node:crypto";
import {
  type ClientHttp2Session,
  connect,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type Socket, connect as tcpConnect } from "node:net";
import { type Clock, type Logger, Secret, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { bareOf, type EnvironmentFacts } from "@perdure/cloud";
import { exampleEnvironment, exampleLimits, MemoryTenancy } from "@perdure/cloud/testing";
import { createRequestIdentity, type RequestIdentity } from "@perdure/endpoint-transport";
import type { Edge } from "@perdure/telemetry";
import {
  type ClientTunnel,
  openTunnel,
  RUNTIME_TOKEN_HEADER,
  START_TUNNEL_PATH,
  type TunnelClientEvent,
  type TunnelOptions,
} from "@perdure/tunnel";
import { createTunnelRelay, type RelayOptions, type TunnelRelay } from "../src/index.js";
import { HANDSHAKE_MS } from "../src/limits.js";

function newPem(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/**
 * Timers run `times` faster; clocks show the real time. Handshakes keep their real timeout by default, so that a busy machine does not end
 * those of correct clients.
 */
export function hurried(times: number, { handshakesToo = false } = {}): Clock {
  const after = (delayMs: number): number => (delayMs === HANDSHAKE_MS && !handshakesToo ? delayMs : delayMs / times);
  return { ...systemClock, setTimer: (delayMs, fire) => systemClock.setTimer(after(delayMs), fire) };
}

/** Origin of the relays' proxies in addresses. */
export const PUBLIC_PROXY = "https://tunnel.us.perdure.test:9080";

/** An environment with its API key and signing key. */
export interface Tenant {
  readonly facts: EnvironmentFacts;
  readonly identity: RequestIdentity;
  /** The private signing key. */
  readonly pem: string;
  readonly key: string;
  readonly token: string;
}

let tenants = 0;

export function aTenant(tenancy: MemoryTenancy, set: Partial<EnvironmentFacts> = {}): Tenant {
  const pem = newPem();
  const identity = createRequestIdentity(new Secret(pem), systemClock);
  const facts = tenancy.put(
    exampleEnvironment({
      signingPublicKeys: [identity.publicKey],
      limits: { ...exampleLimits, tunnelNamesMax: 4, tunnelConnectionsMax: 16 },
      ...set,
    }),
  );
  const token = `rt_${tenants++}`;
  tenancy.runtimes.set(token, facts.id);
  return { facts, identity, pem, key: tenancy.addKey(facts.id, "rst:role::FullAccess"), token };
}

export interface World extends AsyncDisposable {
  readonly tenancy: MemoryTenancy;
  readonly tenant: Tenant;
  readonly relay: TunnelRelay;
  readonly tunnelUrl: string;
  readonly proxyUrl: string;
}

export async function aWorld(
  options: Partial<RelayOptions> = {},
  {
    clock = systemClock,
    tenancy = new MemoryTenancy(),
    edge,
    logger = silentLogger,
  }: { clock?: Clock; tenancy?: MemoryTenancy; edge?: Edge | undefined; logger?: Logger } = {},
): Promise<World> {
  const relay = createTunnelRelay(
    { tenancy, clock, random: systemRandom, logger, edge },
    {
      regions: ["us"],
      relay: "r1",
      proxyUrl: PUBLIC_PROXY,
      tunnelUrl: "https://tunnel.us.perdure.test:9090",
      handshakesPerMinute: 100_000,
      drainMs: 10_000,
      ...options,
    },
  );
  const tunnels = await relay.listenTunnels({ host: "127.0.0.1", port: 0 });
  const proxy = await relay.listenProxy({ host: "127.0.0.1", port: 0 });
  return {
    tenancy,
    tenant: aTenant(tenancy),
    relay,
    tunnelUrl: `http://127.0.0.1:${tunnels.port}`,
    proxyUrl: `http://127.0.0.1:${proxy.port}`,
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

// ── Perdure's client ─────────────────────────────────────────────────────────────────────────────

export interface OwnClient extends AsyncDisposable {
  readonly tunnel: ClientTunnel;
  readonly events: TunnelClientEvent[];
  next(kind: TunnelClientEvent["kind"]): Promise<TunnelClientEvent>;
}

export function ownClient(
  { tunnelUrl }: Pick<World, "tunnelUrl">,
  { facts, identity, key }: Tenant,
  set: Partial<TunnelOptions> = {},
): OwnClient {
  const events: TunnelClientEvent[] = [];
  const waiting: { kind: string; resolve: (event: TunnelClientEvent) => void }[] = [];
  const tunnel = openTunnel({
    environmentId: facts.id,
    name: "t",
    servers: [tunnelUrl],
    credential: async () => key,
    signingPublicKeys: [identity.publicKey],
    locals: [],
    clientVersion: "1.0",
    clock: systemClock,
    random: systemRandom,
    drainMs: 5_000,
    onEvent(event) {
      events.push(event);
      for (const one of waiting.filter(({ kind }) => kind === event.kind)) one.resolve(event);
    },
    ...set,
  });
  return {
    tunnel,
    events,
    next: (kind) => new Promise((resolve) => waiting.push({ kind, resolve })),
    [Symbol.asyncDispose]: () => tunnel.close(),
  };
}

// ── a scripted client ────────────────────────────────────────────────────────────────────────────

/** A scripted client and what it received of the handshake. */
export interface RawClient extends AsyncDisposable {
  readonly socket: Socket;
  readonly session: ServerHttp2Session;
  /** Headers of the relay's first request. */
  readonly startHeaders: Readonly<Record<string, unknown>>;
  /** Trailers with the status; undefined when the connection ended without them. */
  readonly decision: Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  /** Answers later requests; with 404 unless set. */
  onStream: (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void;
}

/** Connects and answers the first request with these headers; `undefined` never answers it. */
export async function rawClient(
  { tunnelUrl }: Pick<World, "tunnelUrl">,
  answer: Record<string, string> | undefined,
): Promise<RawClient> {
  const { port } = new URL(tunnelUrl);
  const socket = tcpConnect(Number(port), "127.0.0.1");
  socket.on("error", () => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const session = performServerHandshake(socket);
  session.on("error", () => socket.destroy());
  const first = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const decision = Promise.withResolvers<Readonly<Record<string, unknown>> | undefined>();
  const closed = Promise.withResolvers<void>();
  socket.on("close", () => {
    decision.resolve(undefined);
    closed.resolve();
  });
  let isFirst = true;
  session.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    if (!isFirst) return client.onStream(stream, headers);
    isFirst = false;
    first.resolve(headers);
    stream.on("trailers", (trailers) => decision.resolve(Object.fromEntries(Object.entries(trailers))));
    stream.resume();
    if (answer === undefined) return;
    stream.respond({ ":status": 200, ...answer });
    stream.end();
  });
  const client: RawClient = {
    socket,
    session,
    startHeaders: {},
    decision: decision.promise,
    closed: closed.promise,
    onStream(stream) {
      stream.respond({ ":status": 404 }, { endStream: true });
    },
    async [Symbol.asyncDispose]() {
      session.destroy();
      socket.destroy();
      await closed.promise;
    },
  };
  const startHeaders = await first.promise;
  expectStart(startHeaders);
  return Object.assign(client, { startHeaders });
}

function expectStart(startHeaders: Readonly<Record<string, unknown>>): void {
  if (startHeaders[":path"] !== START_TUNNEL_PATH || startHeaders[":method"] !== "GET")
    throw new Error(`unexpected request ${String(startHeaders[":path"])}`);
}

/** Headers of a client with valid credentials. */
export function credentials({ facts, key }: Tenant, name = "t"): Record<string, string> {
  return { authorization: `Bearer ${key}`, "environment-id": facts.id, "tunnel-name": name, "supports-drain": "true" };
}

// ── a runtime ────────────────────────────────────────────────────────────────────────────────────

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface RuntimeRequest {
  readonly tenant: Tenant;
  /** Path after `/<bare>`; the whole path when it begins with a slash and `bare` is undefined. */
  readonly path: string;
  /** The signed path; by default the end of the path after the destination. */
  readonly audience?: string;
  readonly token?: string | undefined;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** HTTP/2 requests as a runtime sends them. */
export class FakeRuntime implements AsyncDisposable {
  readonly session: ClientHttp2Session;

  constructor({ proxyUrl }: Pick<World, "proxyUrl">) {
    this.session = connect(proxyUrl);
    this.session.on("error", () => undefined);
  }

  headers({ tenant, path, audience, token = tenant.token, headers }: RuntimeRequest): Record<string, string> {
    const full = path.startsWith("/") ? path : `/${bareOf(tenant.facts.id)}/${path}`;
    const all: Record<string, string> = { ":method": "POST", ":path": full, ...headers };
    tenant.identity.sign(all, audience ?? `/${full.split("?")[0]?.split("/").slice(6).join("/")}`, undefined);
    if (token !== "") all[RUNTIME_TOKEN_HEADER] = token;
    return all;
  }

  open(request: RuntimeRequest) {
    return this.session.request(this.headers(request), { endStream: false });
  }

  request(request: RuntimeRequest): Promise<Answer> {
    const stream = this.open(request);
    return new Promise((resolve, reject) => {
      let head: Readonly<Record<string, unknown>> | undefined;
      let body = "";
      stream.setEncoding("utf8");
      stream.on("response", (headers) => {
        head = headers;
      });
      stream.on("data", (chunk: string) => {
        body += chunk;
      });
      stream.on("error", reject);
      stream.on("close", () =>
        head === undefined ? reject(new Error("no answer")) : resolve({ status: Number(head[":status"]), headers: head, body }),
      );
      stream.end(request.body);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.session.destroy();
  }
}
