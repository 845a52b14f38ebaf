import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { SESSIONS_LOOK_EVERY_MS } from "../limits.js";
import { SessionWatch } from "./session-watch.js";

/** Sessions that are there, and each question about them. */
function watched() {
  const clock = new VirtualClock();
  const there = new Set(["one", "two"]);
  const asked: string[][] = [];
  let isAway = false;
  const living = async (ids: readonly string[]): Promise<string[]> => {
    asked.push([...ids].sort());
    if (isAway) throw new Error("the database is away");
    return ids.filter((id) => there.has(id));
  };
  const watch = new SessionWatch({ living, clock, logger: silentLogger });
  const ended: string[] = [];
  return {
    watch,
    there,
    asked,
    ended,
    away: (now: boolean) => {
      isAway = now;
    },
    open: (id: string, name: string) => watch.watch({ id }, () => ended.push(name)),
    look: async () => {
      clock.advanceBy(SESSIONS_LOOK_EVERY_MS);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("what a session has opened ends with it, each once, and nothing of another", async () => {
  const { open, look, there, ended, asked } = watched();
  open("one", "a");
  open("one", "b");
  open("two", "c");
  await look();
  expect(ended).toEqual([]);
  there.delete("one");
  await look();
  await look();
  expect([ended, asked.at(-1)]).toEqual([["a", "b"], ["two"]]);
});

test("nobody is asked about what is over, nor at all when nothing is open", async () => {
  const { open, look, there, ended, asked } = watched();
  const leave = open("one", "a");
  const other = open("two", "b");
  leave();
  leave();
  await look();
  expect(asked).toEqual([["two"]]);
  other();
  there.clear();
  await look();
  expect([asked.length, ended]).toEqual([1, []]);
  open("one", "c"); // Signed in when it came, and not any more.
  await look();
  expect(ended).toEqual(["c"]);
});

test("while the database is away everything goes on, and is looked at again", async () => {
  const { open, look, there, ended, away } = watched();
  open("one", "a");
  there.delete("one");
  away(true);
  await look();
  expect(ended).toEqual([]);
  away(false);
  await look();
  expect(ended).toEqual(["a"]);
});
