import { expect, test } from "@jest/globals";
import { fieldsOf, fileName, filterOf, searchOf } from "./audit-filter.js";

const nothing = { actor: "", action: "", environment: "", from: "", to: "" };

test("what one looks for is found again in the address, and what is empty is not in it", () => {
  const fields = { ...nothing, actor: "user_1", from: "2026-11-22T10:00" };
  expect(searchOf(fields).toString()).toBe("actor=user_1&from=2026-11-22T10%3A00");
  expect(fieldsOf(searchOf(fields))).toEqual(fields);
});

test("it becomes what the API is asked; what makes no sense is left out", () => {
  const environment = "env_201m80erwqbtjtvbgnvfxh7c8nv";
  const filter = filterOf({ actor: "user_1", action: " key.create ", environment, from: "2026-11-22T10:00Z", to: "soon" });
  expect(filter).toEqual({
    actorId: "user_1",
    action: "key.create",
    environmentId: environment,
    from: Date.UTC(2026, 10, 22, 10) / 1_000,
  });
  expect(filterOf({ ...nothing, environment: "env_nobody" })).toEqual({});
});

test("a file says what it is and of when", () => {
  expect(fileName("csv", Date.UTC(2026, 10, 22))).toBe("perdure-audit-2026-11-22.csv");
});
