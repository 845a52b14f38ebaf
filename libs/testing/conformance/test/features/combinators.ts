/** Combinators settle as their JavaScript namesakes do, over anything durable. */
import { describe, expect } from "@jest/globals";
import type { CombinedResult, Tree } from "../../src/services/index.js";
import type { Scenario } from "./stage.js";

const sleep = (ms: number): Tree => ({ kind: "sleep", ms });
const call = (value: unknown): Tree => ({ kind: "call", value });
const run = (value: unknown): Tree => ({ kind: "run", value });
const awakeable = (value: unknown): Tree => ({ kind: "awakeable", value });
const callFails = (message: string): Tree => ({ kind: "callFails", message });
const runFails = (message: string): Tree => ({ kind: "runFails", message });
const awakeableFails = (message: string): Tree => ({ kind: "awakeableFails", message });
const never: Tree = { kind: "never" };
const all = (...of: Tree[]): Tree => ({ kind: "all", of });
const race = (...of: Tree[]): Tree => ({ kind: "race", of });
const any = (...of: Tree[]): Tree => ({ kind: "any", of });
const allSettled = (...of: Tree[]): Tree => ({ kind: "allSettled", of });
const orTimeout = (of: Tree, ms: number): Tree => ({ kind: "orTimeout", of, ms });
const map = (of: Tree): Tree => ({ kind: "map", of });
const NEVER_MS = 3_600_000;

const CASES: readonly (readonly [what: string, tree: Tree, expected: CombinedResult])[] = [
  ["all waits for everything", all(call("a"), run("b"), awakeable("c"), sleep(20)), { value: ["a", "b", "c", "slept 20"] }],
  ["all of nothing", all(), { value: [] }],
  ["all fails with a call", all(never, callFails("bad call")), { failure: "bad call" }],
  ["all fails with a step", all(never, runFails("bad step")), { failure: "bad step" }],
  ["all fails with an awakeable", all(call("a"), awakeableFails("bad awakeable")), { failure: "bad awakeable" }],
  ["a race is won by the first", race(sleep(NEVER_MS), sleep(25), never), { value: "slept 25" }],
  ["a race may be won by a call", race(sleep(NEVER_MS), call("won")), { value: "won" }],
  ["a race may be won by a failure", race(never, callFails("lost")), { failure: "lost" }],
  ["any passes over failures", any(runFails("one"), callFails("two"), awakeable("good")), { value: "good" }],
  ["any fails when all do", any(runFails("one"), awakeableFails("two")), { failures: ["one", "two"] }],
  [
    "allSettled reports each",
    allSettled(call("a"), runFails("b"), awakeable("c"), awakeableFails("d"), sleep(5)),
    { value: ["ok a", "no b", "ok c", "no d", "ok slept 5"] },
  ],
  ["allSettled of nothing", allSettled(), { value: [] }],
  ["all of races", all(race(sleep(NEVER_MS), call("x")), race(never, awakeable("y"))), { value: ["x", "y"] }],
  ["a race of alls", race(all(call("a"), never), all(call("b"), sleep(10))), { value: ["b", "slept 10"] }],
  ["any of a failed all and a race", any(all(call("a"), callFails("z")), race(never, call("w"))), { value: "w" }],
  ["allSettled of all and any", allSettled(all(call(1), call(2)), any(runFails("a"), run("b"))), { value: ["ok 1,2", "ok b"] }],
  ["three levels", all(any(race(never, callFails("f")), all(run(1), sleep(8))), call(2)), { value: [[1, "slept 8"], 2] }],
  ["what is known already", all({ kind: "resolved", value: "known" }, sleep(5)), { value: ["known", "slept 5"] }],
  ["what has failed already", all(never, { kind: "rejected", message: "known" }), { failure: "known" }],
  ["a timeout inside a race", race(never, map(orTimeout(never, 20))), { value: "mapped Timeout occurred" }],
  ["a timeout that is not reached", all(orTimeout(call("in time"), NEVER_MS), sleep(1)), { value: ["in time", "slept 1"] }],
  ["mapped results", all(map(call("a")), map(callFails("b"))), { value: ["mapped a", "mapped b"] }],
  [
    "thirty at once",
    allSettled(...Array.from({ length: 30 }, (_, i) => call(i))),
    { value: Array.from({ length: 30 }, (_, i) => `ok ${i}`) },
  ],
];

export function describeCombinators(scenario: Scenario): void {
  describe("combinators", () => {
    for (const [what, tree, expected] of CASES) {
      scenario(what, async (stage) => {
        expect(await stage.call("Combine", "settle", tree)).toEqual(expected);
      });
    }

    scenario("leave the loser of a race to be awaited later", async (stage) => {
      expect(await stage.call("Combine", "loserLater")).toEqual(["quick", "slow"]);
    });

    scenario("map a result once, however often it is awaited", async (stage) => {
      expect(await stage.call("Combine", "mapOnce")).toBe(1);
    });

    scenario("end with the quick one, and the handler with them", async (stage) => {
      expect(await stage.call("Combine", "raceWithLong")).toBe("short");
    });
  });
}
