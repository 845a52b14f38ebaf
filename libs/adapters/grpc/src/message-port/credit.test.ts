/** Streams over a port: all bytes arrive in their order, and never more than the credit is under way. Readers pause, and sizes vary. */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { MethodDefinition, ServerDuplexStream } from "@grpc/grpc-js";
import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { SeededRandom, until } from "@perdure/testkit";
import { PORT_CREDIT_BYTES, PORT_MESSAGE_OVERHEAD_BYTES } from "../limits.js";
import { openPortChannel } from "./client.js";
import type { PortFrame } from "./frames.js";
import { servePort } from "./server.js";

/** Messages are their bytes. The first is their number, so that a message out of order is noticed. */
const TALK: MethodDefinition<Uint8Array, Uint8Array> = {
  path: "/test.Bytes/Talk",
  requestStream: true,
  responseStream: true,
  requestSerialize: (bytes) => bytes as Buffer,
  requestDeserialize: (bytes) => bytes,
  responseSerialize: (bytes) => bytes as Buffer,
  responseDeserialize: (bytes) => bytes,
};

/** The largest number of bytes of one direction that were under way, measured at the ports. */
class Measured {
  underWay = 0;
  most = 0;
  largest = 0;

  sent(frames: readonly PortFrame[]): void {
    for (const [, kind, value] of frames) {
      if (kind !== "message") continue;
      this.underWay += value.byteLength + PORT_MESSAGE_OVERHEAD_BYTES;
      this.largest = Math.max(this.largest, value.byteLength + PORT_MESSAGE_OVERHEAD_BYTES);
      this.most = Math.max(this.most, this.underWay);
    }
  }

  reported(frames: readonly PortFrame[]): void {
    for (const [, kind, value] of frames) if (kind === "consumed") this.underWay -= value;
  }
}

function watchPort(port: MessagePort, out: Measured, back: Measured): void {
  const post = port.postMessage.bind(port);
  port.postMessage = (frames: readonly PortFrame[], moved?: unknown) => {
    out.sent(frames);
    back.reported(frames);
    post(frames, moved as []);
  };
}

const numbered = (number: number, size: number): Uint8Array => {
  const bytes = new Uint8Array(size + 4).fill(number & 0xff);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
};

interface Writer {
  write(message: Uint8Array): boolean;
  on(event: "drain", listener: () => void): unknown;
}

/** Writes as long as the stream takes something, then waits. Resolves with the numbers of calls of `write` that returned false. */
async function writeAll(stream: Writer, sizes: readonly number[]): Promise<number> {
  let refusals = 0;
  let drained: (() => void) | undefined;
  stream.on("drain", () => drained?.());
  for (const [number, size] of sizes.entries()) {
    if (stream.write(numbered(number, size))) continue;
    refusals++;
    await new Promise<void>((resolve) => {
      drained = resolve;
    });
  }
  return refusals;
}

interface Reader {
  on(event: "data" | "end", listener: (message: Uint8Array) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Reads messages with pauses until there were `count`. */
function readAll(stream: Reader, sizes: readonly number[], random: SeededRandom): Promise<void> {
  let count = 0;
  return new Promise((resolve, reject) => {
    stream.on("data", (message) => {
      try {
        expect(Buffer.compare(message, numbered(count, sizes[count] as number))).toBe(0);
      } catch (cause) {
        reject(cause);
      }
      if (++count === sizes.length) resolve();
      if (!random.chance(0.1)) return;
      stream.pause();
      setTimeout(() => stream.resume(), random.float() * 3);
    });
  });
}

function someSizes(random: SeededRandom): readonly number[] {
  const bounds = [40, 5_000, 300_000, random.chance(0.3) ? 3_000_000 : 1_000];
  return Array.from({ length: 60 }, () => Math.floor(random.float() * (bounds[Math.floor(random.float() * 4)] as number)));
}

test("all bytes arrive in their order in both directions, and those under way are bounded", async () => {
  let refusals = 0;
  for (let seed = 1; seed <= 25; seed++) {
    const random = new SeededRandom(seed);
    const [there, back] = [someSizes(random), someSizes(random)];
    const { port1, port2 } = new MessageChannel();
    const [requests, answers] = [new Measured(), new Measured()];
    watchPort(port1, requests, answers);
    watchPort(port2, answers, requests);
    const served = Promise.withResolvers<unknown>();
    const server = servePort(port2, silentLogger);
    server.serve(
      { talk: TALK },
      {
        talk: (call: ServerDuplexStream<Uint8Array, Uint8Array>) =>
          served.resolve(Promise.all([readAll(call, there, random), writeAll(call as Writer, back)])),
      },
    );
    const channel = openPortChannel(port1);
    const stream = channel.makeBidiStreamRequest(TALK.path, TALK.requestSerialize, TALK.responseDeserialize);
    stream.on("error", () => undefined); // Closing the channel ends it.
    const [, refused] = await Promise.all([readAll(stream as unknown as Reader, back, random), writeAll(stream, there)]);
    await served.promise;
    refusals += refused;
    for (const { most, largest } of [requests, answers]) expect(most).toBeLessThan(PORT_CREDIT_BYTES + largest);
    channel.close();
    server.close();
  }
  expect(refusals).toBeGreaterThan(0);
});

test("a reader that pauses for good gets no more than the credit, and a cancelled stream frees its writer", async () => {
  const { port1, port2 } = new MessageChannel();
  const [requests, answers] = [new Measured(), new Measured()];
  watchPort(port1, requests, answers);
  const server = servePort(port2, silentLogger);
  const call = Promise.withResolvers<ServerDuplexStream<Uint8Array, Uint8Array>>();
  server.serve({ talk: TALK }, { talk: (opened: ServerDuplexStream<Uint8Array, Uint8Array>) => call.resolve(opened) });
  const channel = openPortChannel(port1);
  const stream = channel.makeBidiStreamRequest(TALK.path, TALK.requestSerialize, TALK.responseDeserialize);
  stream.on("error", () => undefined);
  let written = 0;
  while (written < 100 && stream.write(numbered(written, 100_000))) written++;
  await call.promise;
  await until(() => requests.most >= PORT_CREDIT_BYTES);
  await new Promise((resolve) => setTimeout(resolve, 20)); // What comes in spite of the limit comes now.
  expect(requests.most).toBeLessThan(PORT_CREDIT_BYTES + requests.largest);
  expect(written * 100_000).toBeLessThan(PORT_CREDIT_BYTES + 3 * requests.largest);
  const closed = new Promise((resolve) => stream.on("close", () => resolve(undefined)));
  stream.cancel();
  await closed;
  expect(stream.write(numbered(0, 1))).toBe(false);
  channel.close();
  server.close();
});

test("one turn of the event loop is one post, and a report of little travels with a message", async () => {
  const { port1, port2 } = new MessageChannel();
  const posts: (readonly string[])[] = [];
  const post = port2.postMessage.bind(port2);
  port2.postMessage = (frames: readonly PortFrame[], moved?: unknown) => {
    posts.push(frames.map(([, kind]) => kind));
    post(frames, moved as []);
  };
  const server = servePort(port2, silentLogger);
  const received = Promise.withResolvers<void>();
  let left = 6;
  server.serve(
    { talk: TALK },
    {
      talk: (call: ServerDuplexStream<Uint8Array, Uint8Array>) =>
        call.on("data", () => {
          if (--left > 0) return;
          for (let number = 0; number < 3; number++) call.write(numbered(number, 10));
          received.resolve();
        }),
    },
  );
  const channel = openPortChannel(port1);
  const stream = channel.makeBidiStreamRequest(TALK.path, TALK.requestSerialize, TALK.responseDeserialize);
  stream.on("error", () => undefined);
  stream.on("data", () => undefined);
  for (let number = 0; number < left; ) stream.write(numbered(number++, PORT_CREDIT_BYTES / 16));
  await received.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(posts).toEqual([["consumed", "message", "message", "message"]]);
  channel.close();
  server.close();
});
