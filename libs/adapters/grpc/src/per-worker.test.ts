import { describe, expect, test } from "@jest/globals";
import { LeaderDirectory } from "./leadership.js";
import { PerWorker } from "./per-worker.js";

interface Wire {
  readonly address: string;
  busy: boolean;
  closed: boolean;
}

function wires(directory: LeaderDirectory): PerWorker<Wire> {
  return new PerWorker<Wire>(directory, {
    open: (address) => ({ address, busy: false, closed: false }),
    isIdle: (wire) => !wire.busy,
    close: (wire) => {
      wire.closed = true;
    },
  });
}

const update = (...workers: string[]) => ({ partitionCount: 2, leaders: [], workers });

describe("what is held for workers", () => {
  test("is opened once for an address", () => {
    const all = wires(new LeaderDirectory());
    expect(all.at("a:1")).toBe(all.at("a:1"));
    expect(all.size).toBe(1);
  });

  test("goes with its worker, and comes back with it", () => {
    const directory = new LeaderDirectory();
    const all = wires(directory);
    directory.learn(update("a:1", "b:1"));
    const [a, b] = [all.at("a:1"), all.at("b:1")];
    directory.learn(update("a:1"));
    expect([a.closed, b.closed]).toEqual([false, true]);
    expect(all.at("b:1")).not.toBe(b);
  });

  test("stays while a caller waits for an answer through it, and while its worker leads", () => {
    const directory = new LeaderDirectory();
    const all = wires(directory);
    directory.learn({ ...update("a:1", "b:1"), leaders: [{ partition: 0, epoch: 1, address: "a:1" }] });
    const [a, b] = [all.at("a:1"), all.at("b:1")];
    b.busy = true;
    directory.learn(update());
    expect([a.closed, b.closed]).toEqual([false, false]);
    b.busy = false;
    directory.learn({ ...update("c:1"), leaders: [{ partition: 0, epoch: 2, address: "c:1" }] });
    expect([a.closed, b.closed]).toEqual([true, true]);
  });

  test("is closed at the end, and listens no more", () => {
    const directory = new LeaderDirectory();
    const all = wires(directory);
    const a = all.at("a:1");
    all.close();
    expect(a.closed).toBe(true);
    const later = all.at("b:1");
    directory.learn(update("c:1"));
    expect(later.closed).toBe(false);
  });
});
