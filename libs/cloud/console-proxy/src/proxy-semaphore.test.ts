import { expect, test } from "@jest/globals";
import type { UserId } from "@perdure/cloud";
import { ProxySemaphore } from "./proxy-semaphore.js";

const [ada, bob] = ["user_ada", "user_bob"] as UserId[] as [UserId, UserId];
const FULL = expect.objectContaining({ code: "PERD0429" });

test("the slots of each user and the total are bounded, and each request frees its slot once", () => {
  const semaphore = new ProxySemaphore({ all: 3, ofUser: 2 });
  const enter = (user: UserId) => {
    const permit = semaphore.enter();
    try {
      permit.assignUser(user);
    } catch (cause) {
      permit.leave();
      throw cause;
    }
    return permit;
  };
  const first = enter(ada);
  enter(ada);
  expect(() => enter(ada)).toThrow(FULL);
  const third = enter(bob);
  expect(() => semaphore.enter()).toThrow(FULL);
  third.leave();
  third.leave();
  expect(semaphore.inside).toBe(2);
  first.leave();
  enter(ada);
  const extra = semaphore.enter();
  extra.leave();
  extra.assignUser(bob); // The request ended before its user was known.
  expect(semaphore.inside).toBe(2);
  enter(bob);
  expect(semaphore.inside).toBe(3);
});
