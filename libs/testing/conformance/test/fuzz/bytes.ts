/** Why: what comes to an open port need not be HTTP at all. Bytes are sent as they are drawn, and the connection is left to the server. */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { SeededRandom } from "@perdure/testkit";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HTTP1 = [
  "GET /restate/health HTTP/1.1\r\nhost: x\r\n\r\n",
  "POST /Echo/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n12345",
  "POST /Echo/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n12\r\nffffffffff\r\n",
  "GET / HTTP/9.9\r\n\r\n",
  "GET /Echo/echo HTTP/1.0\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\n\r\n",
  "POST /Echo/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999\r\n\r\n{",
  "POST /Echo/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n12345",
];
/** Longest that one connection is kept. */
const TIMEOUT_MS = 400;

function drawBytes(random: SeededRandom): Buffer {
  const noise = Buffer.alloc(random.below(3_000));
  random.bytes(noise);
  switch (random.below(5)) {
    case 0:
      return noise;
    case 1:
      return Buffer.concat([Buffer.from(PREFACE), noise]);
    case 2: {
      // Frames with sound headers and unsound everything else.
      const frames = Array.from({ length: random.below(30) }, () => {
        const body = Buffer.alloc(random.below(60));
        random.bytes(body);
        const head = Buffer.alloc(9);
        head.writeUIntBE(body.length, 0, 3);
        head[3] = random.below(11);
        head[4] = random.below(256);
        head.writeUInt32BE(random.below(8), 5);
        return Buffer.concat([head, body]);
      });
      return Buffer.concat([Buffer.from(PREFACE), Buffer.from("000000040000000000", "hex"), ...frames]);
    }
    case 3:
      return Buffer.concat(Array.from({ length: 1 + random.below(20) }, () => Buffer.from(random.pick(HTTP1))));
    default: {
      const bytes = Buffer.from(random.pick(HTTP1));
      for (let i = random.below(6); i > 0; i--) bytes[random.below(bytes.length)] = random.below(256);
      return bytes.subarray(0, random.below(bytes.length + 1));
    }
  }
}

/** One connection: bytes in some pieces, then whatever the server does, or nothing for long enough. */
export async function sendBytes(port: number, random: SeededRandom): Promise<void> {
  const bytes = drawBytes(random);
  const pieces = 1 + random.below(3);
  const hangsUp = random.chance(0.3);
  const socket = connect({ port, host: "127.0.0.1" });
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  socket.on("error", () => {}); // The server may well reset it.
  socket.resume();
  for (let piece = 0; piece < pieces; piece++) {
    socket.write(bytes.subarray((bytes.length * piece) / pieces, (bytes.length * (piece + 1)) / pieces));
    await delay(random.below(5));
  }
  if (hangsUp) socket.destroy();
  await Promise.race([closed, delay(TIMEOUT_MS)]);
  socket.destroy();
  await closed;
}
