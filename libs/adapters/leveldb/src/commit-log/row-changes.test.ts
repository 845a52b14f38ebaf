import { randomBytes } from "node:crypto";
import { expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { LOG_ID_BYTES, RECORD_HEADER_BYTES, readRecord, type SegmentHeader } from "./format.js";
import { RecordEncoder, rowChanges } from "./row-changes.js";

const SEGMENT: SegmentHeader = { id: randomBytes(LOG_ID_BYTES), generation: 3, bytes: 1, tag: 77, crc: 12345 };

test("the changes of a batch are read as they were collected, and a buffer is used again", () => {
  const encoder = new RecordEncoder();
  const large = randomBytes(5_000_000);
  for (const value of [large, utf8("small")]) {
    encoder.reset().put("a\u0000\u00ff", value);
    encoder.del("\u0102b");
    encoder.put("", new Uint8Array());
    const bytes = encoder.bytes;
    const sealed = encoder.seal(2 ** 40 + 1, SEGMENT);
    expect([sealed.length, bytes % 8]).toEqual([bytes, 0]);
    const record = readRecord(sealed, 0, SEGMENT);
    expect([record?.sequence, record?.end]).toEqual([2 ** 40 + 1, sealed.length]);
    const [first, ...others] = [...rowChanges(record?.payload ?? new Uint8Array())];
    expect(first?.[0]).toBe("a\u0000\u00ff");
    expect(Buffer.compare(first?.[1] ?? Buffer.alloc(0), value)).toBe(0);
    expect(others).toEqual([
      ["\u0102b", undefined],
      ["", Buffer.alloc(0)],
    ]);
  }
});

test("a record without changes is a record", () => {
  const sealed = new RecordEncoder().seal(1, SEGMENT);
  expect(sealed.length).toBe(RECORD_HEADER_BYTES);
  expect(readRecord(sealed, 0, SEGMENT)).toMatchObject({ sequence: 1, end: RECORD_HEADER_BYTES });
});

test("a payload of another form is STO0006", () => {
  for (const payload of [Uint8Array.of(3), Uint8Array.of(1, 200, 0, 0, 0, 1), Uint8Array.of(1, 1, 0, 0, 0, 65)])
    expect(() => [...rowChanges(payload)]).toThrow(expect.objectContaining({ code: "STO0006" }));
});
