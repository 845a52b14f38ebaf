import { describe, expect, test } from "@jest/globals";
import { conditionOf, type InvocationFilter } from "@perdure/admin-client";
import fc from "fast-check";
import {
  chipsOf,
  filterOf,
  idIn,
  lineOf,
  localFieldOf,
  momentOfLocalField,
  queryOf,
  rangeOf,
  rangeText,
  SORTS,
  STATUS_CHOICES,
  sortOf,
  statusesOf,
  withStatuses,
} from "./filter-address.js";

const text = fc.string({ minLength: 1, maxLength: 20 });
const texts = fc.uniqueArray(text, { minLength: 1, maxLength: 3 });
const moment = fc.integer({ min: 0, max: 4_000_000_000_000 });
const filters: fc.Arbitrary<InvocationFilter> = fc.record(
  {
    services: texts,
    handlers: texts,
    keys: texts,
    deployments: texts,
    idempotencyKey: text,
    invokedBy: text,
    scope: text,
    limitKey: text,
    failureText: text,
    where: text,
    createdAfterMs: moment,
    createdBeforeMs: moment,
    modifiedWithinMs: fc.integer({ min: 1, max: 999_999 }).map((seconds) => seconds * 1_000),
  },
  { requiredKeys: [] },
);

describe("the address", () => {
  test("holds the whole filter and the sort", () => {
    fc.assert(
      fc.property(
        filters,
        fc.subarray([...STATUS_CHOICES]),
        fc.constantFrom(...SORTS),
        (plain: InvocationFilter, statuses: string[], sort) => {
          const filter = withStatuses(plain, statuses);
          const query = new URLSearchParams(queryOf(filter, sort).toString());
          expect(filterOf(query)).toEqual(filter);
          expect(sortOf(query)).toBe(sort);
        },
      ),
    );
  });

  test("leaves out what it does not understand", () => {
    expect(filterOf(new URLSearchParams("status=quick,running&created=soon&service=&sort=best&modified=..&x=1"))).toEqual({
      statuses: ["running"],
    });
    expect(sortOf(new URLSearchParams("sort=best"))).toBe("-created");
  });

  test("has the ends of invocations as statuses, too", () => {
    const filter = filterOf(new URLSearchParams("status=failed&status=paused"));
    expect(conditionOf(filter)).toBe("(status = 'paused' OR completion_result = 'failure')");
    expect(statusesOf(filter)).toEqual(["paused", "failed"]);
  });
});

test("ranges of time are spans before now, or bounds of which one may be missing", () => {
  expect(rangeOf("15m")).toEqual({ withinMs: 900_000 });
  expect(rangeText({ withinMs: 86_400_000 })).toBe("1d");
  expect(rangeText({ withinMs: 5_400_000 })).toBe("90m");
  expect(rangeOf("..2026-11-22T00:00:00.000Z")).toEqual({ fromMs: undefined, toMs: Date.UTC(2026, 10, 22) });
  expect(rangeText({ fromMs: Date.UTC(2026, 10, 22) })).toBe("2026-11-22T00:00:00.000Z..");
  expect(rangeText(rangeOf("0h"))).toBeUndefined();
  const local = localFieldOf(Date.UTC(2026, 10, 22, 1, 2, 3));
  expect(momentOfLocalField(local)).toBe(Date.UTC(2026, 10, 22, 1, 2, 3));
  expect([localFieldOf(undefined), momentOfLocalField("")]).toEqual(["", undefined]);
});

test("each chip takes its part away and nothing else", () => {
  fc.assert(
    fc.property(filters, (filter) => {
      for (const chip of chipsOf(filter)) {
        const left = chipsOf(chip.without).map(({ name }) => name);
        expect(left).toEqual(
          chipsOf(filter)
            .map(({ name }) => name)
            .filter((name) => name !== chip.name),
        );
      }
    }),
  );
  const [chip] = chipsOf({ createdWithinMs: 3_600_000, where: "1 = 1" });
  expect(chip).toEqual({ name: "Created", text: "the last 1 h", without: { where: "1 = 1" } });
});

test("the text is the condition, as it was typed when there are no other filters", () => {
  expect(lineOf({})).toBe("");
  expect(lineOf({ where: "retry_count > 3" })).toBe("retry_count > 3");
  expect(lineOf({ services: ["A"], where: "retry_count > 3" })).toBe("target_service_name = 'A' AND (retry_count > 3)");
});

test("an id that is pasted is recognised", () => {
  expect(idIn(" inv_1gm4LUXPiTUX1WkZ5bZXtGwmwbP9zKNGHD\n")).toBe("inv_1gm4LUXPiTUX1WkZ5bZXtGwmwbP9zKNGHD");
  expect(idIn("id = 'inv_1gm4LUXPiTUX1WkZ5bZXtGwmwbP9zKNGHD'")).toBeUndefined();
});
