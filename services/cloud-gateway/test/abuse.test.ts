/** Connections that cost the gateway more than their sender are closed, and other clients do not notice (cloud.md §6.5, §7 T21, T22). */

import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { until } from "@perdure/testkit";
import { bearer, type GatewayFixture, hostOf, startGateway, startRuntime, type TestRuntime } from "./fixture.js";

let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
let key: string;
beforeAll(async () => {
  runtime = await startRuntime();
  fixture = await startGateway();
  facts = fixture.environment(runtime);
  key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = 4;
const PING = 6;
const HEADERS = 1;
const RST_STREAM = 3;
const CONTINUATION = 9;

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:method: GET`, `:scheme: http`, `:path: /` of the static table, and an `:authority` written out. */
function requestBlock(host: string): Buffer {
  return Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x01, host.length]), Buffer.from(host)]);
}

/** Writes the chunks and resolves when the gateway has closed the connection, with the number of received bytes. */
async function untilClosed(chunks: readonly Buffer[]): Promise<number> {
  const socket: Socket = connect({ port: fixture.ports.ingress, host: "127.0.0.1" });
  let received = 0;
  socket.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  socket.on("error", () => undefined); // A reset is an end too.
  await once(socket, "connect");
  const closed = once(socket, "close");
  for (const chunk of chunks) socket.write(chunk);
  await closed;
  return received;
}

async function othersAreServed(): Promise<void> {
  expect((await fixture.call("h2", "ingress", facts, { path: "/S/h", headers: bearer(key) })).status).toBe(200);
}

test("T21: rapid resets end the connection, and few of them reach a runtime", async () => {
  const startedBefore = runtime.started;
  const block = requestBlock(hostOf(facts));
  const resets = Array.from({ length: 1_000 }, (_, i) => {
    const stream = 2 * i + 1;
    return Buffer.concat([frame(HEADERS, 5, stream, block), frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8]))]);
  });
  await untilClosed([PREFACE, frame(SETTINGS, 0, 0), ...resets]);
  expect(runtime.started).toBe(startedBefore);
  await othersAreServed();
  await until(() => fixture.gateway.inFlight === 0, "nothing is in flight");
});

test.each([
  ["PINGs", () => frame(PING, 0, 0, Buffer.alloc(8))],
  ["SETTINGS", () => frame(SETTINGS, 0, 0)],
])("a flood of %s ends the connection", async (_name, one) => {
  const received = await untilClosed([PREFACE, frame(SETTINGS, 0, 0), Buffer.concat(Array.from({ length: 5_000 }, one))]);
  expect(received).toBeLessThan(200_000);
  await othersAreServed();
});

test("T21: headers without end, in CONTINUATION frames, end the connection", async () => {
  const block = requestBlock(hostOf(facts));
  const more = Array.from({ length: 200 }, () => frame(CONTINUATION, 0, 1, Buffer.from([0x00, 0x01, 0x61, 0x01, 0x62])));
  await untilClosed([PREFACE, frame(SETTINGS, 0, 0), frame(HEADERS, 1, 1, block), ...more]);
  await othersAreServed();
});

test("T21: a client that opens no window keeps only its own streams waiting", async () => {
  let written = 0;
  const chunk = Buffer.alloc(64 * 1024);
  await using large = await startRuntime((_req, res) => {
    const more = (): void => {
      for (let left = 1_600; left > 0; left--) {
        written += chunk.length;
        if (!res.write(chunk)) return void res.once("drain", more);
      }
      res.end();
    };
    more();
  });
  const place = fixture.environment(large);
  const own = fixture.tenancy.addKey(place.id, "rst:role::FullAccess");
  const session = connectHttp2(`http://127.0.0.1:${fixture.ports.ingress}`, { settings: { initialWindowSize: 0 } });
  await once(session, "connect");
  const streams = Array.from({ length: 4 }, () =>
    session.request({ ":path": "/S/h", ":authority": hostOf(place), authorization: `Bearer ${own}` }),
  );
  for (const stream of streams) stream.on("error", () => undefined);
  await Promise.all(streams.map((stream) => once(stream, "response")));
  await othersAreServed();
  await othersAreServed();
  expect(large.started).toBe(4);
  // Of 400 MiB: what the sockets of this machine buffer, and nothing that the gateway buffers.
  expect(written).toBeLessThan(100 * 1024 * 1024);
  session.destroy();
  await until(() => fixture.gateway.inFlight === 0, "nothing is in flight");
});

test("T22: idle connections are bounded per network, and a closed one frees its slot", async () => {
  await using narrow = await startGateway({ options: { connectionsPerNetworkMax: 3 } });
  const dial = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: narrow.ports.ingress }, () => resolve(socket));
      socket.once("error", reject);
    });
  const silent = [await dial(), await dial(), await dial()];
  const extraSocket = await dial();
  const ended = new Promise((resolve) => extraSocket.once("close", resolve));
  extraSocket.on("error", () => undefined);
  await ended;
  for (const socket of silent) socket.destroy();
  const place = narrow.environment(runtime);
  const headers = bearer(narrow.tenancy.addKey(place.id, "rst:role::FullAccess"));
  const isServed = (): Promise<boolean> =>
    narrow.call("http/1.1", "ingress", place, { path: "/S/h", headers }).then(
      ({ status }) => status === 200,
      () => false, // Another connection is just closing.
    );
  while (!(await isServed()));
});

test("T21: more streams than agreed are refused without harm", async () => {
  await using silent = await startRuntime(() => undefined);
  const place = fixture.environment(silent);
  const own = fixture.tenancy.addKey(place.id, "rst:role::FullAccess");
  const session = connectHttp2(`http://127.0.0.1:${fixture.ports.ingress}`);
  await once(session, "remoteSettings");
  expect(session.remoteSettings.maxConcurrentStreams).toBe(250);
  const stream = session.request({ ":path": "/S/h", ":authority": hostOf(place), authorization: `Bearer ${own}` });
  stream.on("error", () => undefined);
  await until(() => silent.started === 1, "the runtime got the request");
  stream.close(constants.NGHTTP2_CANCEL);
  await until(() => silent.aborted === 1, "the runtime saw the end");
  session.destroy();
  await othersAreServed();
});
