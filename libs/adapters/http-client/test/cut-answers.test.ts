/** An answer whose stream or connection breaks off must never pass as a whole one, wherever it is broken and however the reader stands. */
import { createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { systemClock, systemRandom, utf8 } from "@perdure/base";
import { createHttpTransport, fetchOnce } from "../src/index.js";
import { type RawPeer, serveRaw } from "./raw-http2.js";
import { open } from "./recorder.js";
import { listen, type SdkEndpoint } from "./sdk-endpoint.js";

const HALF = utf8("half");
const NO_ERROR = 0;
const INTERNAL_ERROR = 2;
const CANCEL = 8;

interface Case {
  readonly what: string;
  readonly httpVersion: "HTTP/1.1" | "HTTP/2.0";
  /** After half a body. */
  readonly serve: () => Promise<SdkEndpoint>;
}

function http2Case(what: string, cut: (peer: RawPeer, streamId: number) => void, length?: number): Case {
  const answer = (peer: RawPeer, streamId: number): void => {
    peer.headers(streamId, false, length);
    peer.data(streamId, HALF);
    setTimeout(() => cut(peer, streamId), 20); // In a segment of its own.
  };
  return { what: `HTTP/2: ${what}`, httpVersion: "HTTP/2.0", serve: () => serveRaw(answer) };
}

function http1Case(what: string, head: string, body: string, cut: (socket: Socket) => void): Case {
  const serve = () =>
    listen(
      createTcpServer({ noDelay: true }, (socket) => {
        socket.on("error", () => {});
        socket.once("data", () => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`);
          setTimeout(() => cut(socket), 20);
        });
      }),
    );
  return { what: `HTTP/1.1: ${what}`, httpVersion: "HTTP/1.1", serve };
}

const CASES: readonly Case[] = [
  http2Case("RST_STREAM with an error", (peer, id) => peer.reset(id, INTERNAL_ERROR)),
  http2Case("RST_STREAM with CANCEL", (peer, id) => peer.reset(id, CANCEL)),
  http2Case("RST_STREAM without an error, before the length that was announced", (peer, id) => peer.reset(id, NO_ERROR), 8),
  http2Case("END_STREAM before the length that was announced", (peer, id) => peer.data(id, new Uint8Array(), true), 8),
  http2Case("the end of the connection", (peer) => peer.socket.end()),
  http2Case("a connection that is reset", (peer) => peer.socket.resetAndDestroy()),
  http2Case("GOAWAY without an error, then the end of the connection", (peer, id) => {
    peer.goaway(id, NO_ERROR);
    peer.socket.end();
  }),
  http2Case("GOAWAY without an error that leaves the stream out, then the end", (peer) => {
    peer.goaway(0, NO_ERROR);
    peer.socket.end();
  }),
  http2Case("GOAWAY with an error", (peer, id) => peer.goaway(id, INTERNAL_ERROR)),
  http1Case("the end of the connection before the length that was announced", "content-length: 8", "half", (socket) =>
    socket.end(),
  ),
  http1Case("a connection that is reset", "content-length: 8", "half", (socket) => socket.resetAndDestroy()),
  http1Case("the end between two chunks", "transfer-encoding: chunked", "4\r\nhalf\r\n", (socket) => socket.end()),
  http1Case("the end within a chunk", "transfer-encoding: chunked", "8\r\nhalf", (socket) => socket.end()),
  http1Case("a reset of a body without a length", "connection: close", "half", (socket) => socket.resetAndDestroy()),
];

const READERS = [
  { reader: "that reads", isPaused: false },
  { reader: "that has stopped reading", isPaused: true },
];

const each = CASES.flatMap((one) => READERS.map((reader) => ({ ...one, ...reader })));

describe("an answer that is cut", () => {
  test.each(each)("by $what, fails for an attempt $reader", async ({ httpVersion, serve, isPaused }) => {
    await using endpoint = await serve();
    await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
    const { stream, recorder } = open(transport, endpoint.uri, { httpVersion });
    stream.write(utf8("request"));
    await recorder.until(({ status, over }) => status === 200 || over);
    if (isPaused) {
      stream.pauseReading();
      setTimeout(() => stream.resumeReading(), 60);
    }
    await recorder.closed();
    expect([recorder.status, recorder.ended, recorder.failure?.kind]).toEqual([200, false, "reset"]);
  });

  test.each(CASES)("by $what, is not a response of one whole request", async ({ httpVersion, serve }) => {
    await using endpoint = await serve();
    await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
    const outcome = await fetchOnce(
      { transport, clock: systemClock },
      { uri: endpoint.uri, httpVersion, method: "GET", path: "/discover", headers: {}, responseBytesMax: 100, timeoutMs: 5_000 },
    );
    expect(outcome).toMatchObject({ kind: "failed", failure: { kind: "reset" } });
  });
});

describe("a whole answer before the end of its request, then RST_STREAM without an error", () => {
  const endpointThatAnswersEarly = () =>
    serveRaw((peer, streamId) => {
      peer.headers(streamId);
      peer.data(streamId, utf8("whole"), true);
      peer.reset(streamId, NO_ERROR);
    }, 1);

  test.each(READERS)("is the answer, for an attempt $reader and continues to write", async ({ isPaused }) => {
    await using endpoint = await endpointThatAnswersEarly();
    await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
    const { stream, recorder } = open(transport, endpoint.uri);
    if (isPaused) stream.pauseReading();
    stream.write(new Uint8Array(200_000)); // More than the endpoint's window: some of it waits.
    await recorder.until(({ status, over }) => status === 200 || over);
    await new Promise((resolve) => setTimeout(resolve, 20));
    stream.write(HALF);
    await new Promise((resolve) => setTimeout(resolve, 20));
    stream.end();
    stream.resumeReading();
    await recorder.closed();
    expect([recorder.status, recorder.text, recorder.ended, recorder.failure]).toEqual([200, "whole", true, undefined]);
    const next = open(transport, endpoint.uri).recorder; // The stream no longer counts, though a write of it never left.
    await next.closed();
    expect([next.text, endpoint.peers.length]).toEqual(["whole", 1]);
  });
});

describe("a request that is given up", () => {
  test.each([
    ["before its end, is reset and never ended", false],
    ["after its end, is reset", true],
  ])("%s", async (_when, isEnded) => {
    await using endpoint = await serveRaw((peer, streamId) => peer.headers(streamId));
    await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
    const { stream, recorder } = open(transport, endpoint.uri);
    stream.write(utf8("half"));
    if (isEnded) stream.end();
    await recorder.until(({ status }) => status === 200);
    const [peer] = endpoint.peers;
    stream.abort();
    while (peer?.resets.size !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
    expect([peer.resets.get(1), peer.ended.has(1)]).toEqual([CANCEL, isEnded]);
    expect(recorder.over).toBe(false);
  });
});
