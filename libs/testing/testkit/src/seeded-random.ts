/** A failing run must be repeatable from one number, so every choice of a simulation or test comes from here. */
import type { Random } from "@perdure/base";

/** xoshiro128** (Blackman and Vigna, 2018), its state spread from the seed by SplitMix32. Not for secrets. */
export class SeededRandom implements Random {
  readonly seed: number;
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** Any safe integer; all of its bits count. */
  constructor(seed: number) {
    this.seed = seed;
    let state = seed ^ Math.imul(Math.floor(seed / 4_294_967_296), 0x85eb_ca6b);
    const next = () => {
      state = (state + 0x9e37_79b9) | 0;
      let mixed = state ^ (state >>> 16);
      mixed = Math.imul(mixed, 0x21f0_aaad);
      mixed ^= mixed >>> 15;
      mixed = Math.imul(mixed, 0x735a_2d97);
      return (mixed ^ (mixed >>> 15)) >>> 0;
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next() | 1; // The state must not be all zero.
  }

  uint32(): number {
    const scrambled = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotate(this.#d, 11);
    return scrambled;
  }

  float(): number {
    return ((this.uint32() >>> 5) * 67_108_864 + (this.uint32() >>> 6)) / 9_007_199_254_740_992;
  }

  bytes(into: Uint8Array): void {
    let word = 0;
    for (let i = 0; i < into.length; i++) {
      if ((i & 3) === 0) word = this.uint32();
      into[i] = word & 0xff;
      word >>>= 8;
    }
  }

  /** Uniform whole number in 0…below−1; `below` in 1…2³². */
  below(below: number): number {
    return Math.floor(this.float() * below);
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.float() < probability;
  }

  /** One element of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError("cannot pick from an empty list");
    return list[this.below(list.length)] as T;
  }

  /** A generator of its own, seeded from this one: its draws do not shift those of others. */
  fork(): SeededRandom {
    return new SeededRandom(this.uint32());
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by)) | 0;
}
