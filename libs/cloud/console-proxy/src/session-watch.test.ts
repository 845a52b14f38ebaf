import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { SESSIONS_POLL_MS } from "./limits.js";
import { SessionWatch } from "./session-watch.js";

/** Active sessions, and each query for them. */
function watched() {
  const clock = new VirtualClock();
  const there = new Set(["one", "two"]);
  const queries: string[][] = [];
  let isAway = false;
  const living = async (ids: readonly string[]): Promise<string[]> => {
    queries.push([...ids].sort());
    if (isAway) throw new Error("the database is away");
    return ids.filter((id) => there.has(id));
  };
  const watch = new SessionWatch({ living, clock, logger: silentLogger });
  const ended: string[] = [];
  return {
    watch,
    there,
    queries,
    ended,
    away: (now: boolean) => {
      isAway = now;
    },
    open: (id: string, name: string) => watch.watch({ id }, () => ended.push(name)),
    poll: async () => {
      clock.advanceBy(SESSIONS_POLL_MS);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("requests of a session end with it, each once, and those of other sessions continue", async () => {
  const { open, poll, there, ended, queries } = watched();
  open("one", "a");
  open("one", "b");
  open("two", "c");
  await poll();
  expect(ended).toEqual([]);
  there.delete("one");
  await poll();
  await poll();
  expect([ended, queries.at(-1)]).toEqual([["a", "b"], ["two"]]);
});

test("ended sessions are not queried again, and nothing is queried without open requests", async () => {
  const { open, poll, there, ended, queries } = watched();
  const leave = open("one", "a");
  const other = open("two", "b");
  leave();
  leave();
  await poll();
  expect(queries).toEqual([["two"]]);
  other();
  there.clear();
  await poll();
  expect([queries.length, ended]).toEqual([1, []]);
  open("one", "c"); // The session was active on arrival, and is not any more.
  await poll();
  expect(ended).toEqual(["c"]);
});

test("while the database is unreachable requests continue, and sessions are checked again", async () => {
  const { open, poll, there, ended, away } = watched();
  open("one", "a");
  there.delete("one");
  away(true);
  await poll();
  expect(ended).toEqual([]);
  away(false);
  await poll();
  expect(ended).toEqual(["a"]);
});
