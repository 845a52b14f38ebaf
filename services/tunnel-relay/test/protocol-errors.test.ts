/** Peers of a relay that break HTTP/2 end their own connection, at both of its listeners (cloud.md §7 T21, T26). */
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { FRAME, headerBlock, http2Frame, http2ProtocolErrors, SEGMENTATIONS, sendSegments, until } from "@perdure/testkit";
import { HANDSHAKES_MAX } from "../src/limits.js";
import { aWorld, credentials, FakeRuntime, hurried, type World } from "./fixture.js";
import { aServed } from "./local.js";

const END_STREAM = 1;
const END_HEADERS = 4;
const PREFACE_BYTES = 24;
const SETTINGS = http2Frame(FRAME.settings, 0, 0);

const portOf = (url: string): number => Number(new URL(url).port);

/** A runtime's request still goes through a tunnel. */
async function expectServed(world: World): Promise<void> {
  await using _served = await aServed(world);
  await using runtime = new FakeRuntime(world);
  expect((await runtime.request({ tenant: world.tenant, path: "t/http/localhost/1/x", body: "hi" })).status).toBe(200);
}

// An exception that nothing catches fails the test in which it is thrown: in a program it would end the process.
describe.each(Object.entries(SEGMENTATIONS))("protocol errors %s", (_name, segments) => {
  test("T21: of a runtime behind its request end its connection", async () => {
    await using world = await aWorld();
    for (const { frames } of http2ProtocolErrors) await sendSegments(portOf(world.proxyUrl), segments(frames("a")));
    await expectServed(world);
  });

  test("T26: of a tunnel client behind its answer end its connection", async () => {
    await using world = await aWorld({}, { clock: hurried(100) });
    const hello = http2Frame(FRAME.headers, END_HEADERS, 1, headerBlock({ ":status": "200", ...credentials(world.tenant) }));
    for (const { frames } of http2ProtocolErrors) {
      // Towards a relay the client of TCP is the server of HTTP/2: it sends no preface, and the relay opens the first stream.
      const error = frames("a").at(-1) as Buffer;
      await sendSegments(portOf(world.tunnelUrl), segments([SETTINGS, hello, error]));
      await sendSegments(portOf(world.tunnelUrl), segments([SETTINGS, error]));
    }
    await until(() => world.relay.stats.handshakes === 0 && world.relay.stats.connections === 0);
    await expectServed(world);
  });
});

/** A tunnel client in bytes, which answers each request with these frames. Returns its connection. */
async function rawTunnelClient(world: World, answer: (stream: number) => readonly Buffer[]): Promise<Socket> {
  const socket = connect(portOf(world.tunnelUrl), "127.0.0.1");
  const hello = headerBlock({ ":status": "200", ...credentials(world.tenant) });
  socket.write(Buffer.concat([SETTINGS, http2Frame(FRAME.headers, END_HEADERS | END_STREAM, 1, hello)]));
  let received = Buffer.alloc(0);
  let read = PREFACE_BYTES;
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (; received.length >= read + 9; read += 9 + received.readUIntBE(read, 3)) {
      const [type, stream] = [received[read + 3], received.readUInt32BE(read + 5)];
      if (type !== FRAME.headers || stream === 1) continue;
      socket.write(Buffer.concat(answer(stream)));
    }
  });
  await until(() => world.relay.stats.connections === 1);
  return socket;
}

test("T26: a tunnel client that answers with a status that HTTP/2 does not have fails only that request", async () => {
  await using world = await aWorld();
  const socket = await rawTunnelClient(world, (stream) => [
    http2Frame(FRAME.headers, END_HEADERS | END_STREAM, stream, headerBlock({ ":status": "999" })),
  ]);
  await using runtime = new FakeRuntime(world);
  const answer = await runtime.request({ tenant: world.tenant, path: "t/http/localhost/1/x", body: "hi" });
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([502, { code: 502 }]);
  expect(world.relay.stats.connections).toBe(1);
  socket.destroy();
});

test("T26: an answer that a tunnel client resets without an error, before its length, is broken off", async () => {
  await using world = await aWorld();
  const socket = await rawTunnelClient(world, (stream) => [
    http2Frame(FRAME.headers, END_HEADERS, stream, headerBlock({ ":status": "200", "content-length": "8" })),
    http2Frame(FRAME.data, 0, stream, Buffer.from("half")),
    http2Frame(FRAME.rstStream, 0, stream, Buffer.alloc(4)),
  ]);
  await using runtime = new FakeRuntime(world);
  const {
    ":method": method,
    ":path": path,
    ...headers
  } = runtime.headers({ tenant: world.tenant, path: "t/http/localhost/1/x" });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const agent = new Agent({ keepAlive: true }); // On a connection that stays open the missing bytes would be waited for.
  const request = httpRequest(new URL(path as string, world.proxyUrl), { method, headers, agent }, (answer) => {
    answer.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code)).on("end", () => resolve("whole"));
    answer.resume();
  });
  request.end();
  expect(await promise).toBe("ECONNRESET");
  agent.destroy();
  socket.destroy();
});

test("T26: connections that are reset during the handshake release their reservations", async () => {
  await using world = await aWorld();
  for (let turn = 0; turn < HANDSHAKES_MAX / 10; turn++) {
    const socket = connect(portOf(world.tunnelUrl), "127.0.0.1", () => socket.write(SETTINGS, () => socket.resetAndDestroy()));
    socket.on("error", () => undefined);
    await new Promise((resolve) => socket.once("close", resolve));
  }
  await until(() => world.relay.stats.handshakes === 0);
  await expectServed(world);
});
