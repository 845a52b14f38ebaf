import { createServer as createHttp1Server } from "node:http";
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { systemClock, systemRandom, utf8 } from "@perdure/base";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { type CountingTransport, createHttpTransport } from "../src/index.js";
import { openSockets } from "./open-sockets.js";
import { RawPeer, serveRaw } from "./raw-http2.js";
import { open } from "./recorder.js";
import { listen, type SdkEndpoint } from "./sdk-endpoint.js";

type StreamHandler = (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void;

interface TestServer extends SdkEndpoint {
  readonly sessions: ServerHttp2Session[];
}

async function serve(handle: StreamHandler, settings: Parameters<typeof createServer>[0] = {}): Promise<TestServer> {
  const server: Http2Server = createServer(settings);
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {}); // Resets are what these tests are about.
    handle(stream, headers);
  });
  const listening = await listen(server);
  return { uri: listening.uri, sessions, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

function aTransport(): EndpointTransport {
  return createHttpTransport({ clock: systemClock, random: systemRandom });
}

const echo: StreamHandler = (stream) => {
  stream.respond({ ":status": 200 });
  stream.pipe(stream);
};

/** Real I/O while virtual time stands still. */
async function io(until: () => boolean): Promise<void> {
  for (let turn = 0; !until(); turn++) {
    if (turn > 5_000) throw new Error("nothing happens");
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
  }
}

/** Whether the connection takes a byte. */
async function write(socket: Socket): Promise<boolean> {
  const isWritten = await new Promise<boolean>((resolve) => {
    socket.write("x", (cause) => resolve(cause === undefined || cause === null));
  });
  await new Promise<void>((resolve) => setTimeout(resolve, 1));
  return isWritten;
}

describe("HTTP/2 with prior knowledge", () => {
  test("moves bytes both ways while both sides stay open", async () => {
    const leaks = openSockets();
    {
      await using server = await serve(echo);
      await using transport = aTransport();
      const { stream, recorder } = open(transport, server.uri);
      stream.write(utf8("one"));
      await recorder.until(({ text }) => text === "one");
      stream.write(utf8("two"));
      await recorder.until(({ text }) => text === "onetwo");
      stream.end();
      await recorder.closed();
      expect([recorder.status, recorder.ended, recorder.failure]).toEqual([200, true, undefined]);
    }
    await leaks.expectClosed();
  });

  test("sends method, headers and authority, keeps base path and query, and no length", async () => {
    const receivedHeaders: Record<string, unknown>[] = [];
    await using server = await serve((stream, headers) => {
      receivedHeaders.push({ ...headers });
      stream.respond({ ":status": 204, "x-answer": "yes" }, { endStream: true });
    });
    await using transport = aTransport();
    for (const base of ["", "/", "/base/", "/base?a=b"]) {
      const { stream, recorder } = open(transport, server.uri + base, { headers: { "x-one": "1", accept: "a" } });
      stream.end();
      await recorder.closed();
      expect([recorder.status, recorder.headers["x-answer"]]).toEqual([204, "yes"]);
    }
    expect(receivedHeaders.map((headers) => headers[":path"])).toEqual([
      "/invoke/Svc/run",
      "/invoke/Svc/run",
      "/base/invoke/Svc/run",
      "/base/invoke/Svc/run?a=b",
    ]);
    expect(receivedHeaders[0]).toMatchObject({
      ":method": "POST",
      ":scheme": "http",
      ":authority": server.uri.slice(7),
      "x-one": "1",
      accept: "a",
    });
    expect(receivedHeaders[0]).not.toHaveProperty("content-length");
    expect(server.sessions.length).toBe(1);
  });

  test("opens more connections beyond 128 streams, and all of them progress", async () => {
    await using server = await serve(echo);
    await using transport = aTransport();
    const all = Array.from({ length: 300 }, () => open(transport, server.uri));
    for (const { stream } of all) stream.write(utf8("x"));
    for (const { recorder } of all) await recorder.until(({ bytes }) => bytes === 1);
    expect(server.sessions.length).toBe(3);
    for (const { stream } of all) stream.end();
    for (const { recorder } of all) await recorder.closed();
    expect(all.every(({ recorder }) => recorder.ended)).toBe(true);
  });

  test("a connection that has served its share of streams is replaced, its last streams finish", async () => {
    await using server = await serve(echo);
    await using transport = createHttpTransport({ clock: systemClock, random: systemRandom }, { streamsPerSessionLifetime: 10 });
    const first = open(transport, server.uri);
    first.stream.write(utf8("a"));
    await first.recorder.until(({ bytes }) => bytes === 1);
    for (let i = 0; i < 24; i++) {
      const { stream, recorder } = open(transport, server.uri);
      stream.end();
      expect((await recorder.closed()).ended).toBe(true);
    }
    expect(server.sessions.length).toBe(3);
    first.stream.write(utf8("b"));
    first.stream.end();
    expect((await first.recorder.closed()).text).toBe("ab");
  });

  test("honours a peer that allows fewer streams", async () => {
    let active = 0;
    const sizes = new Map<unknown, number>();
    await using server = await serve(
      (stream) => {
        active++;
        const now = (sizes.get(stream.session) ?? 0) + 1;
        sizes.set(stream.session, now);
        expect(now).toBeLessThanOrEqual(2);
        stream.respond({ ":status": 200 });
        stream.on("end", () => {
          sizes.set(stream.session, sizes.get(stream.session)! - 1);
          stream.end();
        });
        stream.resume();
      },
      { settings: { maxConcurrentStreams: 2 } },
    );
    await using transport = aTransport();
    const all = Array.from({ length: 200 }, () => open(transport, server.uri));
    // 64 connections of two streams each; the others wait their turn.
    await io(() => active === 128);
    for (const { stream } of all) stream.end();
    for (const { recorder } of all) expect((await recorder.closed()).failure).toBeUndefined();
    expect(active).toBe(200);
  });

  test.each([
    [2, "INTERNAL_ERROR", "reset"],
    [8, "CANCEL", "reset"],
    [7, "REFUSED_STREAM", "refused"],
  ])("a reset with code %i is a failure, before and after the headers", async (code, name, early) => {
    let sendsHeaders = false;
    await using server = await serveRaw((peer, streamId) => {
      if (sendsHeaders) {
        peer.headers(streamId);
        peer.data(streamId, utf8("some"));
      }
      peer.reset(streamId, code);
    });
    await using transport = aTransport();
    const failure = { kind: "reset", message: `the endpoint reset the stream: ${name}` };
    expect((await open(transport, server.uri).recorder.closed()).failure).toEqual({ ...failure, kind: early });
    sendsHeaders = true;
    const { recorder } = open(transport, server.uri);
    await recorder.closed();
    expect([recorder.status, recorder.text, recorder.failure]).toEqual([200, "some", failure]);
  });

  test("a response that is complete is not spoilt by the reset some servers send after it", async () => {
    await using server = await serveRaw((peer, streamId) => {
      peer.headers(streamId);
      peer.data(streamId, utf8("all"), true);
      peer.reset(streamId, 0);
    });
    await using transport = aTransport();
    const { recorder } = open(transport, server.uri);
    await recorder.closed();
    expect([recorder.text, recorder.ended]).toEqual(["all", true]);
  });

  test("streams above the last one a GOAWAY names are failures, those below finish", async () => {
    await using server = await serveRaw((peer, streamId) => {
      peer.headers(streamId);
      if (streamId < 5) return;
      peer.goaway(3, 0);
      setTimeout(() => {
        for (const served of [1, 3]) peer.data(served, utf8("x"), true);
      }, 20);
    });
    await using transport = aTransport();
    const streams = Array.from({ length: 3 }, () => open(transport, server.uri));
    for (const { recorder } of streams) await recorder.closed();
    expect(streams.map(({ recorder }) => recorder.failure?.kind ?? recorder.text)).toEqual(["x", "x", "reset"]);
  });

  test("abort resets the stream with CANCEL and the listener gets no more events", async () => {
    let code: number | undefined;
    await using server = await serve((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("x");
      stream.on("close", () => {
        code = stream.rstCode;
      });
    });
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    await recorder.until(({ bytes }) => bytes === 1);
    stream.abort();
    await io(() => code !== undefined);
    expect([code, recorder.over]).toEqual([constants.NGHTTP2_CANCEL, false]);
    const next = open(transport, server.uri);
    await next.recorder.until(({ bytes }) => bytes === 1);
    expect(server.sessions.length).toBe(1);
  });

  test("a stream aborted before there is a connection is never sent", async () => {
    const paths: unknown[] = [];
    await using server = await serve((stream, headers) => {
      paths.push(headers[":path"]);
      echo(stream, headers);
    });
    await using transport = aTransport();
    const first = open(transport, server.uri, { path: "/first" });
    const second = open(transport, server.uri, { path: "/second" });
    first.stream.abort();
    second.stream.end();
    await second.recorder.closed();
    expect([paths, first.recorder.over]).toEqual([["/second"], false]);
  });

  test("after GOAWAY open streams finish and new ones use a new connection", async () => {
    await using server = await serve(echo);
    await using transport = aTransport();
    const old = open(transport, server.uri);
    old.stream.write(utf8("a"));
    await old.recorder.until(({ bytes }) => bytes === 1);
    server.sessions[0]!.goaway(constants.NGHTTP2_NO_ERROR, 1);
    await new Promise<void>((resolve) => setTimeout(resolve, 20));
    const fresh = open(transport, server.uri);
    fresh.stream.write(utf8("b"));
    await fresh.recorder.until(({ bytes }) => bytes === 1);
    expect(server.sessions.length).toBe(2);
    old.stream.write(utf8("c"));
    old.stream.end();
    await old.recorder.closed();
    expect([old.recorder.text, old.recorder.ended]).toEqual(["ac", true]);
  });

  test.each(["NGHTTP2_REFUSED_STREAM", "NGHTTP2_ENHANCE_YOUR_CALM"] as const)(
    "a connection on which a stream is refused (%s) gets no more of them, those it has finish",
    async (code) => {
      await using server = await serve((stream, headers) => {
        if (server.sessions.length === 1 && headers[":path"] === "/refused") stream.close(constants[code]);
        else echo(stream, headers);
      });
      await using transport = aTransport();
      const old = open(transport, server.uri);
      old.stream.write(utf8("a"));
      await old.recorder.until(({ bytes }) => bytes === 1);
      const refused = open(transport, server.uri, { path: "/refused" });
      expect((await refused.recorder.closed()).failure?.kind).toBe("refused");
      const next = open(transport, server.uri, { path: "/refused" });
      next.stream.write(utf8("b"));
      await next.recorder.until(({ bytes }) => bytes === 1);
      old.stream.write(utf8("c"));
      old.stream.end();
      expect((await old.recorder.closed()).text).toBe("ac");
      expect(server.sessions.length).toBe(2);
    },
  );

  test("what was queued for a stream that was broken off keeps the next ones out of its connection only", async () => {
    await using server = await serve((stream, headers) => {
      stream.respond({ ":status": 200 });
      stream.end(headers[":path"] === "/large" ? Buffer.alloc(20 * 1024 * 1024) : "x");
    });
    await using transport = aTransport();
    const large = open(transport, server.uri, { path: "/large" });
    await large.recorder.until(({ bytes }) => bytes > 0);
    large.stream.abort();
    let served = 0;
    for (let tries = 0; tries < 5; tries++) {
      const { recorder } = open(transport, server.uri);
      if ((await recorder.closed()).text === "x") served++;
    }
    expect(served).toBeGreaterThanOrEqual(4);
  });

  test.each(["closed", "reset"] as const)(
    "a connection that is %s fails its streams, and the next stream gets a new one",
    async (how) => {
      await using server = await serveRaw((peer, streamId) => peer.headers(streamId));
      await using transport = aTransport();
      const streams = [open(transport, server.uri), open(transport, server.uri)];
      for (const { recorder } of streams) await recorder.until(({ status }) => status === 200);
      if (how === "closed") server.peers[0]!.socket.destroy();
      else server.peers[0]!.socket.resetAndDestroy();
      for (const { recorder } of streams) expect((await recorder.closed()).failure?.kind).toBe("reset");
      await open(transport, server.uri).recorder.until(({ status }) => status === 200);
      expect(server.peers.length).toBe(2);
    },
  );

  test("while a large message is on its way, new streams get another connection; large ones share one", async () => {
    const sessionOf = new Map<unknown, number>();
    await using server = await serve((stream, headers) => {
      sessionOf.set(headers[":path"], server.sessions.indexOf(stream.session as ServerHttp2Session));
      stream.respond({ ":status": 200 });
    });
    await using transport = aTransport();
    const arrived = async (path: string, isLarge = false) => {
      const { stream } = open(transport, server.uri, { path, isLarge });
      await io(() => sessionOf.has(path));
      return { stream, session: sessionOf.get(path) };
    };
    const first = await arrived("/first");
    expect((await arrived("/second")).session).toBe(0);
    first.stream.carriesLargeMessage?.(true);
    await arrived("/third"); // It is not held up by the new connection.
    await io(() => server.sessions.length === 2);
    await io(() => (transport as CountingTransport).connections().open === 2);
    expect((await arrived("/fourth")).session).toBe(1);
    expect((await arrived("/large", true)).session).toBe(0);
    first.stream.carriesLargeMessage?.(false);
    expect((await arrived("/fifth")).session).toBe(1); // The large one is still there.
    expect((await arrived("/largeToo", true)).session).toBe(0);
    expect(server.sessions).toHaveLength(2);
  });

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
    await io(() => sockets.length === 1);
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
    await io(() => peer.readableEnded); // The driver has ended its side.
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
        await io(() => closed || (pings > before && clock.pendingTimers === 1));
      }
    };
    await passQuietly(10);
    expect([closed, recorder.over, pings]).toEqual([false, false, 10]);
    stream.end();
    await recorder.closed();
    await passQuietly(10);
    expect(closed).toBe(true);
    expect(pings).toBeGreaterThan(14);
    await io(() => clock.pendingTimers === 0); // The socket closes a little later.
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
    await io(() => received === written * block.length);
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
    await io(() => streams.filter(isAnswered).length === 640);
    expect(streams.filter(({ recorder }) => recorder.isWaiting).length).toBe(60);
    expect(server.peers.length).toBe(64);
    const elsewhere = open(transport, other.uri);
    elsewhere.stream.write(utf8("hello"));
    elsewhere.stream.end();
    expect((await elsewhere.recorder.closed()).text).toBe("hello");
    for (const { recorder, stream } of streams) if (recorder.status === 200) stream.end();
    for (const { peer, streamId } of open640.slice(0, 60)) peer.data(streamId, new Uint8Array(0), true);
    await io(() => streams.every(isAnswered));
    expect(streams.some(({ recorder }) => recorder.isWaiting || recorder.failure !== undefined)).toBe(false);
  });
});
