import { expect, test } from "@jest/globals";
import { forbiddenFor, forbiddenInside, forbiddenToChange } from "./roles.js";

test("who may is told nothing; who may not, why, and who may", () => {
  expect(forbiddenFor("admin", "environments")).toBeUndefined();
  expect(forbiddenFor("viewer", "environments")).toBe("Your role, viewer, may look but not change. It takes an owner or admin.");
  expect(forbiddenFor("developer", "keys")).toBe("Your role, developer, does not allow this. It takes an owner or admin.");
  expect(forbiddenFor("viewer", "ownKeys")).toContain("an owner, admin or developer.");
});

test("owners are changed by owners only", () => {
  expect(forbiddenToChange("owner", "owner")).toBeUndefined();
  expect(forbiddenToChange("admin", "viewer")).toBeUndefined();
  expect(forbiddenToChange("admin", "owner")).toMatch(/Only owners/);
  expect(forbiddenToChange("developer", "viewer")).toContain("Your role, developer");
});

test("in an environment viewers look, and billing has no business", () => {
  expect(["owner", "admin", "developer"].map((role) => forbiddenInside(role as "owner"))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(forbiddenInside("viewer")).toContain("may look but not change");
  expect(forbiddenInside("billing")).toContain("plan and usage");
});
