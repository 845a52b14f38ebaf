/** Time limits of an attempt, and bounds of its data in transit. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { FakeStream } from "@perdure/endpoint-transport/testing";
import { encodeCommand, encodeFrame, MessageType } from "@perdure/service-protocol";
import { DRAIN_MS } from "./limits.js";
import { noMetrics } from "./metrics.js";
import { aTarget } from "./testing/builders.js";
import { failuresOf, handler, names, object, sleep, World, waitForSleep } from "./testing/world.js";

describe("time", () => {
  const quick = { services: { Svc: { handlers: { run: { ...handler, inactivityTimeoutMs: 700, abortTimeoutMs: 3_000 } } } } };

  test("a quiet stream is half-closed; every message in either direction keeps it open", async () => {
    const world = new World(quick);
    const invocation = await world.invoke();
    world.last.respond();
    await world.pass(600);
    world.last.command(sleep);
    await world.pass(600);
    world.partition.signal(invocation.facts.id, { kind: "signalIndex", index: 17 }, { kind: "void" });
    await world.pass(600);
    expect(world.last.ended).toBe(false);
    await world.pass(100);
    expect(world.last.ended).toBe(true);
    world.last.control(waitForSleep).close();
    await world.turn();
    expect(invocation.status).toBe("suspended");
    expect(world.clock.pendingTimers).toBe(1); // The sleep itself.
  });

  test("a stream that stays silent after that is aborted with RT0001", async () => {
    const world = new World(quick);
    const invocation = await world.invoke();
    world.last.respond();
    await world.pass(700);
    await world.pass(2_900);
    world.last.frame(MessageType.Run, Uint8Array.of(0x58, 1));
    await world.pass(2_900);
    expect(failuresOf(invocation)).toEqual([]);
    await world.pass(100);
    expect(failuresOf(invocation)).toEqual(["RT0001 retry"]);
    expect(world.last.aborted).toBe(false); // A handler that comes to a command now suspends.
    await world.pass(DRAIN_MS);
    expect(world.last.aborted).toBe(true);
  });

  test("a stream after a cut is reset as soon as the partition takes its invocation back", async () => {
    for (const verb of ["pause", "kill"] as const) {
      const world = new World(quick);
      const invocation = await world.invoke();
      world.last.respond();
      await world.pass(700);
      if (verb === "pause") world.partition.pause(invocation.facts.id);
      await world.pass(3_000);
      expect(failuresOf(invocation)).toEqual(["RT0001 retry"]);
      if (verb === "kill") {
        expect(world.last.aborted).toBe(false);
        world.partition.kill(invocation.facts.id);
      }
      await world.turn();
      expect([verb, world.last.aborted]).toEqual([verb, true]);
      expect(world.clock.pendingTimers).toBe(0);
    }
  });

  test("of an invocation that has failed for good it drains when it has no key, and is reset when the next one of its key may begin", async () => {
    const retryPolicy = { initialIntervalMs: 1, factor: 1, maxIntervalMs: 1, maxAttempts: 1, onMaxAttempts: "kill" } as const;
    const once = { ...handler, inactivityTimeoutMs: 700, abortTimeoutMs: 3_000, retryPolicy };
    for (const target of [aTarget(), object]) {
      const world = new World({ services: { [target.service]: { handlers: { [target.handler]: once } } } });
      const invocation = await world.invoke(target);
      world.last.respond();
      await world.pass(700);
      await world.pass(3_000);
      expect(failuresOf(invocation)).toEqual(["RT0001 kill"]);
      expect([target.key, world.last.aborted]).toEqual([target.key, target.key !== undefined]);
    }
  });

  test("request/response has no inactivity timeout, but the abort timeout", async () => {
    const world = new World({ ...quick, protocolType: "requestResponse" });
    const invocation = await world.invoke();
    expect(world.last).toMatchObject({ ended: true, request: { requestResponse: true } });
    await world.pass(2_999);
    expect(world.last.aborted).toBe(false);
    await world.pass(1);
    expect(invocation.failures).toMatchObject([{ error: { errorCode: "RT0001" } }]);
  });

  test("an inactivity timeout of zero forces request/response", async () => {
    const world = new World({ services: { Svc: { handlers: { run: { inactivityTimeoutMs: 0 } } } } });
    await world.invoke();
    expect(world.last).toMatchObject({ ended: true, request: { requestResponse: true } });
  });

  test("an error status in the middle of the replay ends it", async () => {
    const world = new World();
    world.transport.onOpen = (stream) => {
      stream.writable = false;
    };
    await world.invoke();
    world.last.listener.response(500, {});
    const written = world.last.writes.length;
    world.last.listener.drain();
    expect([world.last.aborted, world.last.writes.length]).toEqual([true, written]);
  });
});

describe("bounds", () => {
  test("an attempt whose commands are not settled stops reading, and continues when they are", async () => {
    const world = new World();
    const invocation = await world.invoke(object);
    world.last.respond();
    const value = new Uint8Array(100_000);
    let commands = 0;
    for (; !world.last.readingPaused && commands < 100; commands++) {
      world.last.command({ kind: "setState", stateKey: utf8("k"), value, name: "" });
    }
    expect(commands).toBe(2);
    await world.turn();
    expect(world.last.readingPaused).toBe(false);
    expect(invocation.entries.length).toBe(1 + commands);
  });

  test("so does one with many small commands", async () => {
    const world = new World();
    await world.invoke(object);
    world.last.respond();
    let commands = 0;
    for (; !world.last.readingPaused && commands < 5_000; commands++)
      world.last.command({ kind: "clearState", stateKey: utf8("k"), name: "" });
    expect(commands).toBe(65);
    await world.turn();
    expect(world.last.readingPaused).toBe(false);
  });

  test("a chunk of thousands of messages is handled in shares, each behind a commit, and the response may end before", async () => {
    const world = new World();
    const held: (() => void)[] = [];
    const { whenDurable } = world.partition;
    const invocation = await world.invoke();
    await world.turn();
    world.last.respond();
    world.partition.whenDurable = (callback) => held.push(callback);
    const frame = encodeFrame(MessageType.Run, new Uint8Array());
    world.last.listener.data(new Uint8Array(Buffer.concat(Array.from({ length: 5_000 }, () => frame))));
    const output = encodeCommand({ kind: "output", result: { kind: "value", value: utf8("done") }, name: "" });
    world.last.listener.data(encodeFrame(MessageType.Output, output));
    world.last.listener.data(encodeFrame(MessageType.End, new Uint8Array()));
    world.last.listener.end();
    await world.turn();
    const counts = [invocation.entries.length];
    for (let callback = held.shift(); callback !== undefined; callback = held.shift()) {
      callback();
      await world.turn();
      counts.push(invocation.entries.length);
    }
    expect(counts.slice(0, 4)).toEqual([1 + 64, 1 + 64 + 2_048, 1 + 64 + 2 * 2_048, 5_002]);
    world.partition.whenDurable = whenDurable;
    expect(invocation.status).toBe("completed");
    expect(world.clock.pendingTimers).toBe(0); // The attempt does not wait for the stream: it has ended.
  });

  test("an attempt beyond its rates is read more slowly, loses nothing, and may end before", async () => {
    let slowdowns = 0;
    const metrics = { ...noMetrics, attemptSlowedDown: () => void slowdowns++ };
    const world = new World({}, { pace: { messagesPerSecond: 10, bytesPerSecond: 1_000_000 } }, { metrics });
    const invocation = await world.invoke();
    world.last.respond();
    for (let id = 1; id <= 50; id++) world.last.command({ kind: "run", resultCompletionId: id, name: "" });
    expect([world.last.readingPaused, slowdowns]).toEqual([false, 0]);
    world.last.command({ kind: "run", resultCompletionId: 51, name: "" });
    expect([world.last.readingPaused, slowdowns]).toEqual([true, 1]);
    for (let id = 52; id <= 60; id++) world.last.command({ kind: "run", resultCompletionId: id, name: "" });
    world.last.command({ kind: "output", result: { kind: "value", value: utf8("done") }, name: "" });
    world.last.control({ kind: "end" });
    world.last.listener.end();
    await world.pass(99);
    expect(invocation.entries).toHaveLength(1 + 51);
    await world.pass(1);
    expect(invocation.entries).toHaveLength(1 + 60 + 1);
    await world.pass(2_000);
    expect(invocation.status).toBe("completed");
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("an attempt that is aborted while it is read more slowly leaves no timer", async () => {
    const world = new World({}, { pace: { messagesPerSecond: 1, bytesPerSecond: 1_000_000 } });
    await world.invoke();
    world.last.respond();
    for (let id = 1; id <= 6; id++) world.last.command({ kind: "run", resultCompletionId: id, name: "" });
    expect(world.last.readingPaused).toBe(true);
    world.last.listener.failed({ kind: "reset", message: "gone" });
    await world.turn();
    expect(world.clock.pendingTimers).toBe(1); // The next attempt's.
  });

  test("large messages arrive one after the other, and each marks its connection as busy", async () => {
    const world = new World();
    const invocations = [await world.invoke(), await world.invoke()];
    const [first, second] = world.streams as [FakeStream, FakeStream];
    const busy: string[] = [];
    first.carriesLargeMessage = (isLarge) => busy.push(`first ${isLarge}`);
    second.carriesLargeMessage = (isLarge) => busy.push(`second ${isLarge}`);
    const value = new Uint8Array(20 * 1024 * 1024);
    const output = encodeCommand({ kind: "output", result: { kind: "value", value }, name: "" });
    const frame = encodeFrame(MessageType.Output, output);
    for (const stream of [first, second]) {
      stream.respond();
      stream.listener.data(frame.subarray(0, 1000));
    }
    expect([first.readingPaused, second.readingPaused]).toEqual([false, true]);
    expect(busy).toEqual(["first true", "second true"]);
    first.listener.data(frame.subarray(1000));
    first.control({ kind: "end" });
    first.listener.end();
    await world.turn();
    expect(invocations.map(({ status }) => status)).toEqual(["completed", "invoked"]);
    expect([second.readingPaused, busy.slice(2)]).toEqual([false, ["first false"]]);
    second.listener.data(frame.subarray(1000));
    second.control({ kind: "end" });
    second.listener.end();
    await world.turn();
    expect(invocations[1]?.status).toBe("completed");
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("an attempt that fails in the middle of a large message releases its turn", async () => {
    const world = new World();
    await world.invoke();
    await world.invoke();
    const [first, second] = world.streams as [FakeStream, FakeStream];
    const beginning = encodeFrame(MessageType.Output, new Uint8Array(20 * 1024 * 1024)).subarray(0, 1000);
    for (const stream of [first, second]) {
      stream.respond();
      stream.listener.data(beginning);
    }
    expect(second.readingPaused).toBe(true);
    first.listener.failed({ kind: "reset", message: "gone" });
    await world.turn();
    expect(second.readingPaused).toBe(false);
  });

  test("while the attempt does not read, the endpoint's silence does not count", async () => {
    const world = new World({
      services: { Svc: { handlers: { run: { ...handler, inactivityTimeoutMs: 700, abortTimeoutMs: 700 } } } },
    });
    const held: (() => void)[] = [];
    world.partition.whenDurable = (callback) => held.push(callback);
    const invocation = await world.invoke();
    world.last.respond();
    for (let i = 0; !world.last.readingPaused; i++) world.last.command({ kind: "run", resultCompletionId: i, name: "" });
    await world.pass(10_000);
    expect([world.last.ended, world.last.aborted]).toEqual([false, false]);
    for (const callback of held.splice(0)) callback();
    expect(world.last.readingPaused).toBe(false);
    await world.pass(700);
    expect(world.last.ended).toBe(true);
    expect(invocation.failures).toEqual([]);
  });

  test("notifications of one turn are sent in one write", async () => {
    const world = new World();
    const invocation = await world.invoke();
    const before = world.last.writes.length;
    for (let index = 17; index < 27; index++)
      world.partition.signal(invocation.facts.id, { kind: "signalIndex", index }, { kind: "void" });
    await world.turn();
    expect(world.last.writes.length).toBe(before + 1);
    expect(names(world.last).filter((name) => name === "Signal").length).toBe(10);
  });
});
