/** Why: HTTP/1.1 as a hostile peer sends it: broken heads, chunks, pipelines, upgrades, and requests that end in the middle. */
import type { SeededRandom } from "@perdure/testkit";
import type { Draft } from "./connection.js";
import { type Requests, randomBytes } from "./draw-http2.js";

const LINE_CHARS_MAX = 40_000;
const HEADERS_MAX = 3_000;
const PIPELINED_MAX = 30;

const METHODS = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "CONNECT",
  "PRI",
  "get",
  "G ET",
  "BREW",
  "",
  "M-SEARCH",
] as const;
const VERSIONS = [
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/0.9",
  "HTTP/2.0",
  "HTTP/9.9",
  "http/1.1",
  "HTTP/1.1 x",
  "",
] as const;
const LENGTHS = [
  "0",
  "5",
  "5, 5",
  "5\r\ncontent-length: 6",
  "-1",
  "+5",
  "0x5",
  "99999999999999999999",
  "5 ",
  "",
  "1e1",
  "9999",
] as const;
const ENCODINGS = [
  "chunked",
  "chunked, chunked",
  "gzip, chunked",
  "identity",
  "chunked\r\ncontent-length: 5",
  "xchunked",
  " chunked",
  "CHUNKED",
  "chunked;q=1",
] as const;
const CHUNKS = [
  "5\r\nhello\r\n0\r\n\r\n",
  "0\r\n\r\n",
  "ffffffffffffffff\r\nx",
  "-1\r\n",
  "5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n",
  "5\nhello\n0\n\n",
  "g\r\n",
  "5\r\nhelloX0\r\n\r\n",
  "1000000\r\nx",
  "2\r\nab\r\n3\r\n",
] as const;
const CONNECTIONS = ["close", "keep-alive", "upgrade", "upgrade, http2-settings", "x, close, ,", "transfer-encoding"] as const;
const TARGETS = ["*", "/", "//", "http://other/x", "/%zz", "/a b", "/\u00e4", "?", "/x#y", "a:1", "/..%2f..%2f", "/\0"] as const;
/** A masked text frame, a ping, a close, and a frame that is longer than its connection (RFC 6455 §5.2). */
const WEBSOCKET_FRAMES = ["818500000000", "898000000000", "888000000000", "82ff7fffffffffffffff00000000", "c1f0"] as const;

function head(line: string, headers: readonly string[], end = "\r\n"): Buffer {
  return Buffer.from(`${[line, ...headers].join(end)}${end}${end}`, "latin1");
}

function drawHead({ authority, paths, headers }: Requests, random: SeededRandom, more: readonly string[] = []): Buffer {
  const target = random.chance(0.7) ? random.pick(paths) : random.pick(TARGETS);
  const line = random.chance(0.8) ? `POST ${target} HTTP/1.1` : `${random.pick(METHODS)} ${target} ${random.pick(VERSIONS)}`;
  const own = random.chance(0.6) ? Object.entries(headers).map(([name, value]) => `${name}: ${value}`) : [];
  return head(line, [`host: ${authority}`, ...own, ...more], random.chance(0.95) ? "\r\n" : "\n");
}

type Kind = (requests: Requests, random: SeededRandom) => Draft;

const KINDS: readonly Kind[] = [
  (requests, random) => {
    const line = `${random.pick(METHODS)} ${random.pick([...TARGETS, ...requests.paths])} ${random.pick(VERSIONS)}`;
    const odd = [
      "a b: c",
      ": x",
      "x",
      " folded",
      "x:\0",
      "x: \u0001",
      "host: a",
      "host: b",
      "\u00fc: 1",
      `connection: ${random.pick(CONNECTIONS)}`,
      "expect: 100-continue",
      "expect: x",
    ];
    const headers = Array.from({ length: random.below(6) }, () => random.pick(odd));
    return {
      kind: "http1: broken heads",
      parts: [head(line, random.chance(0.5) ? [`host: ${requests.authority}`, ...headers] : headers)],
    };
  },
  (requests, random) => {
    const more = [`transfer-encoding: ${random.pick(ENCODINGS)}`];
    return {
      kind: "http1: chunks",
      parts: [drawHead(requests, random, more), Buffer.from(random.pick(CHUNKS)), Buffer.from(random.pick(CHUNKS))],
    };
  },
  (requests, random) => {
    const more = [`content-length: ${random.pick(LENGTHS)}`, ...(random.chance(0.3) ? ["expect: 100-continue"] : [])];
    return { kind: "http1: lengths", parts: [drawHead(requests, random, more), randomBytes(random, random.below(30))] };
  },
  (requests, random) => {
    const parts = Array.from({ length: 1 + random.below(PIPELINED_MAX) }, () =>
      random.chance(0.5)
        ? Buffer.concat([drawHead(requests, random, ["content-length: 2"]), Buffer.from("{}")])
        : drawHead(requests, random),
    );
    return { kind: "http1: pipelines", parts };
  },
  (requests, random) => {
    switch (random.below(3)) {
      case 0:
        return {
          kind: "http1: a long line",
          parts: [head(`GET /${"a".repeat(random.below(LINE_CHARS_MAX))} HTTP/1.1`, [`host: ${requests.authority}`])],
        };
      case 1:
        return {
          kind: "http1: a long field",
          parts: [drawHead(requests, random, [`x: ${"b".repeat(random.below(LINE_CHARS_MAX))}`])],
        };
      default:
        return {
          kind: "http1: many fields",
          parts: [
            drawHead(
              requests,
              random,
              Array.from({ length: random.below(HEADERS_MAX) }, (_, n) => `x${n}: 1`),
            ),
          ],
        };
    }
  },
  (requests, random) => {
    const more = [
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    const line = `GET ${random.pick(requests.paths)} HTTP/1.1`;
    const frames = Array.from({ length: random.below(5) }, () => Buffer.from(random.pick(WEBSOCKET_FRAMES), "hex"));
    return {
      kind: "http1: upgrade to WebSocket",
      parts: [head(line, [`host: ${requests.authority}`, ...more]), ...frames, randomBytes(random, random.below(40))],
    };
  },
  (requests, random) => {
    const more = [
      "connection: upgrade, http2-settings",
      "upgrade: h2c",
      `http2-settings: ${random.pick(["AAMAAABkAAQAAP__", "", "!!"])}`,
    ];
    return {
      kind: "http1: upgrade to HTTP/2",
      parts: [
        drawHead(requests, random, more),
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        randomBytes(random, random.below(40)),
      ],
    };
  },
  (requests, random) => {
    const bytes = Buffer.concat([drawHead(requests, random, ["content-length: 5"]), Buffer.from("hello")]);
    for (let n = 1 + random.below(6); n > 0; n--) bytes[random.below(bytes.length)] = random.below(256);
    return { kind: "http1: flipped bytes", parts: [bytes] };
  },
];

export function drawHttp1(requests: Requests, random: SeededRandom): Draft {
  return random.pick(KINDS)(requests, random);
}

const STATUS_LINES = [
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200",
  "HTTP/1.1 999 x",
  "HTTP/1.1 100 Continue",
  "HTTP/1.1 101 Switching Protocols",
  "HTTP/1.1 204 No Content",
  "HTTP/2 200",
  "HTTP/1.0 200 OK",
  "x",
] as const;

/** An answer of a server that breaks HTTP/1.1. */
export function drawHttp1Server(answers: Requests, random: SeededRandom): Draft {
  const own = random.chance(0.6) ? Object.entries(answers.headers).map(([name, value]) => `${name}: ${value}`) : [];
  const length = random.chance(0.5) ? `content-length: ${random.pick(LENGTHS)}` : `transfer-encoding: ${random.pick(ENCODINGS)}`;
  const one = (): Buffer[] => [
    head(random.pick(STATUS_LINES), [...own, length]),
    Buffer.from(random.pick(CHUNKS)),
    randomBytes(random, random.below(40)),
  ];
  return { kind: "http1: answers of a server", parts: [...one(), ...(random.chance(0.3) ? one() : [])] };
}
