import { expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { parseBundle } from "./bundle.js";

function problemOf(text: string): string {
  try {
    parseBundle(text);
  } catch (cause) {
    if (cause instanceof PerdureError) return cause.message;
  }
  return "none";
}

test.each([
  ["{", "it is not JSON"],
  ["[]", "no field 'format'"],
  ['{"format":"perdure.bundle","version":2}', "version 2 of the format, and this program reads up to 1: update"],
  ['{"format":"perdure.bundle","version":1}', "field 'created_at'"],
])("%s is refused with OPS0010 and the reason", (text, reason) => {
  expect(problemOf(text)).toMatch(/^\[OPS0010\] /);
  expect(problemOf(text)).toContain(reason);
});
