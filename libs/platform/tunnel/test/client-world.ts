/** Tunnel clients in front of a local service, and requests that the environment signed. */
import { generateKeyPairSync } from "node:crypto";
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Clock, Secret, systemClock, systemRandom } from "@perdure/base";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { FRAME, headerBlock, http2Frame } from "@perdure/testkit";
import { openTunnel, type TunnelClientEvent, type TunnelOptions } from "../src/index.js";
import { HANDSHAKE_MS } from "../src/limits.js";
import type { FakeRelay } from "./fake-relay.js";

export const ENVIRONMENT = "env_201k0yd4rz8yftmd4awh1bajg4v";
export const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
export const identity = createRequestIdentity(new Secret(pem), systemClock);
export const otherIdentity = createRequestIdentity(
  new Secret(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
  systemClock,
);

const END_STREAM = 1;
const END_HEADERS = 4;
/** A clock on which a client reconnects at once; handshakes keep their real timeout. */
export const HURRIED: Clock = {
  ...systemClock,
  setTimer: (delayMs, fire) => systemClock.setTimer(delayMs === HANDSHAKE_MS ? delayMs : 0, fire),
};

export function signed(path: string, by = identity): Record<string, string> {
  const headers: Record<string, string> = {};
  by.sign(headers, path, undefined);
  return headers;
}

export const letIn = (hello: Readonly<Record<string, unknown>>) =>
  ({
    status: "ok",
    name: String(hello["tunnel-name"]),
    proxyUrl: "http://127.0.0.1:9080/x/t",
    tunnelUrl: "http://127.0.0.1:9090",
  }) as const;

interface Local extends AsyncDisposable {
  readonly port: number;
  readonly requests: { path: string; version: string; headers: Readonly<Record<string, unknown>> }[];
}

/** A local service that returns facts of the request, or echoes its body. */
export async function aLocal(version: "h1" | "h2" = "h2"): Promise<Local> {
  const requests: Local["requests"] = [];
  const answer = (request: Pick<IncomingMessage, "url" | "headers" | "httpVersion">, response: unknown): void => {
    const out = response as ServerResponse;
    requests.push({ path: request.url ?? "", version: request.httpVersion, headers: request.headers });
    if (request.url?.startsWith("/redirect")) out.writeHead(302, { location: "http://127.0.0.1:1/elsewhere" }).end();
    else {
      out.writeHead(200, { "content-type": "text/plain", "x-of": "local" });
      (request as IncomingMessage).pipe(out);
    }
  };
  const server = version === "h2" ? createHttp2(answer) : createHttp1(answer);
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket: { destroy(): void }) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A tunnel and the events that it emitted. */
export function aTunnel(relay: Pick<FakeRelay, "url">, set: Partial<TunnelOptions> = {}) {
  const events: TunnelClientEvent[] = [];
  const waiting: { kind: string; resolve: (event: TunnelClientEvent) => void }[] = [];
  const tunnel = openTunnel({
    environmentId: ENVIRONMENT,
    name: "t",
    servers: [relay.url],
    credential: async () => "key_secret",
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
  const next = (kind: TunnelClientEvent["kind"]): Promise<TunnelClientEvent> =>
    new Promise((resolve) => waiting.push({ kind, resolve }));
  return { tunnel, events, next, [Symbol.asyncDispose]: () => tunnel.close() };
}

export const requestFor = (path: string): Buffer =>
  http2Frame(
    FRAME.headers,
    END_STREAM | END_HEADERS,
    1,
    headerBlock({ ":method": "GET", ":scheme": "http", ":path": path, ":authority": "a" }),
  );
