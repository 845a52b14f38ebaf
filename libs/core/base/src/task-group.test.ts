import { expect, test } from "@jest/globals";
import { TaskGroup } from "./index.js";

function recording(): { group: TaskGroup; failures: [string, unknown][] } {
  const failures: [string, unknown][] = [];
  return { group: new TaskGroup((cause, task) => failures.push([task, cause])), failures };
}

test("a failure is reported with the name of its task, and the others continue", async () => {
  const { group, failures } = recording();
  const gate = Promise.withResolvers<void>();
  const broken = new Error("broken");
  group.run("good", () => gate.promise);
  group.run("bad", () => Promise.reject(broken));
  group.run("worse", () => {
    throw broken; // Thrown before the first await: still a failure of the task, not of the caller.
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(new Map(failures)).toEqual(
    new Map([
      ["bad", broken],
      ["worse", broken],
    ]),
  );
  expect(group.size).toBe(1);
  gate.resolve();
  await group[Symbol.asyncDispose]();
  expect(group.size).toBe(0);
});

test("disposal aborts the tasks and waits until all have ended", async () => {
  const { group, failures } = recording();
  const order: string[] = [];
  group.run("listener", async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
    order.push("cleaned up");
  });
  await group[Symbol.asyncDispose]();
  order.push("disposed");
  expect(order).toEqual(["cleaned up", "disposed"]);
  expect(failures).toEqual([]);
});

test("a rejection with the group's abort reason is not a failure, any other is", async () => {
  const { group, failures } = recording();
  const aborted = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  group.run("rethrows the reason", async (signal) => {
    await aborted(signal);
    throw signal.reason;
  });
  group.run("wraps it as Node does", async (signal) => {
    await aborted(signal);
    throw Object.assign(new Error("stopped"), { name: "AbortError" });
  });
  group.run("fails while closing", async (signal) => {
    await aborted(signal);
    throw new Error("disk full");
  });
  await group[Symbol.asyncDispose]();
  expect(failures.map(([task, cause]) => [task, String(cause)])).toEqual([["fails while closing", "Error: disk full"]]);
});

test("an abort error before closing is a failure like any other", async () => {
  const { group, failures } = recording();
  group.run("gave up", () => Promise.reject(Object.assign(new Error("timed out"), { name: "AbortError" })));
  await new Promise((resolve) => setImmediate(resolve));
  expect(failures.map(([task]) => task)).toEqual(["gave up"]);
  await group[Symbol.asyncDispose]();
});

test("a task may start others while the group is open; a closed group starts nothing", async () => {
  const { group } = recording();
  const ran: string[] = [];
  group.run("parent", async () => {
    group.run("child", async () => void ran.push("child"));
    ran.push("parent");
  });
  await group[Symbol.asyncDispose]();
  group.run("late", async () => void ran.push("late"));
  expect(ran.sort()).toEqual(["child", "parent"]);
  expect(group.size).toBe(0);
});
