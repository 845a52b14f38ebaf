import { describe, expect, test } from "@jest/globals";
import { anyText } from "@perdure/base/testing";
import fc from "fast-check";
import { conditionOf } from "./invocation-filter.js";

/** The statement without its literals, as a parser of this dialect reads it. */
function outsideLiterals(sql: string): string {
  return sql.replace(/'(?:[^']|'')*'/g, "?");
}

describe("a filter", () => {
  test("without parts is not a condition", () => {
    expect(conditionOf({})).toBeUndefined();
    expect(conditionOf({ services: [], statuses: [] })).toBeUndefined();
  });

  test("joins its parts, and one value needs no list", () => {
    const condition = conditionOf({
      services: ["Orders"],
      statuses: ["paused", "backing-off"],
      handlers: ["place", "Stock/reserve"],
      createdBeforeMs: 0,
    });
    expect(condition).toBe(
      "target_service_name = 'Orders' AND (target_handler_name = 'place' OR (target_service_name = 'Stock' AND " +
        "target_handler_name = 'reserve')) AND status IN ('paused', 'backing-off') AND created_at < TIMESTAMP '1970-01-01 00:00:00.000'",
    );
  });

  test("matches invocations with a status, or that ended in a given way", () => {
    expect(conditionOf({ statuses: ["running", "paused"], orEndedWith: ["failure"], keys: ["a"] })).toBe(
      "target_service_key = 'a' AND (status IN ('running', 'paused') OR completion_result = 'failure')",
    );
    expect(conditionOf({ orEndedWith: ["failure"] })).toBe("completion_result = 'failure'");
  });

  test("matches times relative to the query, and texts of failures", () => {
    expect(conditionOf({ createdWithinMs: 7_200_000, modifiedWithinMs: 90_000, failureText: "Bank's" })).toBe(
      "created_at >= now() - INTERVAL '2 hours' AND modified_at >= now() - INTERVAL '90 seconds' AND " +
        "(contains(lower(last_failure), lower('Bank''s')) OR contains(lower(completion_failure), lower('Bank''s')))",
    );
    expect(conditionOf({ modifiedAfterMs: 1, createdWithinMs: 86_400_000 })).toBe(
      "created_at >= now() - INTERVAL '1 day' AND modified_at >= TIMESTAMP '1970-01-01 00:00:00.001'",
    );
    expect(conditionOf({ failureText: "" })).toBeUndefined();
  });

  test("accepts SQL only in `where`, and only a complete condition", () => {
    expect(conditionOf({ services: ["A"], where: " retry_count > 3 OR status = 'a)' " })).toBe(
      "target_service_name = 'A' AND (retry_count > 3 OR status = 'a)')",
    );
    for (const where of [
      "1 = 1) OR (1 = 1",
      "(1 = 1",
      "1 = 1)",
      "status = 'x",
      "1 = 1; DROP TABLE x",
      "1 = 1 -- all",
      "1 = 1 /* all",
    ]) {
      expect(() => conditionOf({ services: ["A"], where })).toThrow(RangeError);
    }
    expect(conditionOf({ where: "status = 'a;b--c'" })).toBe("(status = 'a;b--c')");
  });

  test("keeps every value inside its literal", () => {
    const typed = anyText({ maxLength: 40 }).filter((text) => !text.includes("\0"));
    const quotes = fc.stringMatching(/^['")(; \-/*\\a-z]{0,20}$/);
    const input = fc.oneof(typed, quotes);
    fc.assert(
      fc.property(input, input, input, (a, b, c) => {
        const plain = conditionOf({
          services: ["x", "y"],
          keys: ["x"],
          handlers: ["x"],
          idempotencyKey: "x",
          invokedBy: "x",
          scope: "x",
          failureText: "x",
        });
        const hostile = conditionOf({
          services: [a, b],
          keys: [c],
          handlers: [b.replaceAll("/", "")],
          idempotencyKey: a,
          invokedBy: b,
          scope: c,
          failureText: c === "" ? "y" : c,
        });
        expect(outsideLiterals(hostile ?? "")).toBe(outsideLiterals(plain ?? ""));
      }),
    );
    expect(() => conditionOf({ keys: ["a\0b"] })).toThrow(TypeError);
  });
});
