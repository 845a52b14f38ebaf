/** What follows a failed attempt: when the next one begins, and when there is none. */
import { describe, expect, test } from "@jest/globals";
import { cancelSignalId } from "@perdure/service-protocol";
import { failuresOf, names, policy, startOf, World } from "./testing/world.js";

describe("retries", () => {
  test("follow the policy, count for the SDK, and end in the policy's last resort", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (const [attempt, base] of [1_000, 2_000, 4_000].entries()) {
      world.last.respond().fails(`failure ${attempt}`).close();
      await world.turn();
      expect(world.status(invocation)).toMatchObject({
        inFlight: false,
        retryCount: attempt + 1,
        lastFailure: { message: `failure ${attempt}`, errorCode: "RT0007" },
      });
      await world.pass(base - 1);
      expect(world.streams.length).toBe(attempt + 1);
      await world.pass(base / 3 + 1);
      expect(world.streams.length).toBe(attempt + 2);
      expect(startOf(world.last)).toMatchObject({ knownEntries: 1, retryCountSinceLastStoredEntry: attempt + 1 });
    }
    expect(startOf(world.last).durationSinceLastStoredEntryMs).toBeGreaterThanOrEqual(7_000);
    world.last.respond().fails("the last one").close();
    await world.turn();
    expect(invocation.status).toBe("paused");
    expect(invocation.failures.map(({ then, failureCount }) => `${failureCount} ${then}`)).toEqual([
      "1 retry",
      "2 retry",
      "3 retry",
      "4 pause",
    ]);
    expect(world.status(invocation)).toBeUndefined();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("with policy kill end with the last error", async () => {
    const world = new World({
      services: { Svc: { handlers: { run: { retryPolicy: { ...policy, maxAttempts: 1, onMaxAttempts: "kill" } } } } },
    });
    const invocation = await world.invoke();
    world.last.respond().fails("enough", { code: 503 }).close();
    await world.turn();
    expect(failuresOf(invocation)).toEqual(["RT0007 kill"]);
    expect(invocation.failures[0]?.error).toMatchObject({ code: 503, message: "enough" });
    expect(invocation.status).toBe("completed");
  });

  test("progress resets the SDK's count, not the budget", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let attempt = 1; attempt <= 4; attempt++) {
      world.last.respond().command({ kind: "run", resultCompletionId: attempt, name: "" }).fails("again").close();
      if (attempt < 4) {
        await world.pass(10_000);
        expect(startOf(world.last)).toMatchObject({ knownEntries: 1 + attempt, retryCountSinceLastStoredEntry: 1 });
      }
    }
    await world.turn();
    expect(invocation.status).toBe("paused");
  });

  test("next_retry_delay replaces one delay exactly and uses up no attempt", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let attempt = 1; attempt <= 8; attempt++) {
      world.last.respond().fails("later", { nextRetryDelayMs: 333 }).close();
      await world.pass(332);
      expect(world.streams.length).toBe(attempt);
      await world.pass(1);
      expect(world.streams.length).toBe(attempt + 1);
    }
    world.last.respond().fails("at once", { nextRetryDelayMs: 0 }).close();
    await world.pass(0);
    expect(world.streams.length).toBe(10);
    expect(invocation.failures.every(({ then }) => then === "retry")).toBe(true);
  });

  test("Retry-After is waited for, exactly", async () => {
    const world = new World();
    await world.invoke();
    world.last.listener.response(503, { "retry-after": "7" });
    expect(world.last.aborted).toBe(true);
    await world.pass(6_999);
    expect(world.streams.length).toBe(1);
    await world.pass(1);
    expect(world.streams.length).toBe(2);
  });

  test.each([
    [415, "RT0015", 0],
    [404, "RT0012", 1],
  ])("status %i is %s and makes the SDK's count %i", async (status, errorCode, count) => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.listener.response(status, {});
    await world.pass(2_000);
    expect(invocation.failures).toMatchObject([{ error: { errorCode } }]);
    expect(startOf(world.last).retryCountSinceLastStoredEntry).toBe(count);
  });

  test.each([
    ["connect", "RT0010"],
    ["reset", "RT0010"],
    ["protocol", "RT0010"],
    ["client", "RT0010"],
    ["http11Peer", "META0014"],
  ] as const)("a transport failure of kind %s is %s", async (kind, errorCode) => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.breakOff({ kind, message: "gone" });
    await world.turn();
    expect(failuresOf(invocation)).toEqual([`${errorCode} retry`]);
    expect(invocation.failures[0]?.error.message).toBe("gone");
  });

  test("PAUSE and FAIL go past the policy", async () => {
    const paused = new World();
    const first = await paused.invoke();
    paused.last.respond().fails("stop here", { behavior: "pause" }).close();
    await paused.turn();
    expect([first.status, first.failures[0]?.then]).toEqual(["paused", "pause"]);
    const failed = new World();
    const second = await failed.invoke();
    failed.last.respond().fails("for good", { behavior: "fail", code: 418 }).close();
    await failed.turn();
    expect([second.status, second.failures[0]?.then, second.failures[0]?.error.code]).toEqual(["completed", "kill", 418]);
  });

  test("the next attempt waits until all the failed one submitted is durable", async () => {
    const world = new World();
    let holding = false;
    const held: (() => void)[] = [];
    const { whenDurable } = world.partition;
    world.partition.whenDurable = (callback) => (holding ? held.push(callback) : whenDurable.call(world.partition, callback));
    await world.invoke();
    holding = true;
    world.last.respond().command({ kind: "run", resultCompletionId: 1, name: "" }).fails("no").close();
    await world.pass(60_000);
    expect(world.streams.length).toBe(1);
    for (const callback of held) callback();
    await world.turn();
    expect(names(world.last)).toEqual(["Start", "Input", "Run"]);
  });

  test("back-off begins after the drain, which a sloppy endpoint can drag out for five seconds", async () => {
    const world = new World();
    await world.invoke();
    const sloppy = world.last.respond().fails("no");
    expect(sloppy.ended).toBe(true);
    await world.pass(4_999);
    expect(sloppy.aborted).toBe(false);
    await world.pass(1);
    expect(sloppy.aborted).toBe(true);
    await world.pass(999);
    expect(world.streams.length).toBe(1);
    await world.pass(400);
    expect(world.streams.length).toBe(2);
  });

  test("a signal stored while it backs off is in the replay and does not shorten the wait", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    await world.turn();
    world.partition.signal(invocation.facts.id, cancelSignalId, { kind: "void" });
    await world.pass(999);
    expect(world.streams.length).toBe(1);
    await world.pass(1_000);
    expect(names(world.last)).toEqual(["Start", "Input", "Signal"]);
  });
});
