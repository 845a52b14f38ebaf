/**
 * Equality of byte arrays in one native call. Jest compares them byte by byte, by the key of each: 1 MiB takes seconds. Arrays that differ
 * are left to Jest, which then prints the difference.
 */
import { isUint8Array } from "node:util/types";
import { expect } from "@jest/globals";

function areEqualBytes(one, other) {
  if (!isUint8Array(one) || !isUint8Array(other) || one.byteLength !== other.byteLength) return undefined;
  return Buffer.compare(one, other) === 0 ? true : undefined;
}

expect.addEqualityTesters([areEqualBytes]);
