/** Why: HTTP/2 as a hostile peer sends it: every frame type with valid, invalid and random contents, in any order. */
import {
  FRAME,
  HTTP2_PREFACE,
  headerBlock,
  http2Frame,
  http2ProtocolErrors,
  requestFrame,
  type SeededRandom,
} from "@perdure/testkit";
import type { Draft } from "./connection.js";

const END_STREAM = 1;
const END_HEADERS = 4;
const FLAGS = [0, 1, 4, 5, 8, 9, 0x20, 0x2d] as const;
const STREAMS = [0, 1, 1, 1, 2, 3, 3, 5, 7, 0x7fff_ffff] as const;
const PAYLOAD_BYTES_MAX = 80;
const FRAMES_MAX = 24;
/** More than guards let one connection send. */
const FLOOD_FRAMES_MAX = 400;
/** Four frames beyond the window that a peer has before SETTINGS are acknowledged. */
const WINDOW_FRAMES = 8;
const LARGEST_FRAME = 16_384;
/** SETTINGS of RFC 9113 §6.5.2, RFC 8441, and numbers that are none. */
const SETTING_IDS = [0, 1, 2, 3, 4, 5, 6, 8, 9, 0xffff] as const;
const SETTING_VALUES = [0, 1, 2, 100, 16_384, 65_535, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1] as const;

/** Parts of requests that a listener understands, from which requests are drawn. */
export interface Requests {
  readonly authority: string;
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

export function randomBytes(random: SeededRandom, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  random.bytes(bytes);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const SETTINGS = http2Frame(FRAME.settings, 0, 0);

function drawSettings(random: SeededRandom): Buffer {
  const pairs = Array.from({ length: random.below(6) }, () => {
    const id = Buffer.alloc(2);
    id.writeUInt16BE(random.pick(SETTING_IDS));
    return Buffer.concat([id, uint32(random.chance(0.7) ? random.pick(SETTING_VALUES) : random.uint32())]);
  });
  return http2Frame(FRAME.settings, 0, 0, Buffer.concat(pairs));
}

/** HEADERS with fields as a program would send them. `isOpen`: the body follows. */
export function drawRequest(
  { authority, paths, headers }: Requests,
  random: SeededRandom,
  stream: number,
  isOpen: boolean,
): Buffer {
  const fields: Record<string, string> = {
    ":method": random.pick(["GET", "POST", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "CONNECT"]),
    ":scheme": "http",
    ":path": random.pick(paths),
    ":authority": authority,
    ...(random.chance(0.6) ? headers : {}),
    ...(random.chance(0.1) ? { expect: "100-continue" } : {}),
    ...(random.chance(0.2) ? { "content-length": String(random.pick([0, 1, 5, 99_999, -1])) } : {}),
  };
  return http2Frame(FRAME.headers, END_HEADERS | (isOpen ? 0 : END_STREAM), stream, headerBlock(fields));
}

/** One frame: its own kind of contents, or any. */
function drawFrame(requests: Requests, random: SeededRandom): Buffer {
  const type = random.below(12);
  const flags = random.chance(0.8) ? random.pick(FLAGS) : random.below(256);
  const stream = random.pick(STREAMS);
  if (random.chance(0.3)) return http2Frame(type, flags, stream, randomBytes(random, random.below(PAYLOAD_BYTES_MAX)));
  switch (type) {
    case FRAME.headers:
      return random.chance(0.5)
        ? drawRequest(requests, random, stream, random.chance(0.5))
        : http2Frame(type, flags, stream, drawBlock(random));
    case FRAME.continuation:
      return http2Frame(type, flags, stream, drawBlock(random));
    case FRAME.priority:
      return http2Frame(type, flags, stream, Buffer.concat([uint32(random.pick(STREAMS)), Buffer.from([random.below(256)])]));
    case FRAME.rstStream:
      return http2Frame(type, flags, stream, uint32(random.below(16)));
    case FRAME.settings:
      return random.chance(0.7)
        ? drawSettings(random)
        : http2Frame(type, flags, stream, randomBytes(random, 6 * random.below(4)));
    case FRAME.pushPromise:
      return http2Frame(type, flags, stream, Buffer.concat([uint32(random.pick(STREAMS)), drawBlock(random)]));
    case FRAME.ping:
      return http2Frame(type, random.pick([0, 1]), random.chance(0.8) ? 0 : stream, randomBytes(random, 8));
    case FRAME.goaway:
      return http2Frame(
        type,
        flags,
        random.chance(0.7) ? 0 : stream,
        Buffer.concat([uint32(random.pick(STREAMS)), uint32(random.below(16))]),
      );
    case FRAME.windowUpdate:
      return http2Frame(type, flags, stream, uint32(random.pick([0, 1, 65_535, 2 ** 31 - 1, 2 ** 32 - 1])));
    default:
      return http2Frame(type, flags, stream, randomBytes(random, random.below(PAYLOAD_BYTES_MAX)));
  }
}

/** A header block that HPACK may or may not read (RFC 7541 §5 and §6). */
function drawBlock(random: SeededRandom): Buffer {
  const request = Buffer.from([0x82, 0x86, 0x84]);
  switch (random.below(8)) {
    case 0: // An integer without an end.
      return Buffer.concat([request, Buffer.from([0xff]), Buffer.alloc(1 + random.below(12), 0xff)]);
    case 1: // A string longer than its frame.
      return Buffer.concat([request, Buffer.from([0x00, 0x7f, 0xff, 0xff, 0x7f]), randomBytes(random, random.below(20))]);
    case 2: // An index that no table has.
      return Buffer.concat([request, Buffer.from([0xff, random.below(128)])]);
    case 3: // Sizes of the dynamic table, at the beginning or behind fields.
      return Buffer.concat([
        random.chance(0.5) ? request : Buffer.alloc(0),
        Buffer.from([0x3f, 0xff, random.below(256), random.below(128)]),
        request,
      ]);
    case 4: // Huffman code that may be none.
      return Buffer.concat([
        request,
        Buffer.from([0x00, 0x84]),
        randomBytes(random, 4),
        Buffer.from([0x83]),
        randomBytes(random, 3),
      ]);
    case 5: // References to a field that grows: a small block, a large list.
      return Buffer.concat([
        request,
        Buffer.from([0x40, 1, 0x61, 0x7f, 0x81, 0x1f]),
        Buffer.alloc(4096, 0x62),
        Buffer.alloc(random.below(2000), 0xbe),
      ]);
    case 6: // Names and values with bytes that no field has; pseudo-headers twice or at the end.
      return Buffer.concat([request, headerBlock({ "a\0b": "c\r\nd", ":path": "/x", "": "", te: "x", connection: "close" })]);
    default:
      return Buffer.concat([request, randomBytes(random, random.below(60))]);
  }
}

type Kind = (requests: Requests, random: SeededRandom) => Draft;

const begin = (random: SeededRandom): Buffer[] => [HTTP2_PREFACE, random.chance(0.5) ? SETTINGS : drawSettings(random)];

const KINDS: readonly Kind[] = [
  (requests, random) => {
    const { name, frames } = random.pick(http2ProtocolErrors);
    const request = drawRequest(requests, random, 1, random.chance(0.5));
    return { kind: `http2: ${name}`, parts: frames(requests.authority, request) };
  },
  (requests, random) => {
    const requested = random.chance(0.7) ? [drawRequest(requests, random, 1, random.chance(0.5))] : [];
    const frames = Array.from({ length: 1 + random.below(FRAMES_MAX) }, () => drawFrame(requests, random));
    return { kind: "http2: random frames", parts: [...begin(random), ...requested, ...frames] };
  },
  (requests, random) => {
    const block = drawBlock(random);
    const cut = random.below(block.length + 1);
    const headers = random.chance(0.5)
      ? [http2Frame(FRAME.headers, random.pick([4, 5]), 1, block)]
      : [
          http2Frame(FRAME.headers, random.pick([0, 1]), 1, block.subarray(0, cut)),
          http2Frame(FRAME.continuation, random.pick([0, 4]), 1, block.subarray(cut)),
        ];
    return { kind: "http2: header blocks", parts: [...begin(random), ...headers, requestFrame(3, requests.authority)] };
  },
  (requests, random) => {
    const request = drawRequest(requests, random, 1, true);
    const data = Array.from({ length: random.below(WINDOW_FRAMES) }, () =>
      http2Frame(FRAME.data, 0, 1, randomBytes(random, LARGEST_FRAME)),
    );
    const end = random.chance(0.5) ? [http2Frame(FRAME.data, END_STREAM, 1, Buffer.from("{}"))] : [];
    return { kind: "http2: DATA beyond the window", parts: [...begin(random), request, ...data, ...end] };
  },
  (requests, random) => {
    const count = random.below(FLOOD_FRAMES_MAX);
    const flood = random.pick(["resets", "PINGs", "SETTINGS", "empty CONTINUATIONs", "empty DATA", "requests"] as const);
    const frames = Array.from({ length: count }, (_, n) => {
      const stream = 1 + 2 * n;
      if (flood === "resets")
        return Buffer.concat([drawRequest(requests, random, stream, true), http2Frame(FRAME.rstStream, 0, stream, uint32(8))]);
      if (flood === "requests") return drawRequest(requests, random, stream, random.chance(0.1));
      if (flood === "PINGs") return http2Frame(FRAME.ping, 0, 0, Buffer.alloc(8));
      if (flood === "SETTINGS") return drawSettings(random);
      return http2Frame(flood === "empty DATA" ? FRAME.data : FRAME.continuation, 0, 1);
    });
    const opening =
      flood === "empty CONTINUATIONs"
        ? [http2Frame(FRAME.headers, 0, 1, Buffer.from([0x82]))]
        : flood === "empty DATA"
          ? [drawRequest(requests, random, 1, true)]
          : [];
    return { kind: `http2: a flood of ${flood}`, parts: [...begin(random), ...opening, ...frames] };
  },
  (requests, random) => {
    const conversation = Buffer.concat([
      ...begin(random),
      drawRequest(requests, random, 1, true),
      http2Frame(FRAME.data, END_STREAM, 1, Buffer.from('"x"')),
    ]);
    for (let n = 1 + random.below(6); n > 0; n--) conversation[random.below(conversation.length)] = random.below(256);
    return { kind: "http2: flipped bytes", parts: [conversation] };
  },
  (requests, random) => {
    // Valid requests, trailers, and an end in the middle: what ends here is the client.
    const parts = [...begin(random), drawRequest(requests, random, 1, true)];
    if (random.chance(0.7)) parts.push(http2Frame(FRAME.data, 0, 1, randomBytes(random, random.below(200))));
    if (random.chance(0.5))
      parts.push(
        http2Frame(
          FRAME.headers,
          END_HEADERS | END_STREAM,
          1,
          headerBlock({ "x-trailer": "1", ...(random.chance(0.5) ? { ":path": "/" } : {}) }),
        ),
      );
    if (random.chance(0.5)) parts.push(http2Frame(FRAME.goaway, 0, 0, Buffer.alloc(8)), drawRequest(requests, random, 3, false));
    return { kind: "http2: requests that end in the middle", parts };
  },
];

export function drawHttp2(requests: Requests, random: SeededRandom): Draft {
  return random.pick(KINDS)(requests, random);
}

/** Frames towards a client of HTTP/2 that dialled the fuzzer: no preface, and the client's request is stream 1. */
export function drawHttp2Server(answers: Requests, random: SeededRandom): Draft {
  const status = http2Frame(
    FRAME.headers,
    random.pick([END_HEADERS, END_HEADERS | END_STREAM]),
    1,
    headerBlock({
      ":status": random.pick(["200", "200", "204", "100", "101", "302", "404", "500", "999", "0", "x"]),
      ...(random.chance(0.6) ? answers.headers : {}),
    }),
  );
  const body = http2Frame(FRAME.data, random.pick([0, END_STREAM]), 1, randomBytes(random, random.below(200)));
  const answer = random.pick([[], [status], [status, body]]);
  const tail = random.chance(0.5)
    ? [serverError(random)]
    : Array.from({ length: 1 + random.below(FRAMES_MAX) }, () => drawFrame(answers, random));
  const opening = random.chance(0.9) ? [random.chance(0.5) ? SETTINGS : drawSettings(random)] : [];
  return { kind: "http2: frames of a server", parts: [...opening, ...answer, ...tail] };
}

function serverError(random: SeededRandom): Buffer {
  return random.pick(http2ProtocolErrors).frames("a").at(-1) as Buffer;
}
