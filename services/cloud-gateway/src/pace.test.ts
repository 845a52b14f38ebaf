/** T20: the cost of a flood of refusals is bounded by time, not by the number of its connections. */
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { HELD_REFUSALS_MAX, PROMPT_REFUSALS_BURST, REFUSAL_SPACING_MS } from "./limits.js";
import { Pacer, RefusalPace } from "./pace.js";

test("T20: refusals beyond the prompt ones are sent one by one, in order, and the number that waits is bounded", () => {
  const clock = new VirtualClock();
  const pacer = new Pacer(clock);
  const pace = new RefusalPace(clock.monotonicMs());
  const answered: number[] = [];
  const outcomes = Array.from({ length: PROMPT_REFUSALS_BURST + HELD_REFUSALS_MAX + 3 }, (_, n) =>
    pacer.pace(pace, () => answered.push(n)),
  );
  expect(outcomes.filter((each) => each === "now")).toHaveLength(PROMPT_REFUSALS_BURST);
  expect(outcomes.slice(-3)).toEqual(["drop", "drop", "drop"]);
  expect(pacer.waiting).toBe(HELD_REFUSALS_MAX);
  clock.advanceBy(999);
  expect(answered).toEqual([]);
  clock.advanceBy(1);
  expect(answered).toEqual([PROMPT_REFUSALS_BURST]);
  clock.advanceBy(REFUSAL_SPACING_MS);
  expect(answered).toHaveLength(2);
  expect(pacer.pace(new RefusalPace(clock.monotonicMs()), () => undefined)).toBe("now"); // No other refusal waits.
  clock.advanceBy(REFUSAL_SPACING_MS * HELD_REFUSALS_MAX);
  expect([answered.length, pacer.waiting]).toEqual([HELD_REFUSALS_MAX, 0]);
  expect(answered).toEqual(answered.toSorted((one, other) => one - other));
});

test("a gateway that closes answers all refusals that wait", () => {
  const clock = new VirtualClock();
  const pacer = new Pacer(clock);
  const paces = [new RefusalPace(0), new RefusalPace(0)];
  let answered = 0;
  for (const pace of paces) for (let n = 0; n < PROMPT_REFUSALS_BURST + 2; n++) pacer.pace(pace, () => answered++);
  pacer.close();
  expect([answered, pacer.waiting]).toEqual([4, 0]);
  clock.advanceBy(60_000);
  expect(answered).toBe(4);
});
