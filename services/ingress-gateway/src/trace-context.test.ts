import { describe, expect, test } from "@jest/globals";
import { traceContextOf } from "./trace-context.js";

const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("traceContextOf", () => {
  test("a valid parent is kept with its state", () => {
    expect(traceContextOf(valid, "a=b")).toEqual({ traceparent: valid, tracestate: "a=b" });
    expect(traceContextOf(valid, undefined)).toEqual({ traceparent: valid, tracestate: undefined });
  });

  test("a later version may be longer", () => {
    const later = `01${valid.slice(2)}-more`;
    expect(traceContextOf(later, undefined)?.traceparent).toBe(later);
  });

  test.each([
    undefined,
    "",
    "nonsense",
    `ff${valid.slice(2)}`,
    `${valid}-more`,
    valid.toUpperCase(),
    valid.slice(0, -1),
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    `01${valid.slice(2)}more`,
  ])("%j is not a parent, and its state is dropped", (traceparent) => {
    expect(traceContextOf(traceparent, "a=b")).toBeUndefined();
  });
});
