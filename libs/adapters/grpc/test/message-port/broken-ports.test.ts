/** What calls over a message port meet when the port closes, its thread ends, or more is requested than it bears. */
import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import {
  Metadata,
  type MethodDefinition,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { afterEach, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import type { Channel } from "../../src/channel.js";
import { MESSAGE_BYTES_MAX, PORT_CALLS_MAX } from "../../src/limits.js";
import { openPortChannel } from "../../src/message-port/client.js";
import { type PortServer, servePort } from "../../src/message-port/server.js";

const bytesMethod = (name: string, isStream: boolean): MethodDefinition<Uint8Array, Uint8Array> => ({
  path: `/test.Bytes/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: (bytes) => bytes as Buffer,
  requestDeserialize: (bytes) => bytes,
  responseSerialize: (bytes) => bytes as Buffer,
  responseDeserialize: (bytes) => bytes,
});
const BYTES = { one: bytesMethod("One", false), talk: bytesMethod("Talk", true) };

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

function connect(handlers: UntypedServiceImplementation): { readonly channel: Channel; readonly server: PortServer } {
  const { port1, port2 } = new MessageChannel();
  const server = servePort(port1, silentLogger);
  server.serve(BYTES, handlers);
  const channel = openPortChannel(port2);
  opened.push(
    () => server.close(),
    () => channel.close(),
  );
  return { channel, server };
}

function callOne(
  channel: Channel,
  request: Uint8Array,
): Promise<{ error: ServiceError | null; answer?: Uint8Array | undefined }> {
  const { path, requestSerialize, responseDeserialize } = BYTES.one;
  return new Promise((resolve) =>
    channel.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, new Metadata(), {}, (error, answer) =>
      resolve({ error, answer }),
    ),
  );
}

const talk = (channel: Channel) =>
  channel.makeBidiStreamRequest(BYTES.talk.path, BYTES.talk.requestSerialize, BYTES.talk.responseDeserialize);

const NONE = new Uint8Array();
const echo = (call: ServerUnaryCall<Uint8Array, Uint8Array>, answer: sendUnaryData<Uint8Array>) => answer(null, call.request);
const unanswered = (): void => undefined;

test.each([
  ["the server closes the port", (_channel: Channel, server: PortServer) => server.close(), /closed the port/],
  ["the channel is closed", (channel: Channel) => channel.close(), /closed the channel/],
])("when %s, every open call and every later one fails, and handlers notice it", async (_when, close, reason) => {
  const cancelled: string[] = [];
  const bothBegan = Promise.withResolvers<void>();
  let begun = 0;
  const begin = (): void => {
    if (++begun === 2) bothBegan.resolve();
  };
  const bothCancelled = Promise.withResolvers<void>();
  const note = (what: string) => () => {
    if (cancelled.push(what) === 2) bothCancelled.resolve();
  };
  const { channel, server } = connect({
    one(call: ServerUnaryCall<Uint8Array, Uint8Array>) {
      call.on("cancelled", note("one"));
      begin();
    },
    talk(call: ServerDuplexStream<Uint8Array, Uint8Array>) {
      call.on("cancelled", note("talk"));
      call.resume();
      begin();
    },
  });
  const unary = callOne(channel, NONE);
  const stream = talk(channel);
  const failed = new Promise<ServiceError>((resolve) => stream.on("error", resolve));
  stream.on("data", () => undefined);
  await bothBegan.promise;
  close(channel, server);
  const gone = { code: status.UNAVAILABLE, details: expect.stringMatching(reason) };
  expect((await unary).error).toMatchObject(gone);
  expect(await failed).toMatchObject(gone);
  stream.write(NONE);
  await bothCancelled.promise;
  expect(cancelled.sort()).toEqual(["one", "talk"]);
  expect((await callOne(channel, NONE)).error).toMatchObject(gone);
  channel.close();
  server.close();
});

test("calls that come before the first service wait for it", async () => {
  const { port1, port2 } = new MessageChannel();
  const server = servePort(port1, silentLogger);
  const channel = openPortChannel(port2);
  opened.push(() => channel.close());
  const call = callOne(channel, Uint8Array.of(1, 2));
  await new Promise((resolve) => setImmediate(resolve));
  server.serve(BYTES, { one: echo });
  expect((await call).answer).toEqual(Buffer.of(1, 2));
});

test("bytes of a pool are copied alone, and large ones arrive whole", async () => {
  const { channel } = connect({ one: echo });
  const pooled = Buffer.from("within a pool");
  expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.byteLength);
  const { answer } = await callOne(channel, pooled);
  expect([answer, pooled.toString(), pooled.buffer.detached]).toEqual([Buffer.from("within a pool"), "within a pool", false]);
  expect(answer?.buffer.byteLength).toBe(answer?.byteLength);
  const larger = new Uint8Array(3 * 1024 * 1024).fill(7);
  const part = larger.subarray(1, 2 * 1024 * 1024);
  expect((await callOne(channel, part)).answer).toEqual(Buffer.alloc(part.byteLength, 7));
  expect([larger.byteLength, larger[0]]).toEqual([3 * 1024 * 1024, 7]);
});

test("a message beyond the limit ends its call with RESOURCE_EXHAUSTED, from either end", async () => {
  const tooLarge = Buffer.alloc(MESSAGE_BYTES_MAX + 1);
  const ended = Promise.withResolvers<void>();
  const { channel } = connect({
    one: (_call: unknown, answer: sendUnaryData<Uint8Array>) => answer(null, tooLarge),
    talk(call: ServerDuplexStream<Uint8Array, Uint8Array>) {
      call.on("cancelled", () => ended.resolve());
      call.resume();
    },
  });
  const exhausted = { code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining(`${MESSAGE_BYTES_MAX}`) };
  expect((await callOne(channel, NONE)).error).toMatchObject(exhausted);
  expect((await callOne(channel, tooLarge)).error).toMatchObject(exhausted);
  const stream = talk(channel);
  const failed = new Promise((resolve) => stream.on("error", resolve));
  stream.write(tooLarge);
  expect(await failed).toMatchObject(exhausted);
  await ended.promise;
});

test("a bounded number of calls waits for a thread that does not answer", async () => {
  const { channel } = connect({ one: unanswered });
  const waiting = Array.from({ length: PORT_CALLS_MAX }, () => callOne(channel, NONE));
  expect((await callOne(channel, NONE)).error).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  channel.close();
  for (const { error } of await Promise.all(waiting)) expect(error?.code).toBe(status.UNAVAILABLE);
});

/** A thread without the types of this package: it answers frames itself. */
const THREAD = `
const { parentPort, workerData: { port } } = require("node:worker_threads");
port.on("message", (frames) => {
  for (const [call, kind, , , request] of frames) {
    if (kind !== "open") continue;
    if (request[0] === 9) throw new Error("the thread fails");
    port.postMessage([[call, "message", request], [call, "status", { code: 0, details: "OK", metadata: [] }]]);
  }
});`;

test("a thread that ends takes its calls with it", async () => {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(THREAD, { eval: true, workerData: { port: port1 }, transferList: [port1] });
  const failure = once(worker, "error");
  const channel = openPortChannel(port2);
  opened.push(() => channel.close());
  expect((await callOne(channel, Uint8Array.of(1))).answer).toEqual(Buffer.of(1));
  const lost = callOne(channel, Uint8Array.of(9));
  expect((await failure)[0]).toMatchObject({ message: "the thread fails" });
  expect((await lost).error).toMatchObject({ code: status.UNAVAILABLE });
});
