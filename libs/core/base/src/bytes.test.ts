import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  allocateBytes,
  bytesEqual,
  compareBytes,
  concatBytes,
  copyBytes,
  EMPTY_BYTES,
  fromBinaryString,
  fromHex,
  fromUtf8,
  fromUtf8Strict,
  toBinaryString,
  toHex,
  utf8,
} from "./index.js";
import { anyText } from "./testing/index.js";

const someText = anyText({ maxLength: 200 });
const anyBytes = fc.uint8Array({ maxLength: 200 });

describe("text", () => {
  test("is encoded as the platform's encoder does, lone surrogates included", () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 }).map((codes) => String.fromCharCode(...codes));
    fc.assert(
      fc.property(fc.oneof(someText, units), (text) => expect(toHex(utf8(text))).toBe(toHex(new TextEncoder().encode(text)))),
    );
  });

  test("longer than the scratch buffer is encoded too", () => {
    const text = "ab💥".repeat(10_000);
    expect(fromUtf8(utf8(text))).toBe(text);
  });

  test("survives the way to bytes and back, byte order marks included", () => {
    fc.assert(
      fc.property(someText, (text) => {
        const marked = `\uFEFF${text}`;
        expect(fromUtf8(utf8(marked))).toBe(marked);
        expect(fromUtf8Strict(utf8(marked))).toBe(marked);
      }),
    );
  });

  test("is read strictly: malformed bytes are refused where the lenient reader replaces", () => {
    for (const malformed of ["ff", "c328", "e282", "f0288cbc", "61eda08062", "c0af"]) {
      const bytes = fromHex(malformed)!;
      expect(fromUtf8Strict(bytes)).toBeUndefined();
      expect(fromUtf8(bytes)).toContain("\uFFFD");
    }
  });

  test("may contain the replacement character itself", () => {
    expect(fromUtf8Strict(utf8("a\uFFFDb"))).toBe("a\uFFFDb");
  });

  test("is read from a range of a larger array", () => {
    expect(fromUtf8Strict(utf8("xxäyy"), 2, 4)).toBe("ä");
    expect(fromUtf8Strict(utf8("xxäyy"), 2, 3)).toBeUndefined();
  });

  test("strict reading agrees with the platform's strict decoder on any bytes", () => {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const decodeStrictly = (bytes: Uint8Array) => {
      try {
        return decoder.decode(bytes);
      } catch {
        return undefined;
      }
    };
    fc.assert(fc.property(anyBytes, (bytes) => expect(fromUtf8Strict(bytes)).toBe(decodeStrictly(bytes))));
  });
});

describe("results", () => {
  test("are plain arrays whose slice() copies", () => {
    const made = [
      utf8("abc"),
      copyBytes(utf8("abc")),
      concatBytes(utf8("a"), utf8("bc")),
      fromBinaryString("abc"),
      fromHex("616263")!,
    ];
    for (const bytes of made) {
      expect(Buffer.isBuffer(bytes)).toBe(false);
      const copy = bytes.slice();
      copy[0] = 0;
      expect(fromUtf8(bytes)).toBe("abc");
    }
  });

  test("never overlap, however many are made", () => {
    const sizes = fc.array(fc.nat(1500), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(sizes, (list) => {
        const items = list.map((size, i) => allocateBytes(size).fill(i));
        for (const [i, item] of items.entries()) {
          expect(item.length).toBe(list[i]);
          expect(item.every((byte) => byte === i)).toBe(true);
        }
      }),
    );
  });

  test("a copy does not follow its source", () => {
    const source = utf8("hello");
    const middle = copyBytes(source, 1, 4);
    source.fill(0);
    expect(fromUtf8(middle)).toBe("ell");
  });
});

test("concatenation keeps order and content", () => {
  fc.assert(
    fc.property(fc.array(anyBytes), (parts) => {
      expect(toHex(concatBytes(...parts))).toBe(parts.map(toHex).join(""));
    }),
  );
});

test("comparison is that of unsigned bytes, and equality goes with it", () => {
  fc.assert(
    fc.property(anyBytes, anyBytes, (a, b) => {
      expect(Math.sign(compareBytes(a, b))).toBe(toHex(a) < toHex(b) ? -1 : toHex(a) > toHex(b) ? 1 : 0);
      expect(bytesEqual(a, b)).toBe(toHex(a) === toHex(b));
      expect(bytesEqual(a, a.slice())).toBe(true);
    }),
  );
});

test("binary strings sort like their bytes and come back unchanged", () => {
  fc.assert(
    fc.property(anyBytes, anyBytes, (a, b) => {
      expect(toHex(fromBinaryString(toBinaryString(a)))).toBe(toHex(a));
      expect(toBinaryString(a) < toBinaryString(b)).toBe(compareBytes(a, b) < 0);
    }),
  );
});

test("hex is read in either case, and refused when it is not hex", () => {
  expect(fromHex("00fFaB")).toEqual(new Uint8Array([0, 255, 171]));
  for (const text of ["0", "0g", "xx", "0 "]) expect(fromHex(text)).toBeUndefined();
  expect(fromHex("")).toEqual(EMPTY_BYTES);
});
