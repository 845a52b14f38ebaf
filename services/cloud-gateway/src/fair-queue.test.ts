/** T20: a single request does not wait for the queues of other environments. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { FairQueue, FairQueueLine } from "./fair-queue.js";
import { FORWARDS_PER_TURN } from "./limits.js";

function aQueue(lineMax = 1_000) {
  const served: string[] = [];
  const turns: (() => void)[] = [];
  const queue = new FairQueue<string>({ serve: (item) => served.push(item), nextTurn: (turn) => turns.push(turn) }, lineMax);
  const turn = (): void => {
    for (const next of turns.splice(0)) next();
  };
  return { queue, served, turn, turns };
}

test("without a queue every item is served at once", () => {
  const { queue, served, turn, turns } = aQueue();
  const line = new FairQueueLine<string>();
  for (let n = 0; n < 3; n++) {
    expect(queue.enter(line, `${n}`, 1)).toBe("served");
    turn();
  }
  expect(served).toEqual(["0", "1", "2"]);
  turn();
  expect(turns).toEqual([]); // No work and no scheduled turn.
});

test("T20: one request beside a flood that came before it is served in the next turn", () => {
  const { queue, served, turn } = aQueue();
  const [flood, quiet] = [new FairQueueLine<string>(), new FairQueueLine<string>()];
  for (let n = 0; n < 500; n++) queue.enter(flood, "flood", 1);
  expect(queue.enter(quiet, "quiet", 1)).toBe("waits");
  expect(served).toHaveLength(FORWARDS_PER_TURN);
  turn();
  expect(served.indexOf("quiet")).toBeLessThanOrEqual(FORWARDS_PER_TURN + 1);
  for (let n = 0; n < 100; n++) turn();
  expect([served.length, queue.waiting]).toEqual([501, 0]);
});

test("T20: a line is bounded; items beyond the bound are not kept", () => {
  const { queue, served, turn } = aQueue(10);
  const line = new FairQueueLine<string>();
  const entered = Array.from({ length: FORWARDS_PER_TURN + 11 }, () => queue.enter(line, "x", 1));
  expect(entered.filter((each) => each === "waits")).toHaveLength(10);
  expect(entered.at(-1)).toBe("full");
  for (let n = 0; n < 3; n++) turn();
  expect(served).toHaveLength(FORWARDS_PER_TURN + 10);
});

test("each item is served once, in the order of its line, and waiting lines get equal shares", () => {
  const arrivals = fc.array(
    fc.record({ line: fc.integer({ min: 0, max: 3 }), cost: fc.integer({ min: 1, max: FORWARDS_PER_TURN }), turn: fc.boolean() }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(arrivals, (all) => {
      const served: { line: number; n: number; cost: number }[] = [];
      const turns: (() => void)[] = [];
      const queue = new FairQueue<(typeof served)[number]>({
        serve: (item) => served.push(item),
        nextTurn: (turn) => turns.push(turn),
      });
      const lines = Array.from({ length: 4 }, () => new FairQueueLine<(typeof served)[number]>());
      all.forEach(({ line, cost, turn }, n) => {
        queue.enter(lines[line] as FairQueueLine<(typeof served)[number]>, { line, n, cost }, cost);
        if (turn) for (const next of turns.splice(0)) next();
      });
      while (turns.length > 0) for (const next of turns.splice(0)) next();
      expect(served).toHaveLength(all.length);
      for (let line = 0; line < 4; line++) {
        const own = served.filter((each) => each.line === line).map(({ n }) => n);
        expect(own).toEqual(own.toSorted((one, other) => one - other));
      }
    }),
  );
  const { queue, served, turn } = aQueue();
  const [heavy, light] = [new FairQueueLine<string>(), new FairQueueLine<string>()];
  for (let n = 0; n < 200; n++) queue.enter(heavy, "heavy", 4);
  for (let n = 0; n < 200; n++) queue.enter(light, "light", 1);
  const before = served.length;
  for (let n = 0; n < 10; n++) turn();
  const heavies = served.slice(before).filter((each) => each === "heavy").length;
  const lights = served.slice(before).filter((each) => each === "light").length;
  expect(Math.abs(lights - 4 * heavies)).toBeLessThanOrEqual(8);
});
