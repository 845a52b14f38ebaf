import { constants, type ServerHttp2Session } from "node:http2";
import { describe, expect, test } from "@jest/globals";
import { systemClock, systemRandom, utf8 } from "@perdure/base";
import { until } from "@perdure/testkit";
import { type CountingTransport, createHttpTransport } from "../src/index.js";
import { aTransport, echo, handled, serve } from "./http2-server.js";
import { openSockets } from "./open-sockets.js";
import { serveRaw } from "./raw-http2.js";
import { open } from "./recorder.js";

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
    await until(() => active === 128);
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
    await until(() => code !== undefined);
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
    await handled(server.sessions[0]!);
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
      await until(() => sessionOf.has(path));
      return { stream, session: sessionOf.get(path) };
    };
    const first = await arrived("/first");
    expect((await arrived("/second")).session).toBe(0);
    first.stream.carriesLargeMessage?.(true);
    await arrived("/third"); // It is not held up by the new connection.
    await until(() => server.sessions.length === 2);
    await until(() => (transport as CountingTransport).connections().open === 2);
    expect((await arrived("/fourth")).session).toBe(1);
    expect((await arrived("/large", true)).session).toBe(0);
    first.stream.carriesLargeMessage?.(false);
    expect((await arrived("/fifth")).session).toBe(1); // The large one is still there.
    expect((await arrived("/largeToo", true)).session).toBe(0);
    expect(server.sessions).toHaveLength(2);
  });
});
