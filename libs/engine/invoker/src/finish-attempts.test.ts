/** Attempts before their partition is handed over to another leader. */
import { describe, expect, test } from "@jest/globals";
import { failuresOf, sleep, World, waitForSleep } from "./testing/world.js";

/** Begins to finish; the returned function returns whether that is done. */
function finishing(world: World): () => boolean {
  let isDone = false;
  void world.invoker.finishAttempts().then(() => {
    isDone = true;
  });
  return () => isDone;
}

describe("before a partition is handed over", () => {
  test("running attempts may end, and their commands are submitted by then", async () => {
    const world = new World();
    const invocation = await world.invoke();
    const stream = world.last.respond();
    const isDone = finishing(world);
    await world.pass(500);
    expect([isDone(), stream.ended]).toEqual([false, false]);
    stream.finish().close();
    await world.pass(20);
    expect(isDone()).toBe(true);
    expect(invocation.status).toBe("completed");
  });

  test("a handler that waits is requested to suspend", async () => {
    const world = new World();
    const invocation = await world.invoke();
    const stream = world.last.respond().command(sleep);
    await world.turn();
    const isDone = finishing(world);
    await world.pass(40);
    await world.pass(40);
    expect(stream.ended).toBe(true);
    stream.control(waitForSleep).close();
    await world.pass(20);
    expect(isDone()).toBe(true);
    expect(invocation.status).toBe("suspended");
  });

  test("no attempt begins: neither of a new invocation, nor of one that waits for a slot, nor a retry", async () => {
    const world = new World({}, { concurrentInvocationsMax: 2 });
    const failing = await world.invoke();
    const failed = world.last;
    await world.invoke();
    const working = world.last.respond();
    const queued = await world.invoke();
    expect(world.streams).toHaveLength(2);
    const isDone = finishing(world);
    failed.breakOff({ kind: "reset", message: "gone" });
    await world.pass(20);
    expect(failuresOf(failing)).toHaveLength(1);
    const next = await world.invoke();
    await world.pass(5_000);
    expect(world.streams).toHaveLength(2);
    expect([failing, queued, next].map(({ status }) => status)).toEqual(["invoked", "invoked", "invoked"]);
    expect(isDone()).toBe(false);
    working.finish().close();
    await world.pass(20);
    expect(isDone()).toBe(true);
  });

  test("when nothing runs, it is done at once", async () => {
    const world = new World();
    const isDone = finishing(world);
    await world.turn();
    expect(isDone()).toBe(true);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("disposal ends it", async () => {
    const world = new World();
    await world.invoke();
    const stream = world.last.respond();
    const isDone = finishing(world);
    await world.turn();
    await world.invoker[Symbol.asyncDispose]();
    await world.pass(20);
    expect(isDone()).toBe(true);
    expect(stream.aborted).toBe(true);
  });
});
