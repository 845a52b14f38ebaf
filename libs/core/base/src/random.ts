/** The port for random numbers: a simulation can replay every choice from one seed. */
import { randomFillSync } from "node:crypto";
import { RANDOM_POOL_BYTES } from "./limits.js";

export interface Random {
  /** Fills the whole array. */
  bytes(into: Uint8Array): void;
  /** Uniform in 0…2³²−1. */
  uint32(): number;
  /** Uniform in [0, 1), 53 bits. */
  float(): number;
}

/** The operating system's generator, drawn in pools because one call for each id would cost more than the id. */
export const systemRandom: Random = createSystemRandom();

function createSystemRandom(): Random {
  const pool = new Uint8Array(RANDOM_POOL_BYTES);
  let used = RANDOM_POOL_BYTES;

  function uint32(): number {
    if (used + 4 > RANDOM_POOL_BYTES) refill();
    const value = (pool[used]! | (pool[used + 1]! << 8) | (pool[used + 2]! << 16) | (pool[used + 3]! << 24)) >>> 0;
    pool.fill(0, used, used + 4); // Bytes that were returned do not stay readable in memory.
    used += 4;
    return value;
  }

  function refill(): void {
    randomFillSync(pool);
    used = 0;
  }

  return {
    uint32,
    bytes(into) {
      if (into.length > 64) {
        randomFillSync(into);
        return;
      }
      if (used + into.length > RANDOM_POOL_BYTES) refill();
      for (let i = 0; i < into.length; i++) {
        into[i] = pool[used]!;
        pool[used++] = 0;
      }
    },
    float() {
      return ((uint32() >>> 5) * 67_108_864 + (uint32() >>> 6)) / 9_007_199_254_740_992;
    },
  };
}
