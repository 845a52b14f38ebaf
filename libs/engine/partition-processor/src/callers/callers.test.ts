import { expect, test } from "@jest/globals";
import type { Outcome } from "@perdure/state-machine";
import { anId, anInvocation } from "@perdure/state-machine/testing";
import { AttachedCaller } from "./attached-caller.js";
import { InvokingCaller } from "./invoking-caller.js";
import { PendingRequest } from "./pending-request.js";
import { Waiters } from "./waiters.js";

const ID = anId(1);
const OUTCOME: Outcome = { kind: "success", value: new Uint8Array() };

function observer() {
  const events: string[] = [];
  return {
    events,
    submitted: (existing: unknown) => events.push(existing === undefined ? "accepted" : "previously accepted"),
    completed: () => events.push("completed"),
    unavailable: (reason: string) => events.push(reason),
    notFound: () => events.push("not found"),
  };
}

test("an invoking caller gets the acceptance, and the outcome once", () => {
  const waiters = new Waiters();
  const observed = observer();
  const caller = new InvokingCaller(waiters, ID, true, observed);
  waiters.expectReply(ID, caller);
  caller.answered({ kind: "accepted" });
  waiters.announce(ID, OUTCOME);
  waiters.abandonAll("too late");
  expect(observed.events).toEqual(["accepted", "completed"]);
  expect(waiters.isEmpty).toBe(true);
});

test("a caller that detached gets nothing more, and nothing waits for it", () => {
  const waiters = new Waiters();
  const observed = observer();
  const caller = new InvokingCaller(waiters, ID, true, observed);
  waiters.expectReply(ID, caller);
  caller.answered({ kind: "accepted" });
  caller.detach();
  expect(waiters.isEmpty).toBe(true);
  caller.completed(OUTCOME);
  expect(observed.events).toEqual(["accepted"]);
});

test("a caller whose partition stops before the answer gets an error", async () => {
  const waiters = new Waiters();
  const observed = observer();
  waiters.expectReply(ID, new InvokingCaller(waiters, ID, true, observed));
  const request = new PendingRequest(waiters);
  waiters.expectReply(ID, request);
  waiters.abandon(ID, "stopped");
  expect(observed.events).toEqual(["stopped"]);
  await expect(request.promise).rejects.toMatchObject({ code: "STO0002" });
});

test("an attached caller gets a stored outcome at once, and learns that an invocation does not exist", () => {
  const waiters = new Waiters();
  const [completed, missing] = [observer(), observer()];
  new AttachedCaller(waiters, ID, completed).answered(anInvocation("completed"));
  new AttachedCaller(waiters, ID, missing).answered(undefined);
  expect([completed.events, missing.events]).toEqual([["completed"], ["not found"]]);
});
