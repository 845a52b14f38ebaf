import { createServer, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { aTarget, type FakeInvocation, someFacts } from "@perdure/invoker/testing";
import { encodeFrame, MessageType } from "@perdure/service-protocol";
import { openSockets } from "./open-sockets.js";
import { serveRaw } from "./raw-http2.js";
import { listen, type SdkEndpoint } from "./sdk-endpoint.js";
import { aWorld } from "./world.js";

const retryPolicy = { initialIntervalMs: 1, factor: 1, maxIntervalMs: 1, maxAttempts: 1, onMaxAttempts: "pause" } as const;
/** Only for endpoints that fall silent: others may take as long as a busy machine does. */
const SHORT_TIMEOUT_MS = 60;
const LONG_TIMEOUT_MS = 60_000;
const contentType = "application/vnd.restate.invocation.v6";

/** Invokes once and returns the paused invocation, having checked that nothing is left open. */
async function failingAgainst(endpoint: SdkEndpoint, timeoutMs = LONG_TIMEOUT_MS): Promise<FakeInvocation> {
  const sockets = openSockets();
  const services = { Svc: { handlers: { run: { inactivityTimeoutMs: timeoutMs, abortTimeoutMs: timeoutMs, retryPolicy } } } };
  const world = aWorld(endpoint.uri, { services });
  const invocation = world.partition.invoke(someFacts({ target: aTarget() }), utf8(""));
  await world.partition.until(() => invocation.status === "paused");
  await world[Symbol.asyncDispose]();
  await sockets.expectClosed();
  return invocation;
}

async function answering(handle: (stream: ServerHttp2Stream) => void): Promise<SdkEndpoint> {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {}); // We reset it; that is the point.
    handle(stream);
  });
  return listen(server);
}

function page(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 404 });
  stream.end("<html>");
}

function noFrames(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200, "content-type": contentType });
  stream.write("HTTP is fun, is it not?");
}

describe("endpoints that misbehave", () => {
  test.each<[string, string, (stream: ServerHttp2Stream) => void]>([
    ["answers with another content type", "RT0012", (stream) => stream.respond({ ":status": 200, "content-type": "text/html" })],
    ["answers 404 with a page", "RT0012", page],
    ["sends bytes that are not frames", "RT0012", noFrames],
    [
      "announces a message of two gigabytes",
      "RT0003",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": contentType });
        stream.write(Uint8Array.of(0x04, 0x01, 0, 0, 0x7f, 0xff, 0xff, 0xff));
      },
    ],
    [
      "reports an error without a message",
      "RT0007",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": contentType });
        stream.end(encodeFrame(MessageType.Error, Uint8Array.of(0x08, 0x01)));
      },
    ],
    ["answers and falls silent", "RT0001", (stream) => stream.respond({ ":status": 200, "content-type": contentType })],
    ["never answers", "RT0001", () => {}],
    [
      "closes at once",
      "RT0007",
      (stream) => stream.respond({ ":status": 200, "content-type": contentType }, { endStream: true }),
    ],
  ])("one that %s is %s", async (_what, errorCode, handle) => {
    await using endpoint = await answering(handle);
    const invocation = await failingAgainst(endpoint, errorCode === "RT0001" ? SHORT_TIMEOUT_MS : LONG_TIMEOUT_MS);
    expect(invocation.failures.map(({ error }) => error.errorCode)).toEqual([errorCode]);
  });

  test("one that floods the server is read to the end, at the pace of the partition", async () => {
    const flood = 3_000;
    await using endpoint = await answering((stream) => {
      stream.respond({ ":status": 200, "content-type": contentType });
      for (let i = 0; i < flood; i++) stream.write(encodeFrame(MessageType.Run, Uint8Array.of(0x58, 0x01)));
      stream.write(Uint8Array.of(0x12, 0x34, 0, 0, 0, 0, 0, 0));
    });
    const invocation = await failingAgainst(endpoint);
    expect(invocation.failures[0]?.error.errorCode).toBe("RT0012");
    expect(invocation.entries.length).toBe(1 + flood);
  });

  test("one that resets or breaks off is RT0010", async () => {
    await using resetting = await serveRaw((peer, streamId) => peer.reset(streamId, 2));
    await using breaking = await serveRaw((peer) => peer.socket.destroy());
    await using leaving = await serveRaw((peer) => peer.goaway(0, 0));
    for (const endpoint of [resetting, breaking, leaving]) {
      expect((await failingAgainst(endpoint)).failures[0]?.error.errorCode).toBe("RT0010");
    }
  });

  test("one that speaks HTTP/1.1 only is META0014", async () => {
    await using endpoint = await listen(
      createTcpServer((socket) => socket.on("error", () => {}).end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")),
    );
    expect((await failingAgainst(endpoint)).failures[0]?.error.errorCode).toBe("META0014");
  });
});
