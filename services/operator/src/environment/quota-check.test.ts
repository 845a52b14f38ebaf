import { expect, test } from "@jest/globals";
import { environmentWith } from "../../test/an-environment.js";
import type { Quota } from "../observed-objects.js";
import { quotaProblem } from "./quota-check.js";

const hard = { pods: "7", "requests.cpu": "2", "requests.memory": "4Gi" };

/** The message about an environment that has a pod less than it requested. */
function messageWith(status: NonNullable<Quota["status"]> | undefined): string | undefined {
  const incomplete = { spec: { replicas: 2 }, status: { replicas: 1 } } as NonNullable<
    Parameters<typeof quotaProblem>[1][number]
  >;
  const quota = status === undefined ? undefined : ({ status } as Quota);
  return quotaProblem(environmentWith(), [incomplete], quota)?.message;
}

test("a quota is too small where one more pod would not fit, and the message names the resource", () => {
  expect(messageWith({ hard, used: { pods: "6", "requests.cpu": "1900m", "requests.memory": "1Gi" } })).toBeUndefined();
  expect(messageWith({ hard, used: { pods: "7", "requests.cpu": "1", "requests.memory": "4000Mi" } })).toMatch(
    /has no more pods, requests\.memory$/,
  );
});

test("a quota without a status yet is not a reason", () => {
  expect([messageWith(undefined), messageWith({}), messageWith({ hard })]).toEqual([undefined, undefined, undefined]);
});
