import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { partitionOfRow } from "@perdure/storage";
import { isRowOfThread } from "./row-owner.js";
import { portsBetween, type ThreadPorts, transfersOf } from "./thread-ports.js";

const opened: ThreadPorts[] = [];
afterEach(() => {
  for (const ports of opened.splice(0)) for (const port of transfersOf(ports)) port.close();
});

test("every thread calls every other one over a port of their own, and the main thread itself", async () => {
  const all = portsBetween(3);
  opened.push(...all);
  expect(all.map(({ calling }) => calling.map((port) => port !== undefined))).toEqual([
    [true, true, true],
    [true, false, true],
    [true, true, false],
  ]);
  expect(all.map(({ serving }) => serving.length)).toEqual([3, 2, 2]);
  for (const [caller, { calling }] of all.entries())
    for (const [callee, port] of calling.entries()) {
      if (port === undefined) continue;
      const received = Promise.race(all[callee]!.serving.map((serving) => once(serving, "message")));
      port.postMessage(`${caller} calls ${callee}`);
      expect(await received).toEqual([`${caller} calls ${callee}`]);
    }
});

test("each row belongs to one thread: that of its partition, and the main thread for rows without one", () => {
  const keys = ["!s", "!a", "00e", "01i1", "0oxyz", "10c1", "@0e"];
  expect(keys.map(partitionOfRow)).toEqual([undefined, undefined, 0, 1, 63, 64, 1024]);
  const owners = keys.map((key) => [0, 1, 2].filter((thread) => isRowOfThread(thread, 3)(key)));
  expect(owners).toEqual([[0], [0], [0], [1], [0], [1], [1]]);
});
