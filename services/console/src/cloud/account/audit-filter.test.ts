import { expect, test } from "@jest/globals";
import { fieldsOf, fileName, filterOf, searchOf } from "./audit-filter.js";

const nothing = { actor: "", action: "", environment: "", from: "", to: "" };

test("a filter survives the way into the address and back, and empty fields are left out", () => {
  const fields = { ...nothing, actor: "user_1", from: "2026-11-22T10:00" };
  expect(searchOf(fields).toString()).toBe("actor=user_1&from=2026-11-22T10%3A00");
  expect(fieldsOf(searchOf(fields))).toEqual(fields);
});

test("a filter becomes parameters of the API; invalid values are left out", () => {
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

test("the name of a file has its contents and its dates", () => {
  expect(fileName("csv", Date.UTC(2026, 10, 22))).toBe("perdure-audit-2026-11-22.csv");
});
