/** Attempts at the same time are bounded: who waits, in which order, and what holds all of them back. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { Slots } from "./index.js";
import { aRegistry, aRegistryOf, someFacts } from "./testing/index.js";
import { failuresOf, handler, World } from "./testing/world.js";

describe("bounds", () => {
  test("attempts beyond the limit wait in order, retries behind them", async () => {
    const world = new World({}, { concurrentInvocationsMax: 2 });
    const invocations = [await world.invoke(), await world.invoke(), await world.invoke(), await world.invoke()];
    expect(world.streams.length).toBe(2);
    expect(world.status(invocations[2]!)).toMatchObject({ inFlight: false, retryCount: 0 });
    world.streams[0]!.respond().fails("no").close();
    await world.turn();
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(invocations[2]!.facts.id);
    await world.pass(2_000);
    world.streams[1]!.respond().finish().close();
    await world.turn();
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(invocations[3]!.facts.id);
    world.streams[2]!.respond().finish().close();
    await world.turn();
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(invocations[0]!.facts.id);
  });

  test("held: what runs is broken off, nothing begins and no attempt is used up; then all goes on", async () => {
    const slots = new Slots(10);
    const world = new World({}, {}, { slots });
    const broken = await world.invoke();
    world.last.respond();
    slots.hold(true);
    const interruption = { errorCode: "TEN0003", message: "full", nextRetryDelayMs: 1_000 } as const;
    for (let i = 0; i < 10; i++) world.invoker.interrupt(interruption); // More often than the policy has attempts.
    expect(world.last.aborted).toBe(true);
    const waiting = await world.invoke();
    await world.pass(5_000);
    expect(world.streams.length).toBe(1);
    expect(failuresOf(broken)).toEqual(["TEN0003 retry"]);
    slots.hold(false);
    await world.turn();
    expect(world.streams.length).toBe(3);
    for (const stream of world.streams.slice(1)) stream.respond().finish().close();
    await world.turn();
    expect([broken.status, waiting.status]).toEqual(["completed", "completed"]);
  });

  test("many that fail at once for want of a slot's use do not pile up", async () => {
    const world = new World({ services: { Other: { handlers: {} } } }, { concurrentInvocationsMax: 1 });
    world.registry = aRegistry({ services: { Svc: { handlers: { run: handler } } } });
    const blocking = await world.invoke();
    const many = Array.from({ length: 20_000 }, () => world.partition.invoke(someFacts(), utf8("")));
    const { deployments } = world.registry.current();
    world.registry = aRegistryOf({ services: new Map(), deployments, rules: [] });
    world.partition.kill(blocking.facts.id);
    await world.turn();
    expect(many.every(({ failures }) => failures[0]?.error.errorCode === "RT0011")).toBe(true);
  });
});
