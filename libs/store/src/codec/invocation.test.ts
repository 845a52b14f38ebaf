import { describe, expect, test } from "@jest/globals";
import { anInvocation, someFacts } from "@perdure/partition/testing";
import fc from "fast-check";
import { arbitraryInvocation } from "../testing/index.js";
import { decodeInvocation, encodeInvocation, statusOf } from "./invocation.js";

describe("the stored form of an invocation", () => {
  test("decoding gives back what was encoded, whatever it is", () => {
    fc.assert(
      fc.property(arbitraryInvocation, (invocation) => {
        const row = encodeInvocation(invocation);
        expect(statusOf(row)).toBe(invocation.status);
        expect(decodeInvocation(row)).toEqual(invocation); // The facts remember their bytes on both sides.
      }),
      { numRuns: 500 },
    );
  });

  test("encoding what was decoded gives the same bytes", () => {
    fc.assert(
      fc.property(arbitraryInvocation, (invocation) => {
        const row = encodeInvocation(invocation);
        const decoded = decodeInvocation(row);
        decoded.facts.bytes = undefined;
        expect(encodeInvocation(decoded)).toEqual(row);
      }),
    );
  });

  test("a field added by a later version is passed over", () => {
    const row = encodeInvocation(anInvocation("scheduled", { facts: someFacts({ idempotencyKey: "k" }) }));
    // Field 31, varint 5, and field 30, two bytes.
    const later = new Uint8Array([...row, 0xf8, 0x01, 0x05, 0xf2, 0x01, 0x02, 0x41, 0x42]);
    expect(decodeInvocation(later)).toEqual(decodeInvocation(row));
  });
});
