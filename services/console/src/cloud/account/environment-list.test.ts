import { expect, test } from "@jest/globals";
import { cannotResume, reasonOf, statusLabel } from "./environment-list.js";

test("an environment that runs needs no reason, unless its bytes go slowly or nothing answers", () => {
  expect(reasonOf({ status: "ACTIVE" })).toBeUndefined();
  expect(reasonOf({ status: "ACTIVE", isThrottled: true })).toContain("throttled");
  expect(reasonOf({ status: "ACTIVE", failure: "no answer" })).toBe("no answer");
});

test("an environment that does not run shows the reason", () => {
  expect(reasonOf({ status: "SUSPENDED", suspendedFor: "idle" })).toContain("idle");
  expect(reasonOf({ status: "SUSPENDED", suspendedFor: "moon" })).toBe("It is suspended: moon.");
  expect(reasonOf({ status: "FAILED", failure: "no space" })).toBe("no space");
  expect(statusLabel("DELETING")).toEqual({ label: "being deleted", tone: "warn" });
});

test("users can resume what a user or idleness suspended, and what failed", () => {
  expect(cannotResume({ status: "SUSPENDED", suspendedFor: "user" })).toBeUndefined();
  expect(cannotResume({ status: "FAILED" })).toBeUndefined();
  expect(cannotResume({ status: "SUSPENDED", suspendedFor: "quota" })).toContain("larger plan");
  expect(cannotResume({ status: "SUSPENDED", suspendedFor: "abuse" })).toContain("operator");
  expect(cannotResume({ status: "ACTIVE" })).toBe("The environment is not suspended");
});
