import { describe, expect, test } from "@jest/globals";
import { anInvocation, someFacts } from "@perdure/state-machine/testing";
import fc from "fast-check";
import { arbitraryInvocation } from "../testing/index.js";
import { decodeInvocation, encodeInvocation, invocationRow, PART_BYTES_MIN, statusOf, withoutCutResult } from "./invocation.js";
import { InvocationFields } from "./invocation-fields.js";

describe("the stored form of an invocation", () => {
  test("decoding returns the value that was encoded, for any invocation", () => {
    fc.assert(
      fc.property(arbitraryInvocation, (invocation) => {
        const row = encodeInvocation(invocation);
        expect(statusOf(row)).toBe(invocation.status);
        expect(decodeInvocation(row)).toEqual(invocation); // The facts cache their bytes on both sides.
      }),
      { numRuns: 500 },
    );
  });

  test("encoding a decoded invocation returns the same bytes", () => {
    fc.assert(
      fc.property(arbitraryInvocation, (invocation) => {
        const row = encodeInvocation(invocation);
        const decoded = decodeInvocation(row);
        decoded.facts.bytes = undefined;
        expect(encodeInvocation(decoded)).toEqual(row);
      }),
    );
  });

  test("a field added by a later version is skipped", () => {
    const row = encodeInvocation(anInvocation("scheduled", { facts: someFacts({ idempotencyKey: "k" }) }));
    // Field 31, varint 5, and field 30, two bytes.
    const later = new Uint8Array([...row, 0xf8, 0x01, 0x05, 0xf2, 0x01, 0x02, 0x41, 0x42]);
    expect(decodeInvocation(later)).toEqual(decodeInvocation(row));
  });

  test("a large result is a separate part, the parts are the row, and the first one is a row with an empty result", () => {
    const completed = anInvocation("completed", { facts: someFacts({ idempotencyKey: "k" }) });
    if (completed.status !== "completed") throw new Error("it is completed");
    const value = new Uint8Array(PART_BYTES_MIN).fill(3);
    const invocation = { ...completed, outcome: { kind: "success", value } } as const;
    const parts = invocationRow(invocation) as readonly Uint8Array[];
    expect(parts).toHaveLength(2);
    expect(parts[1]).toBe(value);
    expect(Buffer.concat(parts).equals(encodeInvocation(invocation))).toBe(true);
    const outcome = { kind: "success", value: new Uint8Array() } as const;
    expect(withoutCutResult(parts[0] as Uint8Array)).toEqual(encodeInvocation({ ...invocation, outcome }));
    expect(withoutCutResult(encodeInvocation(invocation))).toEqual(encodeInvocation(invocation));
    const fields = new InvocationFields();
    fields.load(parts[0] as Uint8Array);
    expect(fields.decoded()).toMatchObject({ status: "completed", outcome, modifiedAtMs: invocation.modifiedAtMs });
    expect(fields.progress).toMatchObject({ isFailure: false, modifiedAtMs: invocation.modifiedAtMs });
    const smaller = { kind: "success", value: value.subarray(1) } as const;
    expect(invocationRow({ ...invocation, outcome: smaller })).toBeInstanceOf(Uint8Array);
  });
});
