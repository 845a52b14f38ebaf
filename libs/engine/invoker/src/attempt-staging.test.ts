/** Staging of large bodies, which are written before their commands. */
import { describe, expect, test } from "@jest/globals";
import { encodeCommand, encodeFrame, MessageType } from "@perdure/service-protocol";
import { LARGE_MESSAGE_BYTES, STAGED_OUTPUT_BYTES } from "./limits.js";
import { failuresOf, sleep, World } from "./testing/world.js";

describe("large bodies", () => {
  const value = new Uint8Array(LARGE_MESSAGE_BYTES).fill(7);
  const large = encodeFrame(MessageType.Output, encodeCommand({ kind: "output", result: { kind: "value", value }, name: "" }));
  const end = encodeFrame(MessageType.End, new Uint8Array());

  /** Results of the store in the order of the bodies, given by the test. */
  function staging(world: World) {
    const bodies: Uint8Array[] = [];
    const answers: PromiseWithResolvers<Disposable>[] = [];
    const disposed: number[] = [];
    world.partition.stage = (body) => {
      const answer = Promise.withResolvers<Disposable>();
      bodies.push(body);
      answers.push(answer);
      return answer.promise;
    };
    const staged = (n: number): void => answers[n]?.resolve({ [Symbol.dispose]: () => void disposed.push(n) });
    return { bodies, answers, disposed, staged };
  }

  test("a large body is staged before its command is submitted; what comes behind it waits, and so does the end", async () => {
    const world = new World();
    const { bodies, disposed, staged } = staging(world);
    const invocation = await world.invoke();
    world.last.respond();
    world.last.command(sleep);
    for (const piece of [large.subarray(0, 1_000), large.subarray(1_000), end]) world.last.listener.data(piece);
    world.last.listener.end();
    await world.turn();
    expect(invocation.entries.map(({ type }) => type)).toEqual([MessageType.Input, MessageType.Sleep]);
    expect([bodies.length, world.last.readingPaused, disposed, invocation.status]).toEqual([1, true, [], "invoked"]);
    staged(0);
    await world.turn();
    expect(invocation.status).toBe("completed");
    // The very memory that was staged, or the store could not find it again.
    expect(invocation.entries[2]?.body).toBe(bodies[0]);
    expect(disposed).toEqual([0]);
    expect(world.clock.pendingTimers).toBe(1); // The sleep itself.
  });

  /** Callbacks that wait until what was submitted is durable, called by the test. */
  function holdingDurable(world: World): (() => void)[] {
    const held: (() => void)[] = [];
    world.partition.whenDurable = (callback) => held.push(callback);
    return held;
  }

  test("the stage ends only when the command is durable", async () => {
    const world = new World();
    const { disposed, staged } = staging(world);
    await world.invoke();
    world.last.respond();
    const held = holdingDurable(world);
    world.last.command({ kind: "run", resultCompletionId: 1, name: "" });
    world.last.control({ kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value } });
    await world.turn();
    staged(0);
    await world.turn();
    expect(disposed).toEqual([]);
    for (const callback of held) callback();
    expect(disposed).toEqual([0]);
  });

  test("the stage of an output lasts until the end is durable, whose outcome has the same bytes", async () => {
    const world = new World();
    const { disposed, staged } = staging(world);
    const invocation = await world.invoke();
    world.last.respond();
    const held = holdingDurable(world);
    const result = { kind: "value", value: value.subarray(0, STAGED_OUTPUT_BYTES) } as const;
    world.last.command({ kind: "output", result, name: "" });
    staged(0);
    await world.turn();
    for (const callback of held.splice(0)) callback(); // The output is durable before the end arrives.
    expect([disposed, invocation.status]).toEqual([[], "invoked"]);
    world.last.listener.data(end);
    await world.turn();
    expect([disposed, invocation.status]).toEqual([[], "completed"]);
    for (const callback of held) callback();
    expect(disposed).toEqual([0]);
  });

  test("an attempt that ends after its output without an end keeps no stage", async () => {
    const world = new World();
    const { disposed, staged } = staging(world);
    await world.invoke();
    world.last.respond();
    world.last.listener.data(large);
    staged(0);
    await world.turn();
    expect(disposed).toEqual([]);
    world.last.listener.failed({ kind: "reset", message: "gone" });
    await world.turn();
    expect(disposed).toEqual([0]);
  });

  test("a body that cannot be staged goes with its command", async () => {
    const world = new World();
    const { answers } = staging(world);
    const invocation = await world.invoke();
    world.last.respond();
    world.last.listener.data(large);
    world.last.listener.data(end);
    answers[0]?.reject(new Error("the disk is full"));
    await world.turn();
    expect(invocation.status).toBe("completed");
  });

  test("an attempt that fails during staging submits nothing more, and keeps no file", async () => {
    const world = new World();
    const { disposed, staged } = staging(world);
    const invocation = await world.invoke();
    world.last.respond();
    world.last.listener.data(large);
    world.last.listener.failed({ kind: "reset", message: "gone" });
    await world.turn();
    staged(0);
    await world.turn();
    expect(invocation.entries).toHaveLength(1);
    expect([disposed, failuresOf(invocation)]).toEqual([[0], ["RT0010 retry"]]);
  });

  test("a result of a step is staged like a command", async () => {
    const world = new World();
    const { bodies, staged } = staging(world);
    const invocation = await world.invoke();
    world.last.respond();
    world.last.command({ kind: "run", resultCompletionId: 1, name: "" });
    world.last.control({ kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value } });
    await world.turn();
    expect([bodies.length, invocation.entries.length]).toEqual([1, 2]);
    staged(0);
    await world.turn();
    expect(invocation.entries).toHaveLength(3);
  });
});
