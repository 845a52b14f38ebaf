import { expect, test } from "@jest/globals";
import { afterEvent, type EnvironmentEvent, environmentStatuses, isEnvironmentName, isRegion, statusesBefore } from "./index.js";

const ALLOWED = [
  "PENDING provisioned ACTIVE",
  "PENDING provisioningFailed FAILED",
  "ACTIVE gaveUp FAILED",
  "ACTIVE suspend SUSPENDED",
  "ACTIVE destroy DELETING",
  "FAILED retry PENDING",
  "FAILED destroy DELETING",
  "SUSPENDED resume ACTIVE",
  "SUSPENDED destroy DELETING",
  "DELETING undelete PENDING",
  "DELETING undeleteSuspended SUSPENDED",
  "DELETING erased DELETED",
];
const EVENTS: readonly EnvironmentEvent[] = [
  "provisioned",
  "provisioningFailed",
  "gaveUp",
  "retry",
  "suspend",
  "resume",
  "destroy",
  "undelete",
  "undeleteSuspended",
  "erased",
];

test("environments make exactly the transitions of the specification", () => {
  const steps = environmentStatuses.flatMap((status) =>
    EVENTS.map((event) => [status, event, afterEvent(status, event)]).filter(([, , next]) => next !== undefined),
  );
  expect(steps.map((step) => step.join(" "))).toEqual(ALLOWED);
  expect(statusesBefore("destroy")).toEqual(["ACTIVE", "FAILED", "SUSPENDED"]);
});

test("names are valid as profiles of the command line", () => {
  for (const name of ["dev", "a", "my-env-2", "x".repeat(40)]) expect(isEnvironmentName(name)).toBe(true);
  for (const name of ["", "Dev", "a_b", "global", "default", "local", "x".repeat(41), "a b", "ä"]) {
    expect(isEnvironmentName(name)).toBe(false);
  }
});

test("regions may have several labels", () => {
  for (const region of ["us", "eu", "abc.byoc"]) expect(isRegion(region)).toBe(true);
  for (const region of ["", "US", ".us", "us.", "a..b", "u_s"]) expect(isRegion(region)).toBe(false);
});
