/** Why: the fuzzer and the replay of one of its connections must send the same bytes in the same pieces and end in the same way. */
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { SeededRandom } from "@perdure/testkit";
import { CONNECTION_MS_MAX, HOLD_MS_MAX } from "./limits.js";

/** End of a connection that the program has not ended: the sender sends FIN and waits, sends RST, or closes without either. */
export type Ending = "fin" | "reset" | "destroy";

export interface DrawnConnection {
  /** Description of the bytes, e.g. `http2: PING of the wrong length`. */
  readonly kind: string;
  /** One write each. */
  readonly segments: readonly Buffer[];
  /** Time between the last byte and the end. */
  readonly holdMs: number;
  readonly ending: Ending;
}

/** A message as its parts: frames, or lines. */
export interface Draft {
  readonly kind: string;
  readonly parts: readonly Buffer[];
}

const CUTS_MAX = 6;
/** Bytes that are sent one by one when a draft is cut to pieces completely. */
const SINGLE_BYTES_MAX = 40;

/** Decides about segments and the end; a quarter of all connections end inside their bytes. */
export function drawDelivery({ kind, parts }: Draft, random: SeededRandom): DrawnConnection {
  const whole = Buffer.concat(parts);
  const isCutOff = random.chance(0.25);
  const bytes = isCutOff ? whole.subarray(0, random.below(whole.length + 1)) : whole;
  const segments = random.chance(0.2) && !isCutOff ? [...parts] : drawSegments(bytes, random);
  return {
    kind,
    segments: segments.filter(({ length }) => length > 0),
    holdMs: random.chance(0.5) ? 0 : random.below(HOLD_MS_MAX),
    ending: random.pick(["fin", "fin", "reset", "destroy"] as const),
  };
}

function drawSegments(bytes: Buffer, random: SeededRandom): Buffer[] {
  switch (random.below(4)) {
    case 0: {
      const cuts = Array.from({ length: 1 + random.below(CUTS_MAX) }, () => random.below(bytes.length + 1)).sort((a, b) => a - b);
      return [0, ...cuts].map((cut, n) => bytes.subarray(cut, cuts[n] ?? bytes.length));
    }
    case 1: {
      const from = Math.max(0, bytes.length - SINGLE_BYTES_MAX);
      return [bytes.subarray(0, from), ...Array.from(bytes.subarray(from), (byte) => Buffer.from([byte]))];
    }
    default:
      return [bytes];
  }
}

/** Sends it to 127.0.0.1 and resolves when nothing of the connection is left on this side. Rejects when it cannot be established. */
export async function sendConnection(port: number, connection: DrawnConnection): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const established = new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  socket.on("error", () => undefined); // The program may reset it.
  socket.resume();
  await established;
  await converse(socket, closed, connection);
}

/** The sender's side of a connection that is established, whichever side dialled. */
export async function converse(socket: Socket, closed: Promise<void>, connection: DrawnConnection): Promise<void> {
  for (const segment of connection.segments) {
    if (socket.destroyed || !socket.writable) break;
    socket.write(segment);
    await new Promise(setImmediate);
  }
  if (connection.holdMs > 0) await Promise.race([closed, delay(connection.holdMs)]);
  switch (connection.ending) {
    case "fin":
      socket.end();
      await Promise.race([closed, delay(CONNECTION_MS_MAX)]);
      socket.destroy();
      break;
    case "reset":
      socket.resetAndDestroy();
      break;
    case "destroy":
      socket.destroy();
      break;
  }
  await closed;
}

/** The seed of one connection: any of them can be replayed without those before it. */
export function seedOf(seed: number, listener: string, index: number): number {
  return createHash("sha256").update(`${seed} ${listener} ${index}`).digest().readUIntBE(0, 6);
}
