import { describe, expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { LargeMessages } from "./large-messages.js";
import { LARGE_MESSAGES_BYTES_MAX, LARGE_TURN_MS_MAX } from "./limits.js";

const HALF = LARGE_MESSAGES_BYTES_MAX / 2;

function turns() {
  const clock = new VirtualClock();
  const messages = new LargeMessages(clock);
  const granted: string[] = [];
  return {
    clock,
    granted,
    acquire: (name: string, bytes: number, service = "Svc") => messages.acquire(service, bytes, () => granted.push(name)),
  };
}

describe("turns for large messages", () => {
  test("as many as fit have one at once, the next ones in order when others are dealt with", () => {
    const { acquire, granted, clock } = turns();
    const all = ["a", "b", "c", "d"].map((name) => acquire(name, HALF));
    expect(all.map((turn) => turn.state)).toEqual(["granted", "granted", "waiting", "waiting"]);
    expect(granted).toEqual([]);
    all[1]?.release();
    all[1]?.release();
    expect(granted).toEqual(["c"]);
    for (const turn of all) turn.release();
    expect(granted).toEqual(["c", "d"]);
    all[3]?.release();
    expect(clock.pendingTimers).toBe(0);
  });

  test("one message has its turn however large it is, and small ones wait behind a large one", () => {
    const { acquire, granted } = turns();
    const huge = acquire("huge", 3 * LARGE_MESSAGES_BYTES_MAX);
    acquire("second", 3 * LARGE_MESSAGES_BYTES_MAX);
    acquire("small", 1);
    expect([huge.state, granted]).toEqual(["granted", []]);
    huge.release();
    expect(granted).toEqual(["second"]);
  });

  test("services take turns: a service with many large messages does not delay another one", () => {
    const { acquire, granted } = turns();
    const first = acquire("bad 0", LARGE_MESSAGES_BYTES_MAX, "Bad");
    const waiting = [1, 2, 3].map((n) => acquire(`bad ${n}`, LARGE_MESSAGES_BYTES_MAX, "Bad"));
    const good = acquire("good", LARGE_MESSAGES_BYTES_MAX, "Good");
    first.release();
    waiting[0]?.release();
    expect(granted).toEqual(["bad 1", "good"]);
    good.release();
    waiting[1]?.release();
    expect(granted).toEqual(["bad 1", "good", "bad 2", "bad 3"]);
  });

  test("a withdrawn request is skipped", () => {
    const { acquire, granted } = turns();
    const first = acquire("first", LARGE_MESSAGES_BYTES_MAX);
    acquire("gone", LARGE_MESSAGES_BYTES_MAX).release();
    acquire("next", LARGE_MESSAGES_BYTES_MAX);
    expect(granted).toEqual([]);
    first.release();
    expect(granted).toEqual(["next"]);
  });

  test("a slow message counts for a while only", () => {
    const { acquire, granted, clock } = turns();
    acquire("slow", LARGE_MESSAGES_BYTES_MAX);
    acquire("next", LARGE_MESSAGES_BYTES_MAX);
    clock.advanceBy(LARGE_TURN_MS_MAX - 1);
    expect(granted).toEqual([]);
    clock.advanceBy(1);
    expect(granted).toEqual(["next"]);
  });
});
