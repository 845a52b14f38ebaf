import { expect, test } from "@jest/globals";
import type { UserId } from "@perdure/cloud";
import { ProxySemaphore } from "./proxy-semaphore.js";

const [ada, bob] = ["user_ada", "user_bob"] as UserId[] as [UserId, UserId];
const FULL = expect.objectContaining({ code: "PERD0429" });

test("nobody has more than their share of the room, all together no more than there is, and who leaves makes room once", () => {
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
  extra.assignUser(bob); // Gone before it was known who it was.
  expect(semaphore.inside).toBe(2);
  enter(bob);
  expect(semaphore.inside).toBe(3);
});
