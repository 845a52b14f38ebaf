import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { siphash13 } from "./index.js";

const MASK = 0xffff_ffff_ffff_ffffn;
const rotate = (value: bigint, by: bigint) => ((value << by) | (value >> (64n - by))) & MASK;

/** SipHash-1-3 as in the paper, on 64-bit words. */
function byTheBook(input: Uint8Array): bigint {
  let [a, b, c, d] = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
  const round = () => {
    a = (a + b) & MASK;
    b = rotate(b, 13n) ^ a;
    a = rotate(a, 32n);
    c = (c + d) & MASK;
    d = rotate(d, 16n) ^ c;
    a = (a + d) & MASK;
    d = rotate(d, 21n) ^ a;
    c = (c + b) & MASK;
    b = rotate(b, 17n) ^ c;
    c = rotate(c, 32n);
  };
  const padded = new Uint8Array((input.length >> 3) * 8 + 8);
  padded.set(input);
  padded[padded.length - 1] = input.length;
  const view = new DataView(padded.buffer);
  for (let at = 0; at < padded.length; at += 8) {
    const word = view.getBigUint64(at, true);
    d ^= word;
    round();
    a ^= word;
  }
  c ^= 0xffn;
  round();
  round();
  round();
  return a ^ b ^ c ^ d;
}

test("is SipHash-1-3 with zero keys for inputs of every length and content", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (input) => {
      expect(siphash13(input)).toBe(byTheBook(input));
    }),
    { numRuns: 500 },
  );
});

test("of nothing is the value the reference implementations give", () => {
  expect(siphash13(new Uint8Array(0))).toBe(0xd1fb_a762_150c_532cn);
});
