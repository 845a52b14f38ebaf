import { expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import {
  afterEvent,
  bareOf,
  type EnvironmentEvent,
  environmentHost,
  environmentOfHost,
  environmentStatuses,
  isEnvironmentName,
  isRegion,
  newEnvironmentId,
  statusesBefore,
} from "./index.js";

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

test("host names can be parsed back to their environment and region", () => {
  const bare = bareOf(newEnvironmentId(1_795_000_000_000, systemRandom));
  for (const region of ["us", "eu", "abc.byoc"]) {
    const host = environmentHost(bare, region, "perdure.test");
    expect(environmentOfHost(host, "perdure.test")).toEqual({ bare, region });
    expect(isRegion(region)).toBe(true);
  }
  const hosts = [
    `${bare}.env.us.perdure.tesT`,
    `${bare}.us.perdure.test`,
    `x.env.us.perdure.test`,
    `${bare}.env..perdure.test`,
    "perdure.test",
    `${bare}.env.us.evilperdure.test`,
  ];
  for (const host of hosts) expect(environmentOfHost(host, "perdure.test")).toBeUndefined();
});
