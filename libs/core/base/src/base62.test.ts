import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { decodeBase62Of64, decodeBase62Of128, encodeBase62Of64, encodeBase62Of128, fromHex, toHex } from "./index.js";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The rule of service-protocol.md §10.2, implemented literally: little-endian integer, base 62, padded. */
function byTheBook(bytes: Uint8Array, width: number): string {
  let value = BigInt(`0x${toHex(bytes.slice().reverse())}`);
  let text = "";
  while (text.length < width) {
    text = ALPHABET[Number(value % 62n)] + text;
    value /= 62n;
  }
  return text;
}

const sizes = [
  { bytes: 8, width: 11, encode: encodeBase62Of64, decode: decodeBase62Of64 },
  { bytes: 16, width: 22, encode: encodeBase62Of128, decode: decodeBase62Of128 },
];

describe.each(sizes)("$bytes bytes", ({ bytes: size, width, encode, decode }) => {
  /** Random bytes, with plenty of 0x00 and 0xff so that limbs are full and empty. */
  const bytesOf = fc
    .uint8Array({ minLength: size, maxLength: size })
    .chain((bytes) =>
      fc
        .uint8Array({ minLength: size, maxLength: size, max: 3 })
        .map((kinds) => bytes.map((byte, i) => (kinds[i] === 0 ? 0 : kinds[i] === 1 ? 0xff : byte))),
    );

  function textOf(bytes: Uint8Array): string {
    const out = new Uint8Array(width + 2).fill(0x2e);
    encode(new Uint8Array([0x55, ...bytes]), 1, out, 1);
    const text = String.fromCharCode(...out);
    expect([text.at(0), text.at(-1)]).toEqual([".", "."]); // The bytes beside the field are unchanged.
    return text.slice(1, -1);
  }

  test("are written according to the rule, and read back", () => {
    fc.assert(
      fc.property(bytesOf, (bytes) => {
        const text = textOf(bytes);
        expect(text).toBe(byTheBook(bytes, width));
        const back = new Uint8Array(size + 2);
        expect(decode(`_${text}_`, 1, back, 1)).toBe(true);
        expect(toHex(back)).toBe(`00${toHex(bytes)}00`);
      }),
      { numRuns: 2000 },
    );
  });

  test("all ones are the largest text that is read; its successor is refused", () => {
    const largest = textOf(new Uint8Array(size).fill(0xff));
    const successor = largest.slice(0, -1) + ALPHABET[ALPHABET.indexOf(largest.at(-1)!) + 1];
    expect(decode(largest, 0, new Uint8Array(size), 0)).toBe(true);
    expect(decode(successor, 0, new Uint8Array(size), 0)).toBe(false);
    expect(decode("Z".repeat(width), 0, new Uint8Array(size), 0)).toBe(false);
  });

  test("are not read from a character outside the alphabet, wherever it stands", () => {
    for (const character of ["-", "_", "/", ":", "@", "[", "`", "{", " ", "é", "\u0130", "💥"]) {
      for (let at = 0; at < width; at++) {
        const text = `${"1".repeat(at)}${character}${"1".repeat(width)}`;
        expect(decode(text, 0, new Uint8Array(size), 0)).toBe(false);
      }
    }
  });

  test("are not read from a text that ends early, and nothing is written then", () => {
    const out = fromHex("ee".repeat(size))!;
    for (let length = 0; length < width; length++) expect(decode("1".repeat(length), 0, out, 0)).toBe(false);
    expect(toHex(out)).toBe("ee".repeat(size));
  });
});

test("the worked example of the specification holds", () => {
  const out = new Uint8Array(11);
  encodeBase62Of64(fromHex("548ae3cba54055b3")!, 0, out, 0);
  expect(String.fromCharCode(...out)).toBe("foAirY4KKzi");
});

test("numbers at the borders of limbs and digit groups are written according to the rule", () => {
  for (const value of [
    0n,
    1n,
    61n,
    62n,
    238_327n,
    238_328n,
    0xffff_ffffn,
    0x1_0000_0000n,
    0xffff_ffff_0000_0000n,
    0xffff_ffff_ffff_ffffn,
  ]) {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, value, true);
    const out = new Uint8Array(11);
    encodeBase62Of64(bytes, 0, out, 0);
    expect(String.fromCharCode(...out)).toBe(byTheBook(bytes, 11));
  }
});
