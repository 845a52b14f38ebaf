/** Why: what a listener of the fuzzer is sent: a mixture by what it speaks, and everything else as well. */
import { FRAME, headerBlock, http2Frame, http2ProtocolErrors, SeededRandom } from "@perdure/testkit";
import { type Draft, type DrawnConnection, drawDelivery, seedOf } from "./connection.js";
import { drawHttp1, drawHttp1Server } from "./draw-http1.js";
import { drawHttp2, drawHttp2Server, type Requests, randomBytes } from "./draw-http2.js";

/** Protocol of a listener; `endpoint` and `relay`: the program connects to the fuzzer. */
export type Speech = "http" | "grpc" | "tunnel" | "endpoint" | "relay";

const RANDOM_BYTES_MAX = 3_000;
const END_STREAM = 1;
const END_HEADERS = 4;
/** Records of TLS: a ClientHello whose rest is random, an alert, application data, one of a version that is none, and SSL 2. */
const TLS_HEADS = [
  "16030100f4010000f00303",
  "15030300020228",
  "1703030040",
  "1603ff4000",
  "802e0100020015000000100100800700c0",
  "16030300000000",
] as const;
/** Lengths of gRPC messages that are not those of their bytes. */
const MESSAGE_LENGTHS = [0, 1, 5, 100, 4_194_305, 2 ** 31, 2 ** 32 - 1] as const;

function drawTls(random: SeededRandom): Draft {
  const records = Array.from({ length: 1 + random.below(3) }, () =>
    Buffer.concat([Buffer.from(random.pick(TLS_HEADS), "hex"), randomBytes(random, random.below(260))]),
  );
  return { kind: "tls: records", parts: records };
}

function drawNoise(random: SeededRandom): Draft {
  return { kind: "random bytes", parts: [randomBytes(random, random.below(RANDOM_BYTES_MAX))] };
}

/** gRPC frames (a flag, a length, a message) in DATA, with lengths that may be wrong. */
function drawGrpc({ authority, paths }: Requests, random: SeededRandom): Draft {
  const fields: Record<string, string> = {
    ":method": random.chance(0.9) ? "POST" : "GET",
    ":scheme": "http",
    ":path": random.pick(paths),
    ":authority": authority,
    "content-type": random.pick(["application/grpc", "application/grpc+proto", "application/grpc", "text/plain"]),
    te: random.pick(["trailers", "trailers", "gzip"]),
    ...(random.chance(0.2) ? { "grpc-timeout": random.pick(["1S", "0n", "99999999999H", "x", "-1S"]) } : {}),
    ...(random.chance(0.2) ? { "grpc-encoding": random.pick(["gzip", "identity", "x"]) } : {}),
    ...(random.chance(0.2) ? { "x-bin": random.pick(["AAEC", "!!!", ""]) } : {}),
  };
  const messages = Array.from({ length: random.below(5) }, () => {
    const message = randomBytes(random, random.below(60));
    const prefix = Buffer.alloc(5);
    prefix[0] = random.chance(0.8) ? 0 : random.below(256);
    prefix.writeUInt32BE(random.chance(0.6) ? message.length : random.pick(MESSAGE_LENGTHS), 1);
    return http2Frame(FRAME.data, random.chance(0.8) ? 0 : END_STREAM, 1, Buffer.concat([prefix, message]));
  });
  const [preface, settings] = firstFrames(authority);
  const request = http2Frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields));
  const error = random.chance(0.3) ? [errorFrame(authority, random)] : [];
  return { kind: "grpc: messages", parts: [preface, settings, request, ...messages, ...error] };
}

function firstFrames(authority: string): readonly [Buffer, Buffer] {
  return (http2ProtocolErrors[0] as (typeof http2ProtocolErrors)[0]).frames(authority).slice(0, 2) as [Buffer, Buffer];
}

const errorFrame = (authority: string, random: SeededRandom): Buffer =>
  random.pick(http2ProtocolErrors).frames(authority).at(-1) as Buffer;

/** Towards a relay the client of TCP is the server of HTTP/2; its answer to the first stream has the credential. */
function drawTunnelClient({ authority, headers }: Requests, random: SeededRandom): Draft {
  const answer = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      random.chance(0.9) ? value : random.pick(["", "\u00fc", "x".repeat(5_000), "env_1"]),
    ]),
  );
  const hello = http2Frame(
    FRAME.headers,
    random.pick([END_HEADERS, END_HEADERS | END_STREAM]),
    1,
    headerBlock({ ":status": random.pick(["200", "200", "200", "404", "999"]), ...answer }),
  );
  const settings = firstFrames(authority)[1];
  const more = random.chance(0.4)
    ? [errorFrame(authority, random)]
    : drawHttp2Server({ authority, paths: ["/"], headers }, random).parts.slice(1);
  return { kind: "tunnel: a client's handshake", parts: [settings, ...(random.chance(0.8) ? [hello] : []), ...more] };
}

function drawDraft(speech: Speech, requests: Requests, random: SeededRandom): Draft {
  const share = random.float();
  switch (speech) {
    case "endpoint":
    case "relay":
      if (share < 0.7) return drawHttp2Server(requests, random);
      if (share < 0.85) return drawHttp1Server(requests, random);
      return share < 0.9 ? drawTls(random) : drawNoise(random);
    case "tunnel":
      if (share < 0.6) return drawTunnelClient(requests, random);
      break;
    case "grpc":
      if (share < 0.4) return drawGrpc(requests, random);
      break;
    case "http":
      if (share < 0.05) return drawGrpc(requests, random);
      break;
  }
  const other = random.float();
  if (other < 0.5) return drawHttp2(requests, random);
  if (other < 0.85) return drawHttp1(requests, random);
  return other < 0.92 ? drawTls(random) : drawNoise(random);
}

/** The connection that a seed, a listener and a number stand for. */
export function drawConnection(
  seed: number,
  listener: string,
  index: number,
  speech: Speech,
  requests: Requests,
): DrawnConnection {
  const random = new SeededRandom(seedOf(seed, listener, index));
  return drawDelivery(drawDraft(speech, requests, random), random);
}
