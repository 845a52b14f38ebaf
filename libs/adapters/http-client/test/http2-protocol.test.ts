/** The client's side of HTTP/2 against peers that use every part of it, and against peers that break its rules. */
import type { ServerHttp2Stream } from "node:http2";
import { describe, expect, test } from "@jest/globals";
import { FRAME, headerBlock, SeededRandom, until } from "@perdure/testkit";
import type { CountingTransport } from "../src/index.js";
import { aTransport, serve } from "./http2-server.js";
import { type RawPeer, serveRaw, uint32 } from "./raw-http2.js";
import { open } from "./recorder.js";

const END_STREAM = 1;
const END_HEADERS = 4;
const PADDED = 8;
const STATUS_200 = Uint8Array.of(0x88);
const NOTHING = new Uint8Array(0);
const MIB = 1024 * 1024;

const field = (name: string, value: string): Buffer => headerBlock({ [name]: value });

describe("a peer may", () => {
  test("split and pad a header block, send informational answers, trailers and unknown frames", async () => {
    await using server = await serveRaw((peer, id) => {
      peer.frame(FRAME.headers, END_HEADERS, id, field(":status", "103"));
      peer.frame(0xbe, 0xff, 0, Buffer.from("extension"));
      peer.frame(FRAME.headers, PADDED, id, Buffer.concat([Buffer.of(3), STATUS_200, Buffer.alloc(3)]));
      peer.frame(FRAME.continuation, 0, id, field("x-one", "1").subarray(0, 4));
      peer.frame(FRAME.continuation, END_HEADERS, id, field("x-one", "1").subarray(4));
      peer.frame(FRAME.data, PADDED, id, Buffer.concat([Buffer.of(2), Buffer.from("body"), Buffer.alloc(2)]));
      peer.frame(FRAME.headers, END_HEADERS | END_STREAM, id, field("x-trailer", "last"));
    });
    await using transport = aTransport();
    const recorder = await open(transport, server.uri).recorder.closed();
    expect([recorder.status, recorder.headers["x-one"], recorder.text, recorder.ended]).toEqual([200, "1", "body", true]);
  });

  test("join the values of a header that it repeats", async () => {
    await using server = await serveRaw((peer, id) => {
      const block = Buffer.concat([STATUS_200, field("x-a", "1"), field("x-a", "2")]);
      peer.frame(FRAME.headers, END_HEADERS | END_STREAM, id, block);
    });
    await using transport = aTransport();
    expect((await open(transport, server.uri).recorder.closed()).headers["x-a"]).toBe("1, 2");
  });

  test("make its windows smaller than nothing, and wider again", async () => {
    await using server = await serveRaw((peer, id) => peer.headers(id));
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    stream.write(new Uint8Array(60_000));
    await recorder.until(({ status }) => status === 200);
    const [peer] = server.peers as [RawPeer];
    await until(() => peer.sent.get(1) === 60_000);
    peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(10_000)])); // The stream's window is −50,000.
    peer.frame(FRAME.windowUpdate, 0, 0, uint32(MIB));
    await peer.roundTrip();
    stream.write(new Uint8Array(30_000));
    stream.end();
    peer.frame(FRAME.windowUpdate, 0, 1, uint32(50_000));
    await peer.roundTrip();
    expect(peer.sent.get(1)).toBe(60_000);
    peer.frame(FRAME.windowUpdate, 0, 1, uint32(10_000));
    await until(() => peer.sent.get(1) === 70_000);
    peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(30_000)]));
    await until(() => peer.sent.get(1) === 90_000 && peer.ended.has(1));
  });

  test("allow larger frames and a smaller table of headers", async () => {
    await using server = await serveRaw((peer, id) => {
      if (id === 1) {
        peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 5), uint32(100_000), Buffer.of(0, 1), uint32(0)]));
        peer.frame(FRAME.windowUpdate, 0, 0, uint32(MIB));
        peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(MIB)]));
      }
      peer.headers(id, true);
    });
    await using transport = aTransport();
    for (let n = 0; n < 4; n++) {
      const { stream, recorder } = open(transport, server.uri, { headers: { "x-one": "the same each time" } });
      stream.write(new Uint8Array(90_000));
      stream.end();
      expect((await recorder.closed()).status).toBe(200);
    }
    await until(() => server.peers[0]!.ended.size === 4);
  });
});

describe("a connection ends with a GOAWAY, and its streams fail, when the peer", () => {
  test.each<[what: string, code: number, act: (peer: RawPeer, id: number) => void]>([
    ["sends a frame of 17,000 bytes", 6, (peer, id) => peer.data(id, new Uint8Array(17_000))],
    ["sends DATA on a stream that was never opened", 1, (peer) => peer.data(9, Buffer.from("x"))],
    ["sends DATA on stream 0", 1, (peer) => peer.data(0, Buffer.from("x"))],
    ["sends HEADERS on an even stream", 1, (peer) => peer.headers(2)],
    ["resets a stream that was never opened", 1, (peer) => peer.reset(99, 8)],
    ["sends a reset of three bytes", 6, (peer, id) => peer.frame(FRAME.rstStream, 0, id, Buffer.alloc(3))],
    ["pushes", 1, (peer, id) => peer.frame(FRAME.pushPromise, END_HEADERS, id, Buffer.concat([uint32(2), STATUS_200]))],
    ["enables push", 1, (peer) => peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 2), uint32(1)]))],
    [
      "sets a window above 2³¹ − 1",
      3,
      (peer) => peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(2 ** 31)])),
    ],
    ["sets frames of 100 bytes", 1, (peer) => peer.frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 5), uint32(100)]))],
    ["sends SETTINGS of five bytes", 6, (peer) => peer.frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
    ["sends SETTINGS on a stream", 1, (peer, id) => peer.frame(FRAME.settings, 0, id, NOTHING)],
    ["acknowledges SETTINGS with a payload", 6, (peer) => peer.frame(FRAME.settings, 1, 0, Buffer.alloc(6))],
    ["sends a PING of seven bytes", 6, (peer) => peer.frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
    ["sends a PING on a stream", 1, (peer, id) => peer.frame(FRAME.ping, 0, id, Buffer.alloc(8))],
    ["sends a GOAWAY of four bytes", 6, (peer) => peer.frame(FRAME.goaway, 0, 0, Buffer.alloc(4))],
    ["widens the connection's window by nothing", 1, (peer) => peer.frame(FRAME.windowUpdate, 0, 0, uint32(0))],
    ["widens the connection's window beyond all bounds", 3, (peer) => peer.frame(FRAME.windowUpdate, 0, 0, uint32(0x7fff_ffff))],
    ["sends a header block that is none", 9, (peer, id) => peer.frame(FRAME.headers, END_HEADERS, id, Buffer.of(0x80))],
    ["continues headers that it has not begun", 1, (peer, id) => peer.frame(FRAME.continuation, END_HEADERS, id, STATUS_200)],
    ["pads headers beyond their frame", 1, (peer, id) => peer.frame(FRAME.headers, END_HEADERS | PADDED, id, Buffer.of(9, 0x88))],
    [
      "interrupts a header block",
      1,
      (peer, id) => {
        peer.frame(FRAME.headers, 0, id, STATUS_200);
        peer.frame(FRAME.ping, 0, 0, Buffer.alloc(8));
      },
    ],
    [
      "continues a header block without end",
      11,
      (peer, id) => {
        peer.frame(FRAME.headers, 0, id, STATUS_200);
        for (let n = 0; n < 400; n++) peer.frame(FRAME.continuation, 0, id, NOTHING);
      },
    ],
  ])("%s", async (_what, code, act) => {
    await using server = await serveRaw((peer, id) => {
      peer.headers(id);
      if (id === 5) act(peer, id);
    });
    await using transport = aTransport();
    const streams = [1, 3, 5].map(() => {
      const opened = open(transport, server.uri);
      opened.stream.pauseReading();
      return opened.recorder;
    });
    for (const recorder of streams) expect((await recorder.closed()).failure?.kind).toBe("reset");
    await until(() => server.peers[0]!.goaways.length > 0);
    expect(server.peers[0]!.goaways).toEqual([code]);
    await until(() => (transport as CountingTransport).connections().draining === 0);
  });

  test("sends PINGs without reading the answers", async () => {
    await using server = await serveRaw((peer, id) => {
      peer.headers(id);
      peer.socket.pause();
      const pings = Buffer.concat(
        Array.from({ length: 1_000 }, () => Buffer.of(0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
      );
      const flood = () => {
        if (!peer.socket.destroyed) peer.socket.write(pings, flood);
      };
      flood();
    });
    await using transport = aTransport();
    const { recorder } = open(transport, server.uri);
    expect((await recorder.closed()).failure?.message).toContain("without end");
  });
});

describe("one stream fails, and the others of its connection continue, when the peer", () => {
  test.each<[what: string, code: number, act: (peer: RawPeer, id: number) => void]>([
    ["sends DATA before HEADERS", 1, (peer, id) => peer.data(id, Buffer.from("x"))],
    ["sends HEADERS without a status", 1, (peer, id) => peer.frame(FRAME.headers, END_HEADERS, id, field("x-a", "1"))],
    [
      "sends a name in upper case",
      1,
      (peer, id) => peer.frame(FRAME.headers, END_HEADERS, id, Buffer.concat([STATUS_200, field("X-a", "1")])),
    ],
    [
      "sends a header of HTTP/1.1",
      1,
      (peer, id) => peer.frame(FRAME.headers, END_HEADERS, id, Buffer.concat([STATUS_200, field("connection", "close")])),
    ],
    [
      "sends a line break in a value",
      1,
      (peer, id) => peer.frame(FRAME.headers, END_HEADERS, id, Buffer.concat([STATUS_200, field("x-a", "1\r\n2")])),
    ],
    [
      "ends with an informational answer",
      1,
      (peer, id) => peer.frame(FRAME.headers, END_HEADERS | END_STREAM, id, field(":status", "100")),
    ],
    [
      "sends second HEADERS that do not end the answer",
      1,
      (peer, id) => {
        peer.headers(id);
        peer.frame(FRAME.headers, END_HEADERS, id, field("x-a", "1"));
      },
    ],
    [
      "sends more than 64 KiB of headers",
      11,
      (peer, id) => {
        const value = "v".repeat(14_000);
        peer.frame(FRAME.headers, 0, id, STATUS_200);
        for (let n = 0; n < 5; n++) peer.frame(FRAME.continuation, n === 4 ? END_HEADERS : 0, id, field("x-a", value));
      },
    ],
    ["widens a window by nothing", 1, (peer, id) => peer.frame(FRAME.windowUpdate, 0, id, uint32(0))],
    ["widens a window beyond all bounds", 3, (peer, id) => peer.frame(FRAME.windowUpdate, 0, id, uint32(0x7fff_ffff))],
    [
      "sends more than the stream's window",
      3,
      (peer, id) => {
        peer.headers(id);
        for (let n = 0; n < 129; n++) peer.data(id, new Uint8Array(16_384));
      },
    ],
  ])("%s", async (_what, code, act) => {
    await using server = await serveRaw((peer, id) => {
      if (id === 1) peer.headers(id);
      else if (id === 3) act(peer, id);
    });
    await using transport = aTransport();
    const innocent = open(transport, server.uri).recorder;
    const { stream, recorder } = open(transport, server.uri);
    stream.pauseReading();
    expect((await recorder.closed()).failure?.kind).toMatch(/^(reset|refused)$/);
    const [peer] = server.peers as [RawPeer];
    await until(() => peer.resets.size > 0);
    expect([[...peer.resets], peer.goaways]).toEqual([[[3, code]], []]);
    peer.data(3, Buffer.from("too late")); // The reset may not have arrived.
    peer.data(1, Buffer.from("fine"), true);
    expect((await innocent.closed()).text).toBe("fine");
  });
});

test("what is not read does not use up the connection's window", async () => {
  await using server = await serveRaw((peer, id) => {
    peer.headers(id);
    for (let n = 0; n < 120; n++) peer.data(id, new Uint8Array(16_384));
  });
  await using transport = aTransport();
  for (let n = 0; n < 12; n++) {
    const { stream, recorder } = open(transport, server.uri);
    stream.pauseReading();
    await recorder.until(({ status }) => status === 200);
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (n % 2 === 0) stream.abort();
  }
  const { recorder } = open(transport, server.uri);
  await recorder.until(({ bytes }) => bytes === 120 * 16_384);
  expect(server.peers.length).toBe(1);
});

test("bodies of any size arrive whole in both directions, however they are cut, held back and broken off", async () => {
  const random = new SeededRandom(7540);
  const echoSlowly = (stream: ServerHttp2Stream): void => {
    stream.respond({ ":status": 200, "x-all": "!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~" });
    stream.on("data", (chunk: Buffer) => {
      if (!stream.write(chunk)) stream.pause();
    });
    stream.on("drain", () => stream.resume());
    stream.on("end", () => stream.end());
  };
  await using server = await serve(echoSlowly);
  await using transport = aTransport();
  const one = async (seed: number): Promise<void> => {
    const draw = new SeededRandom(seed);
    const { stream, recorder } = open(transport, server.uri);
    const body = Buffer.alloc(draw.below(draw.chance(0.05) ? 3 * MIB : 40_000));
    draw.bytes(body);
    if (draw.chance(0.3)) stream.pauseReading();
    for (let from = 0; from < body.length; ) {
      const end = from + 1 + draw.below(draw.chance(0.2) ? 300_000 : 9_000);
      if (!stream.write(body.subarray(from, end))) {
        const { drains } = recorder;
        stream.resumeReading();
        await recorder.until((now) => now.drains > drains);
      }
      from = end;
      if (draw.chance(0.1)) await new Promise((resolve) => setImmediate(resolve));
      if (draw.chance(0.01)) return stream.abort();
    }
    stream.end();
    stream.resumeReading();
    await recorder.closed();
    expect(recorder.failure).toBeUndefined();
    expect(recorder.headers["x-all"]).toBe("!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~");
    expect(Buffer.concat(recorder.chunks).equals(body)).toBe(true);
  };
  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 40 }, () => one(random.uint32())));
  expect(server.sessions.length).toBe(1);
});

test("random frames end a connection or are ignored, and never do more", async () => {
  const random = new SeededRandom(9113);
  for (let world = 0; world < 60; world++) {
    await using server = await serveRaw((peer, id) => {
      peer.headers(id);
      for (let n = 0; n < 30; n++) {
        const payload = Buffer.alloc(random.below(40));
        random.bytes(payload);
        peer.frame(random.below(11), random.below(256), [0, 1, 2, 3, 5][random.below(5)] as number, payload);
      }
      peer.socket.end();
    });
    await using transport = aTransport();
    const streams = Array.from({ length: 3 }, () => open(transport, server.uri).recorder);
    for (const recorder of streams) expect((await recorder.closed()).over).toBe(true);
  }
});
