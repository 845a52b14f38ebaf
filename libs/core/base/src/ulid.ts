/** ULIDs: 48 bits of milliseconds and 80 random bits, so that later ids sort later in raw form (service-protocol.md §10.4). */
import type { Random } from "./random.js";

const TWO_32 = 4_294_967_296;
const entropy = new Uint8Array(10);

/** Writes the 16 bytes of a ULID into `bytes` at `at`. `nowMs` since 1970, whole, in 0…2⁴⁸−1. */
export function writeUlid(bytes: Uint8Array, at: number, nowMs: number, random: Random): void {
  const high = Math.floor(nowMs / TWO_32);
  const low = nowMs - high * TWO_32;
  bytes[at] = high >>> 8;
  bytes[at + 1] = high;
  bytes[at + 2] = low >>> 24;
  bytes[at + 3] = low >>> 16;
  bytes[at + 4] = low >>> 8;
  bytes[at + 5] = low;
  random.bytes(entropy);
  for (let i = 0; i < 10; i++) bytes[at + 6 + i] = entropy[i]!;
}
