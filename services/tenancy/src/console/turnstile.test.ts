import { expect, test } from "@jest/globals";
import type { UserId } from "@perdure/cloud";
import { Turnstile } from "./turnstile.js";

const [ada, bob] = ["user_ada", "user_bob"] as UserId[] as [UserId, UserId];
const FULL = expect.objectContaining({ code: "PERD0429" });

test("nobody has more than their share of the room, all together no more than there is, and who leaves makes room once", () => {
  const turnstile = new Turnstile({ all: 3, ofUser: 2 });
  const enter = (user: UserId) => {
    const visit = turnstile.enter();
    try {
      visit.known(user);
    } catch (cause) {
      visit.leave();
      throw cause;
    }
    return visit;
  };
  const first = enter(ada);
  enter(ada);
  expect(() => enter(ada)).toThrow(FULL);
  const third = enter(bob);
  expect(() => turnstile.enter()).toThrow(FULL);
  third.leave();
  third.leave();
  expect(turnstile.inside).toBe(2);
  first.leave();
  enter(ada);
  const late = turnstile.enter();
  late.leave();
  late.known(bob); // Gone before it was known who it was.
  expect(turnstile.inside).toBe(2);
  enter(bob);
  expect(turnstile.inside).toBe(3);
});
