/** Writer and reader against the published library, in both directions, and against malformed bytes. */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { concatBytes, fromHex, InvariantError, ProtoError, ProtoReader, ProtoWriter, toHex } from "./index.js";
import { WRITER_REFERRED_BYTES_MIN } from "./limits.js";
import { anyText } from "./testing/index.js";

type Field =
  | { kind: "uint32"; field: number; value: number }
  | { kind: "uint64"; field: number; value: bigint }
  | { kind: "safe"; field: number; value: number }
  | { kind: "bool"; field: number; value: boolean }
  | { kind: "string"; field: number; value: string }
  | { kind: "bytes"; field: number; value: Uint8Array }
  | { kind: "packed"; field: number; value: number[] }
  | { kind: "message"; field: number; value: Field[] };

const U64_MAX = 0xffff_ffff_ffff_ffffn;
const fieldNumber = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 2 ** 29 - 1 }));
const uint32 = fc.oneof(fc.nat(300), fc.nat(0xffff_ffff));
const uint64 = fc.oneof(
  fc.bigInt(0n, 300n),
  fc.bigInt(0n, U64_MAX),
  fc.nat(63).map((bit) => 1n << BigInt(bit)),
);
const safe = fc.oneof(
  fc.nat(300),
  fc.nat(Number.MAX_SAFE_INTEGER),
  fc.nat(52).map((bit) => 2 ** bit),
);
const text = fc.oneof(fc.string(), anyText({ maxLength: 400 }), fc.string({ minLength: 120, maxLength: 140 }));
const bytes = fc.oneof(fc.uint8Array(), fc.uint8Array({ minLength: 120, maxLength: 2000 }));

const { fields } = fc.letrec<{ fields: Field[]; one: Field }>((tie) => ({
  one: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ kind: fc.constant("uint32" as const), field: fieldNumber, value: uint32 }),
    fc.record({ kind: fc.constant("uint64" as const), field: fieldNumber, value: uint64 }),
    fc.record({ kind: fc.constant("safe" as const), field: fieldNumber, value: safe }),
    fc.record({ kind: fc.constant("bool" as const), field: fieldNumber, value: fc.boolean() }),
    fc.record({ kind: fc.constant("string" as const), field: fieldNumber, value: text }),
    fc.record({ kind: fc.constant("bytes" as const), field: fieldNumber, value: bytes }),
    fc.record({ kind: fc.constant("packed" as const), field: fieldNumber, value: fc.array(uint32, { minLength: 1 }) }),
    fc.record({ kind: fc.constant("message" as const), field: fieldNumber, value: tie("fields") }),
  ),
  fields: fc.array(tie("one"), { maxLength: 8 }),
}));

function write(w: ProtoWriter, list: readonly Field[]): ProtoWriter {
  for (const f of list) {
    switch (f.kind) {
      case "uint32":
        w.uint32(f.field, f.value);
        break;
      case "uint64":
      case "safe":
        w.uint64(f.field, f.value);
        break;
      case "bool":
        w.bool(f.field, f.value);
        break;
      case "string":
        w.string(f.field, f.value);
        break;
      case "bytes":
        w.bytes(f.field, f.value);
        break;
      case "packed":
        w.packedUint32(f.field, f.value);
        break;
      case "message":
        write(w.fork(f.field), f.value).join();
        break;
    }
  }
  return w;
}

function writeWithLibrary(w: BinaryWriter, list: readonly Field[]): BinaryWriter {
  for (const f of list) {
    switch (f.kind) {
      case "uint32":
        w.tag(f.field, WireType.Varint).uint32(f.value);
        break;
      case "uint64":
      case "safe":
        w.tag(f.field, WireType.Varint).uint64(BigInt(f.value));
        break;
      case "bool":
        w.tag(f.field, WireType.Varint).bool(f.value);
        break;
      case "string":
        w.tag(f.field, WireType.LengthDelimited).string(f.value);
        break;
      case "bytes":
        w.tag(f.field, WireType.LengthDelimited).bytes(f.value);
        break;
      case "packed":
        w.tag(f.field, WireType.LengthDelimited).fork();
        for (const n of f.value) w.uint32(n);
        w.join();
        break;
      case "message":
        writeWithLibrary(w.tag(f.field, WireType.LengthDelimited).fork(), f.value).join();
        break;
    }
  }
  return w;
}

/** Reads the expected fields in order, so that each value is read by its own method. */
function expectToRead(r: ProtoReader, list: readonly Field[]): void {
  for (const f of list) {
    const wire = f.kind === "uint32" || f.kind === "uint64" || f.kind === "safe" || f.kind === "bool" ? 0 : 2;
    expect(r.tag() >>> 0).toBe(((f.field << 3) | wire) >>> 0);
    switch (f.kind) {
      case "uint32":
        expect(r.uint32()).toBe(f.value);
        break;
      case "uint64":
        expect(r.uint64()).toBe(f.value);
        break;
      case "safe":
        expect(r.uint64Number()).toBe(f.value);
        break;
      case "bool":
        expect(r.bool()).toBe(f.value);
        break;
      case "string":
        expect(r.string()).toBe(f.value);
        break;
      case "bytes":
        expect(toHex(r.bytes())).toBe(toHex(f.value));
        break;
      case "packed": {
        const numbers: number[] = [];
        r.packedUint32(numbers);
        expect(numbers).toEqual(f.value);
        break;
      }
      case "message": {
        const { start, end } = r.message();
        expectToRead(new ProtoReader(r.buf, start, end), f.value);
        break;
      }
    }
  }
  expect(r.hasMore()).toBe(false);
}

describe("a message of any fields", () => {
  const reused = new ProtoWriter();

  test("is written as the published library writes it, with one writer used over and over", () => {
    fc.assert(
      fc.property(fields, (list) => {
        const ours = write(reused.reset(), list);
        const theirs = toHex(writeWithLibrary(new BinaryWriter(), list).finish());
        expect(ours.size).toBe(theirs.length / 2);
        expect(toHex(ours.finish())).toBe(theirs);
      }),
      { numRuns: 500 },
    );
  });

  test("is read back, from the middle of a larger buffer too", () => {
    fc.assert(
      fc.property(fields, (list) => {
        const written = writeWithLibrary(new BinaryWriter(), list).finish();
        expectToRead(new ProtoReader(written), list);
        const larger = new Uint8Array(written.length + 6).fill(0xff);
        larger.set(written, 3);
        expectToRead(new ProtoReader(larger, 3, 3 + written.length), list);
      }),
      { numRuns: 500 },
    );
  });

  test("is skipped field by field to its exact end", () => {
    fc.assert(
      fc.property(fields, (list) => {
        const r = new ProtoReader(write(new ProtoWriter(), list).finish());
        let count = 0;
        for (; r.hasMore(); count++) r.skip(r.tag() & 7);
        expect(count).toBe(list.length);
      }),
    );
  });
});

describe("the writer", () => {
  test("hands out bytes that later messages do not touch", () => {
    const w = new ProtoWriter();
    const first = w.string(1, "first").finish();
    w.reset().string(1, "second message").finish();
    expect(new BinaryReader(first.subarray(1)).string()).toBe("first");
  });

  test("passes finished wire format through", () => {
    const inner = new ProtoWriter().uint32(1, 7).finish();
    expect(toHex(new ProtoWriter().fork(2).raw(inner).join().finish())).toBe("12020807");
  });

  test("writes no field for an empty packed list, and takes typed arrays", () => {
    expect(new ProtoWriter().packedUint32(1, []).size).toBe(0);
    expect(toHex(new ProtoWriter().packedUint32(1, new Uint32Array([1, 300])).finish())).toBe("0a0301ac02");
  });

  test("replaces lone surrogates, in short and long strings alike", () => {
    for (const broken of ["\ud800", `${"a".repeat(130)}\udfff`]) {
      const r = new ProtoReader(new ProtoWriter().string(1, broken).finish());
      r.tag();
      expect(r.string()).toBe(broken.toWellFormed());
    }
  });

  test("grows for large values and nests deeply without losing a byte", () => {
    const large = new Uint8Array(3_000_000).map((_, i) => i);
    const w = new ProtoWriter();
    for (let depth = 0; depth < 100; depth++) w.fork(1);
    w.bytes(2, large);
    for (let depth = 0; depth < 100; depth++) w.join();
    let content = new ProtoReader(w.finish());
    for (let depth = 0; depth < 100; depth++) {
      expect(content.tag()).toBe(10);
      const { start, end } = content.message();
      expect(content.hasMore()).toBe(false);
      content = new ProtoReader(content.buf, start, end);
    }
    expect(content.tag()).toBe(18);
    expect(Buffer.compare(content.bytes(), large)).toBe(0);
  });

  test("puts large values where they belong, whatever is written around them", () => {
    const steps = fc.array(fc.record({ sort: fc.nat(3), bytes: fc.nat(199) }), { maxLength: 30 });
    const property = fc.property(steps, (list) => {
      const w = new ProtoWriter();
      const expected = new BinaryWriter();
      let depth = 0;
      for (const [step, { sort, bytes }] of list.entries()) {
        const value = new Uint8Array(sort === 0 ? WRITER_REFERRED_BYTES_MIN + bytes * 500 : bytes).fill(step);
        if (sort < 2) {
          w.bytes(step + 1, value);
          expected.tag(step + 1, WireType.LengthDelimited).bytes(value);
        } else if (sort === 2) {
          w.fork(3);
          expected.tag(3, WireType.LengthDelimited).fork();
          depth++;
        } else if (depth > 0) {
          w.join();
          expected.join();
          depth--;
        }
      }
      for (; depth > 0; depth--) {
        w.join();
        expected.join();
      }
      const size = w.size;
      const whole = w.finish();
      expect(whole.length).toBe(size);
      expect(Buffer.compare(whole, expected.finish())).toBe(0);
    });
    fc.assert(property, { numRuns: 100 });
  });

  test("finishes in pieces without copying large values", () => {
    const large = new Uint8Array(WRITER_REFERRED_BYTES_MIN).fill(7);
    const write = (): ProtoWriter =>
      new ProtoWriter().uint32(1, 1).fork(2).bytes(1, large).join().bytes(3, large).string(4, "end");
    const pieces = write().finishInPieces();
    expect(pieces.map((piece) => piece === large)).toEqual([false, true, false, true, false]);
    expect(Buffer.compare(concatBytes(...pieces), write().finish())).toBe(0);
    expect(new ProtoWriter().uint32(1, 1).finishInPieces()).toEqual([new ProtoWriter().uint32(1, 1).finish()]);
    const w = new ProtoWriter().bytes(1, large);
    expect(toHex(w.reset().uint32(1, 7).finish())).toBe("0807"); // Nothing of the previous message is left.
    expect(() => new ProtoWriter().fork(1).bytes(1, large).finishInPieces()).toThrow(InvariantError);
  });

  test("refuses a message that is not closed, closed twice or nested without end", () => {
    expect(() => new ProtoWriter().fork(1).finish()).toThrow(InvariantError);
    expect(() => new ProtoWriter().join()).toThrow(InvariantError);
    expect(() => {
      const w = new ProtoWriter();
      for (let depth = 0; depth < 1000; depth++) w.fork(1);
    }).toThrow(InvariantError);
  });

  test("is usable again after an abandoned message", () => {
    const w = new ProtoWriter().fork(1).string(1, "half");
    expect(toHex(w.reset().bool(1, true).finish())).toBe("0801");
  });
});

describe("the reader", () => {
  function attempt(hex: string, read: (r: ProtoReader) => unknown): unknown {
    return read(new ProtoReader(fromHex(hex)!));
  }

  test.each([
    ["a number cut off", "ff", (r: ProtoReader) => r.uint32()],
    ["an empty buffer", "", (r: ProtoReader) => r.tag()],
    ["a number of eleven bytes", `${"80".repeat(10)}01`, (r: ProtoReader) => r.uint64()],
    ["field number 0", "00", (r: ProtoReader) => r.tag()],
    ["wire type 6", "0e", (r: ProtoReader) => r.tag()],
    ["wire type 7", "0f", (r: ProtoReader) => r.tag()],
    ["a tag beyond 32 bits", "8880808010", (r: ProtoReader) => r.tag()],
    ["a string beyond the end", "0361", (r: ProtoReader) => r.string()],
    ["bytes beyond the end", "ffffffff0f", (r: ProtoReader) => r.bytes()],
    ["a length beyond 32 bits", "818080801000", (r: ProtoReader) => r.bytes()],
    ["a message beyond the end", "02", (r: ProtoReader) => r.message()],
    ["a packed list cut inside a number", "0180ff", (r: ProtoReader) => r.packedUint32([])],
    ["text that is not UTF-8", "02c328", (r: ProtoReader) => r.string()],
    ["long text that is not UTF-8", `14${"61".repeat(19)}ff`, (r: ProtoReader) => r.string()],
    ["a fixed 64-bit value cut off", "00112233445566", (r: ProtoReader) => r.skip(1)],
    ["a fixed 32-bit value cut off", "001122", (r: ProtoReader) => r.skip(5)],
    ["a group", "00", (r: ProtoReader) => r.skip(3)],
  ])("refuses %s", (_what, hex, read) => {
    expect(() => attempt(hex, read)).toThrow(ProtoError);
  });

  test("clamps 64-bit numbers that a double cannot hold", () => {
    const read = (value: bigint) => {
      const r = new ProtoReader(new ProtoWriter().uint64(1, value).finish());
      r.tag();
      return r.uint64Number();
    };
    expect(read(2n ** 53n - 1n)).toBe(Number.MAX_SAFE_INTEGER);
    expect(read(2n ** 53n)).toBe(Number.MAX_SAFE_INTEGER);
    expect(read(U64_MAX)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test("takes numbers in more bytes than they need, and a negative int32 cut to 32 bits", () => {
    expect(attempt("8100", (r) => r.uint32())).toBe(1);
    expect(attempt("ffffffffffffffffff01", (r) => r.uint32())).toBe(0xffff_ffff);
    expect(attempt("80808080808080808001", (r) => r.bool())).toBe(true);
  });

  test("skips fixed-size values", () => {
    const r = new ProtoReader(fromHex(`${"09"}${"00".repeat(8)}${"0d"}${"00".repeat(4)}1001`)!);
    r.skip(r.tag() & 7);
    r.skip(r.tag() & 7);
    expect([r.tag(), r.uint32(), r.hasMore()]).toEqual([16, 1, false]);
  });

  test("hands out views of the buffer, not copies", () => {
    const buffer = new ProtoWriter().bytes(1, new Uint8Array([1, 2, 3])).finish();
    const r = new ProtoReader(buffer);
    r.tag();
    const view = r.bytes();
    expect(view.buffer).toBe(buffer.buffer);
    expect(view).toEqual(new Uint8Array([1, 2, 3]));
  });

  test("refuses a range outside its buffer", () => {
    for (const [start, end] of [
      [-1, 2],
      [0, 5],
      [3, 2],
    ]) {
      expect(() => new ProtoReader(new Uint8Array(4), start, end)).toThrow(ProtoError);
    }
  });

  test("never does anything but read or refuse, whatever the bytes", () => {
    const walk = (r: ProtoReader, depth: number): void => {
      while (r.hasMore()) {
        const wire = r.tag() & 7;
        if (wire === 2 && depth < 5) {
          const { start, end } = r.message();
          try {
            walk(new ProtoReader(r.buf, start, end), depth + 1);
          } catch (cause) {
            if (!(cause instanceof ProtoError)) throw cause; // The bytes are not a message.
          }
        } else r.skip(wire);
        expect(r.pos).toBeLessThanOrEqual(r.end);
      }
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (garbage) => {
        try {
          walk(new ProtoReader(garbage), 0);
        } catch (cause) {
          expect(cause).toBeInstanceOf(ProtoError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
