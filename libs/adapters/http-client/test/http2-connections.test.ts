/** Connections over HTTP/2: how they begin, are kept, hold back and end. */
import { createServer as createHttp1Server } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { SeededRandom, until, VirtualClock } from "@perdure/testkit";
import { createHttpTransport } from "../src/index.js";
import { aTransport, echo, serve, write } from "./http2-server.js";
import { openSockets } from "./open-sockets.js";
import { RawPeer, serveRaw } from "./raw-http2.js";
import { open } from "./recorder.js";
import { listen } from "./sdk-endpoint.js";

describe("an HTTP/2 connection", () => {
  test("an address without a listener is a connect failure for every waiting stream", async () => {
    const server = await serve(echo);
    await server[Symbol.asyncDispose]();
    await using transport = aTransport();
    for (const { recorder } of Array.from({ length: 200 }, () => open(transport, server.uri))) {
      expect((await recorder.closed()).failure).toMatchObject({
        kind: "connect",
        message: expect.stringContaining("ECONNREFUSED"),
      });
    }
  });

  test("an HTTP/1.1-only server is recognised, by node and by hand", async () => {
    await using http1 = await listen(createHttp1Server((_request, response) => response.end("hi")));
    await using byHand = await listen(
      createTcpServer((socket) => socket.on("error", () => {}).end("HTTP/1.1 505 HTTP Version Not Supported\r\n\r\n")),
    );
    await using transport = aTransport();
    for (const { uri } of [http1, byHand]) {
      expect((await open(transport, uri).recorder.closed()).failure?.kind).toBe("http11Peer");
    }
  });

  test("a peer that accepts and sends nothing runs into the connect timeout", async () => {
    const sockets: Socket[] = [];
    await using silent = await listen(createTcpServer((socket) => sockets.push(socket.on("error", () => {}))));
    const clock = new VirtualClock();
    await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
    const { recorder } = open(transport, silent.uri);
    await until(() => sockets.length === 1);
    clock.advanceBy(9_999);
    expect(recorder.over).toBe(false);
    clock.advanceBy(1);
    expect(recorder.failure).toMatchObject({
      kind: "connect",
      message: expect.stringMatching(/within 10 s: it accepted a connection, but sent no SETTINGS$/),
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test("a peer that ends a connection in order and never closes its side loses it", async () => {
    const peers: Socket[] = [];
    const staying = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      peers.push(socket);
      new RawPeer(socket, (peer, streamId) => {
        peer.headers(streamId, true);
        peer.goaway(streamId, 0);
      });
    });
    await using server = await listen(staying);
    const clock = new VirtualClock();
    await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
    const { stream, recorder } = open(transport, server.uri);
    stream.end();
    await recorder.closed();
    const [peer] = peers as [Socket];
    await until(() => peer.readableEnded); // The driver has ended its side.
    clock.advanceBy(9_999);
    await write(peer);
    expect(await write(peer)).toBe(true);
    clock.advanceBy(1);
    await write(peer); // Answered by a reset.
    expect(await write(peer)).toBe(false);
  });

  test("a peer that stops answering PING loses its connection", async () => {
    await using mute = await serveRaw((peer, streamId) => {
      peer.ignorePings();
      peer.headers(streamId);
    });
    const clock = new VirtualClock();
    await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
    const { recorder } = open(transport, mute.uri);
    await recorder.until(({ status }) => status === 200);
    clock.advanceTo(clock.nextDueMs!);
    clock.advanceBy(19_999);
    expect(recorder.over).toBe(false);
    clock.advanceBy(1);
    expect((await recorder.closed()).failure).toEqual({ kind: "reset", message: "the connection was lost: no answer to PING" });
  });

  test("quiet streams are kept open by PINGs, and an idle connection is closed after five minutes", async () => {
    let pings = 0;
    let closed = false;
    await using server = await serve(echo);
    const clock = new VirtualClock();
    await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
    const { stream, recorder } = open(transport, server.uri);
    stream.write(utf8("a"));
    await recorder.until(({ bytes }) => bytes === 1);
    server.sessions[0]!.on("ping", () => pings++);
    server.sessions[0]!.on("close", () => {
      closed = true;
    });
    const passQuietly = async (intervals: number) => {
      for (let i = 0; i < intervals && !closed; i++) {
        const before = pings;
        clock.advanceTo(clock.nextDueMs!);
        await until(() => closed || (pings > before && clock.pendingTimers === 1));
      }
    };
    await passQuietly(10);
    expect([closed, recorder.over, pings]).toEqual([false, false, 10]);
    stream.end();
    await recorder.closed();
    await passQuietly(10);
    expect(closed).toBe(true);
    expect(pings).toBeGreaterThan(14);
    await until(() => clock.pendingTimers === 0); // The socket closes a little later.
  });

  test("write returns when to wait, before and after the connection is ready", async () => {
    let received = 0;
    let serverStream: ServerHttp2Stream | undefined;
    await using server = await serve((stream) => {
      serverStream = stream;
      stream.respond({ ":status": 200 });
    });
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    const block = new Uint8Array(32 * 1024);
    expect([stream.write(block), stream.write(block)]).toEqual([true, false]);
    let written = 2;
    await recorder.until(({ status }) => status === 200);
    const before = recorder.drains;
    while (written < 200 && stream.write(block)) written++;
    written++;
    expect(written).toBeLessThan(200);
    serverStream!.on("data", (chunk: Uint8Array) => {
      received += chunk.length;
    });
    await recorder.until(({ drains }) => drains > before);
    await until(() => received === written * block.length);
  });

  test("a listener that does not read holds the peer back", async () => {
    let sent = 0;
    await using server = await serve((stream) => {
      stream.respond({ ":status": 200 });
      const more = () => {
        while (sent < 400) {
          sent++;
          if (!stream.write(Buffer.alloc(64 * 1024))) return stream.once("drain", more);
        }
        return stream.end();
      };
      more();
    });
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    stream.pauseReading();
    await recorder.until(({ status }) => status === 200);
    await new Promise<void>((resolve) => setTimeout(resolve, 100));
    expect(recorder.bytes).toBe(0);
    expect(sent).toBeLessThan(100);
    stream.resumeReading();
    expect((await recorder.closed()).bytes).toBe(400 * 64 * 1024);
  });

  test("requests that cannot be made fail alone", async () => {
    await using server = await serve(echo);
    await using transport = aTransport();
    expect((await open(transport, "ftp://nowhere").recorder.closed()).failure?.kind).toBe("client");
    expect((await open(transport, "not an address").recorder.closed()).failure?.kind).toBe("client");
    expect((await open(transport, server.uri, { headers: { connection: "close" } }).recorder.closed()).failure?.kind).toBe(
      "client",
    );
    const fine = open(transport, server.uri);
    fine.stream.end();
    expect((await fine.recorder.closed()).ended).toBe(true);
  });

  test("disposing fails what is open or waits, and leaves nothing behind", async () => {
    const leaks = openSockets();
    {
      await using server = await serve(echo);
      const transport = aTransport();
      const { stream, recorder } = open(transport, server.uri);
      stream.write(utf8("a"));
      await recorder.until(({ bytes }) => bytes === 1);
      const waiting = Array.from({ length: 200 }, () => open(transport, server.uri));
      await transport[Symbol.asyncDispose]();
      for (const each of [recorder, ...waiting.map((one) => one.recorder)])
        expect((await each.closed()).failure?.kind).toMatch(/reset|connect/);
      expect((await open(transport, server.uri).recorder.closed()).failure?.kind).toBe("client");
    }
    await leaks.expectClosed();
  });
});

describe("an endpoint that allows ten streams on a connection", () => {
  const isAnswered = ({ recorder }: { recorder: { status: number } }) => recorder.status === 200;

  test("gets the connections that 500 streams need, and no connection gets more than ten", async () => {
    await using server = await serveRaw((peer, streamId) => peer.headers(streamId), 10);
    await using transport = aTransport();
    const streams = Array.from({ length: 500 }, () => open(transport, server.uri));
    await Promise.all(streams.map(({ recorder }) => recorder.until(() => recorder.status === 200)));
    expect(streams.some(({ recorder }) => recorder.isWaiting)).toBe(false);
    expect(server.peers.length).toBeGreaterThanOrEqual(50);
    expect(server.peers.length).toBeLessThanOrEqual(64);
  });

  test("has those beyond 64 connections wait, report that, begin in order and delay no other endpoint", async () => {
    const open640: { peer: RawPeer; streamId: number }[] = [];
    await using server = await serveRaw((peer, streamId) => {
      peer.headers(streamId);
      open640.push({ peer, streamId });
    }, 10);
    await using other = await serve(echo);
    await using transport = aTransport();
    const streams = Array.from({ length: 700 }, () => open(transport, server.uri));
    await until(() => streams.filter(isAnswered).length === 640);
    expect(streams.filter(({ recorder }) => recorder.isWaiting).length).toBe(60);
    expect(server.peers.length).toBe(64);
    const elsewhere = open(transport, other.uri);
    elsewhere.stream.write(utf8("hello"));
    elsewhere.stream.end();
    expect((await elsewhere.recorder.closed()).text).toBe("hello");
    for (const { recorder, stream } of streams) if (recorder.status === 200) stream.end();
    for (const { peer, streamId } of open640.slice(0, 60)) peer.data(streamId, new Uint8Array(0), true);
    await until(() => streams.every(isAnswered));
    expect(streams.some(({ recorder }) => recorder.isWaiting || recorder.failure !== undefined)).toBe(false);
  });
});
