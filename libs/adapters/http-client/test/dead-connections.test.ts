/** Connections that end in bad ways are no longer counted, and what waits for a connection is served by another one. */
import { createServer, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { systemClock, systemRandom } from "@perdure/base";
import { SeededRandom, until, VirtualClock } from "@perdure/testkit";
import { type CountingTransport, createHttpTransport } from "../src/index.js";
import { openSockets } from "./open-sockets.js";
import { type RawPeer, type RawServer, serveRaw } from "./raw-http2.js";
import { open, type Recorder } from "./recorder.js";
import { listen } from "./sdk-endpoint.js";

/** More than the kernel's buffers of both ends take. */
const STUCK_BYTES = 32 * 1024 * 1024;
const NONE = { connecting: 0, open: 0, draining: 0, http11: 0 };

/** The connections by the endpoint's own count; those that it stopped reading are read to their end. */
function openAt(server: RawServer): number {
  for (const { socket } of server.peers) socket.resume();
  return server.peers.filter(({ socket }) => !socket.closed).length;
}

function transportOn(clock: VirtualClock): CountingTransport {
  return createHttpTransport({ clock, random: new SeededRandom(1) });
}

/** Returns when the client has the peer's answer to a PING that it has sent before. */
async function pingAnswered(peer: RawPeer): Promise<void> {
  await peer.roundTrip(); // The peer has answered.
  await peer.roundTrip(); // The client has read the answer.
}

/** A connection on which a write is stuck, because the endpoint reads nothing any more. */
async function stuckConnection(
  transport: CountingTransport,
  server: RawServer,
  before?: (peer: RawPeer) => Promise<void>,
): Promise<{ recorder: Recorder }> {
  const { stream, recorder } = open(transport, server.uri);
  await recorder.until(({ status }) => status === 200);
  const peer = server.peers.at(-1)!;
  await before?.(peer);
  peer.freeze();
  stream.write(new Uint8Array(STUCK_BYTES));
  await new Promise<void>((resolve) => setTimeout(resolve, 100)); // What the kernel takes has been written.
  return { recorder };
}

const answering = () => serveRaw((peer, streamId) => peer.headers(streamId));

test("an endpoint that was stopped under a large message loses its connection, and the next stream gets a new one", async () => {
  await using server = await answering();
  const clock = new VirtualClock();
  await using transport = transportOn(clock);
  const { recorder } = await stuckConnection(transport, server);
  clock.advanceTo(clock.nextDueMs!); // PING
  clock.advanceBy(20_000);
  expect((await recorder.closed()).failure).toEqual({ kind: "reset", message: "the connection was lost: no answer to PING" });
  const next = open(transport, server.uri);
  await next.recorder.until(({ over, status }) => over || status === 200);
  expect(next.recorder.failure).toBeUndefined();
  await until(() => transport.connections().draining === 0);
  expect(transport.connections()).toEqual({ ...NONE, open: 1 });
  await until(() => openAt(server) === 1);
});

test("without PING an endpoint may be stopped for an hour, in a debugger for example", async () => {
  await using server = await answering();
  const clock = new VirtualClock();
  await using transport = createHttpTransport({ clock, random: new SeededRandom(1) }, { sendsPings: false });
  const { recorder } = await stuckConnection(transport, server);
  clock.advanceBy(3_600_000);
  expect(recorder.over).toBe(false);
  expect(transport.connections()).toEqual({ ...NONE, open: 1 });
});

test("streams that wait behind a stopped connection are served by others when it is lost", async () => {
  await using server = await serveRaw((peer, streamId) => peer.headers(streamId), 1);
  const clock = new VirtualClock();
  await using transport = transportOn(clock);
  const stuck = await stuckConnection(transport, server);
  const others = Array.from({ length: 70 }, () => open(transport, server.uri));
  await until(() => others.filter(({ recorder }) => recorder.status === 200).length === 63);
  while (!stuck.recorder.over) {
    clock.advanceTo(clock.nextDueMs!);
    await pingAnswered(server.peers[1]!);
  }
  await until(() => others.filter(({ recorder }) => recorder.status === 200).length === 64);
  expect(others.some(({ recorder }) => recorder.over)).toBe(false);
  expect(transport.connections()).toEqual({ ...NONE, open: 64 });
  await until(() => openAt(server) === 64);
});

test("a connection with a stream open after GOAWAY ends, too, when the endpoint is stopped", async () => {
  await using server = await answering();
  const clock = new VirtualClock();
  await using transport = transportOn(clock);
  const { recorder } = await stuckConnection(transport, server, async (peer) => {
    peer.goaway(1, 0);
    await until(() => transport.connections().draining === 1);
  });
  clock.advanceTo(clock.nextDueMs!); // PING
  clock.advanceBy(20_000);
  expect((await recorder.closed()).failure?.message).toContain("no answer to PING");
  await until(() => transport.connections().draining === 0 && openAt(server) === 0);
  expect(transport.connections()).toEqual(NONE);
  expect(clock.pendingTimers).toBe(0);
});

test("a stream that is open after GOAWAY runs on for as long as the endpoint answers", async () => {
  await using server = await answering();
  const clock = new VirtualClock();
  await using transport = transportOn(clock);
  const { recorder } = open(transport, server.uri);
  await recorder.until(({ status }) => status === 200);
  const [peer] = server.peers as [RawPeer];
  peer.goaway(1, 0);
  await until(() => transport.connections().draining === 1);
  for (let interval = 0; interval < 5; interval++) {
    clock.advanceTo(clock.nextDueMs!);
    await until(() => recorder.over || clock.pendingTimers === 1); // It has answered.
  }
  peer.data(1, Uint8Array.of(65), true);
  expect([(await recorder.closed()).text, recorder.failure]).toEqual(["A", undefined]);
});

test("a GOAWAY with an error code ends a connection with many streams, each of which fails once", async () => {
  await using server = await answering();
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const streams = Array.from({ length: 100 }, () => open(transport, server.uri));
  for (const { recorder } of streams) await recorder.until(({ status }) => status === 200);
  server.peers[0]!.goaway(199, 11);
  for (const { recorder } of streams) expect((await recorder.closed()).failure?.kind).toBe("reset");
  await until(() => transport.connections().draining === 0 && openAt(server) === 0);
  expect(transport.connections()).toEqual(NONE);
});

test("disposing closes connections on which a write is stuck", async () => {
  const leaks = openSockets();
  {
    await using server = await answering();
    const transport = transportOn(new VirtualClock());
    const { recorder } = await stuckConnection(transport, server);
    const before = process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
    await transport[Symbol.asyncDispose]();
    await until(() => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length === before - 1);
    expect((await recorder.closed()).failure?.kind).toBe("reset");
    await until(() => openAt(server) === 0);
  }
  await leaks.expectClosed();
});

test("disposing while streams wait opens no further connection", async () => {
  const sockets: Socket[] = [];
  await using silent = await listen(createServer((socket) => sockets.push(socket.on("error", () => {}).resume())));
  const clock = new VirtualClock();
  const transport = transportOn(clock);
  const waiting = Array.from({ length: 200 }, () => open(transport, silent.uri));
  await until(() => sockets.length === 2);
  await transport[Symbol.asyncDispose]();
  for (const { recorder } of waiting) expect((await recorder.closed()).failure?.kind).toBe("reset");
  await until(() => sockets.every(({ destroyed }) => destroyed) && clock.pendingTimers === 0);
  expect(sockets).toHaveLength(2);
});

test("an endpoint that accepts and sends nothing holds no connection after the connect timeout", async () => {
  const sockets: Socket[] = [];
  await using silent = await listen(createServer((socket) => sockets.push(socket.on("error", () => {}).resume())));
  const clock = new VirtualClock();
  await using transport = transportOn(clock);
  const waiting = Array.from({ length: 300 }, () => open(transport, silent.uri));
  await until(() => sockets.length === 3);
  clock.advanceBy(10_000);
  for (const { recorder } of waiting) expect((await recorder.closed()).failure?.kind).toBe("connect");
  await until(() => sockets.every(({ destroyed }) => destroyed));
  expect(transport.connections()).toEqual(NONE);
  expect(clock.pendingTimers).toBe(0);
});

test("an endpoint that resets each connection at once fails each stream once and holds none", async () => {
  await using resetting = await listen(createServer((socket) => socket.on("error", () => {}).resetAndDestroy()));
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const waiting = Array.from({ length: 300 }, () => open(transport, resetting.uri));
  for (const { recorder } of waiting) expect((await recorder.closed()).failure?.kind).toBe("connect");
  await until(() => transport.connections().draining === 0);
  expect(transport.connections()).toEqual(NONE);
});

test("an endpoint that closes each connection with a GOAWAY at once fails each stream once and is not flooded", async () => {
  let accepted = 0;
  const closing = createServer((socket) => {
    accepted++;
    socket.on("error", () => {}).resume();
    const goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    socket.write(Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0, ...goaway));
  });
  await using server = await listen(closing);
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const waiting = Array.from({ length: 300 }, () => open(transport, server.uri));
  for (const { recorder } of waiting) expect((await recorder.closed()).failure?.kind).toMatch(/^(connect|refused)$/);
  await until(() => transport.connections().draining === 0);
  expect(transport.connections()).toEqual(NONE);
  expect(accepted).toBeLessThanOrEqual(3);
});

test("an endpoint that is killed under many streams holds no connection, and serves again when it is back", async () => {
  await using server = await answering();
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const streams = Array.from({ length: 600 }, () => open(transport, server.uri));
  for (const { recorder } of streams) await recorder.until(({ status }) => status === 200);
  expect(transport.connections().open).toBe(openAt(server));
  for (const { socket } of server.peers) socket.resetAndDestroy();
  for (const { recorder } of streams) expect((await recorder.closed()).failure?.kind).toBe("reset");
  await until(() => transport.connections().draining === 0);
  expect(transport.connections()).toEqual(NONE);
  await open(transport, server.uri).recorder.until(({ status }) => status === 200);
  expect(transport.connections()).toEqual({ ...NONE, open: 1 });
  expect(openAt(server)).toBe(1);
});

test("thousands of requests that cannot be made fail one by one while they wait for a connection", async () => {
  await using server = await answering();
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const bad = Array.from({ length: 10_000 }, () => open(transport, server.uri, { headers: { connection: "close" } }));
  for (const { recorder } of bad)
    expect((await recorder.closed()).failure?.message).toContain('HTTP/2 forbids the header "connection"');
  await open(transport, server.uri).recorder.until(({ status }) => status === 200);
  await until(() => transport.connections().open === openAt(server));
});
