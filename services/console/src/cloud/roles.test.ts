import { expect, test } from "@jest/globals";
import { forbiddenFor, forbiddenInside, forbiddenToChange } from "./roles.js";

test("a permitted user sees no hint; another user sees why not, and which role is required", () => {
  expect(forbiddenFor("admin", "environments")).toBeUndefined();
  expect(forbiddenFor("viewer", "environments")).toBe("Your role, viewer, is read-only. Required role: owner or admin.");
  expect(forbiddenFor("developer", "keys")).toBe("Your role, developer, does not allow this. Required role: owner or admin.");
  expect(forbiddenFor("viewer", "ownKeys")).toContain("owner, admin or developer.");
});

test("owners are changed by owners only", () => {
  expect(forbiddenToChange("owner", "owner")).toBeUndefined();
  expect(forbiddenToChange("admin", "viewer")).toBeUndefined();
  expect(forbiddenToChange("admin", "owner")).toMatch(/Only owners/);
  expect(forbiddenToChange("developer", "viewer")).toContain("Your role, developer");
});

test("in an environment viewers may only read, and billing has no access", () => {
  expect(["owner", "admin", "developer"].map((role) => forbiddenInside(role as "owner"))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(forbiddenInside("viewer")).toContain("is read-only");
  expect(forbiddenInside("billing")).toContain("plan and usage");
});
