/** What becomes of attempts that have a slot while other runs wait for one: blocked handlers suspend, and nothing else changes. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { FakeStream } from "@perdure/endpoint-transport/testing";
import { type JournalCommand, MessageType } from "@perdure/service-protocol";
import { aTarget, someFacts } from "./testing/index.js";
import { failuresOf, handler, names, sleep, World, waitForSleep } from "./testing/world.js";

const secondSleep: JournalCommand = { ...sleep, resultCompletionId: 2 };
const { awaitingOn } = waitForSleep;

/** A server with so many slots. */
function worldWith(concurrentInvocationsMax: number, protocolVersionMax: 6 | 7 = 6): World {
  return new World({}, { concurrentInvocationsMax, protocolVersionMax });
}

/** An attempt whose handler has been sleeping for `ms`. */
async function sleeping(world: World, ms = 0): Promise<FakeStream> {
  await world.invoke();
  const stream = world.last.respond().command(sleep);
  await world.pass(ms);
  return stream;
}

describe("while a run waits for a slot", () => {
  test("a handler that waits for a timer is requested to suspend, and its slot goes to the run", async () => {
    const world = worldWith(1);
    const invocation = await world.invoke();
    const sleepingStream = world.last.respond().command(sleep);
    await world.turn();
    const waiting = await world.invoke();
    await world.pass(40);
    expect(sleepingStream.ended).toBe(false);
    await world.pass(20);
    expect(sleepingStream.ended).toBe(true);
    sleepingStream.control(waitForSleep).close();
    await world.turn();
    expect(invocation.status).toBe("suspended");
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(waiting.facts.id);
    world.last.respond().finish().close();
    await world.turn();
    expect(world.clock.pendingTimers).toBe(1); // The sleep itself.
  });

  test("only as many as runs wait are requested, those first that have been blocked longest", async () => {
    const world = worldWith(3);
    const streams = [await sleeping(world, 100), await sleeping(world, 100), await sleeping(world, 100)];
    streams[0]!.command(secondSleep); // It did something, so that it has been blocked for a shorter time than the others.
    await world.pass(100);
    await world.invoke();
    await world.pass(200);
    expect(streams.map(({ ended }) => ended)).toEqual([false, true, false]);
    await world.invoke();
    await world.pass(20);
    expect(streams.map(({ ended }) => ended)).toEqual([false, true, true]);
  });

  test("a handler that does not suspend soon is busy, and another one is requested", async () => {
    const world = worldWith(2);
    const streams = [await sleeping(world, 100), await sleeping(world, 100)];
    await world.invoke();
    await world.pass(20);
    expect(streams.map(({ ended }) => ended)).toEqual([true, false]);
    await world.pass(520);
    expect(streams.map(({ ended }) => ended)).toEqual([true, true]);
  });

  test("an await reported by a handler on protocol 7 counts at once, until the handler continues", async () => {
    const world = worldWith(2, 7);
    const saying = await sleeping(world);
    saying.control({ kind: "awaitingOn", awaitingOn, executingSideEffects: false });
    await world.invoke();
    const working = world.last.respond();
    working.control({ kind: "awaitingOn", awaitingOn, executingSideEffects: true });
    await world.invoke();
    await world.invoke();
    await world.pass(20);
    expect([saying.ended, working.ended]).toEqual([true, false]);
  });

  test("a handler on protocol 7 whose awaited completion is being sent is not requested", async () => {
    const world = worldWith(1, 7);
    const invocation = await world.invoke();
    const stream = world.last.respond().command(sleep);
    stream.control({ kind: "awaitingOn", awaitingOn, executingSideEffects: false });
    world.partition.complete(invocation.facts.id, MessageType.SleepCompletion, 1, { kind: "void" });
    await world.turn();
    await world.invoke();
    await world.pass(900);
    expect(stream.ended).toBe(false);
    stream.command(secondSleep); // The handler continued, and does not report that it waits for this one.
    await world.pass(100);
    expect(stream.ended).toBe(true);
  });

  test.each<[string, readonly JournalCommand[]]>([
    ["that executes a run beside a sleep", [sleep, { kind: "run", resultCompletionId: 2, name: "" }]],
    ["that executes a run", [{ kind: "run", resultCompletionId: 1, name: "" }]],
  ])("a handler %s keeps its stream until the inactivity timeout", async (_title, commands) => {
    const world = worldWith(1);
    await world.invoke();
    world.last.respond();
    for (const command of commands) world.last.command(command);
    await world.turn();
    await world.invoke();
    await world.pass(50_000);
    expect(world.last.ended).toBe(false);
  });

  test("a handler whose run result is not stored yet is not requested; one that continues is, after a second of silence", async () => {
    const world = worldWith(1);
    await world.invoke();
    const stream = world.last.respond().command({ kind: "run", resultCompletionId: 1, name: "" });
    const { submit } = world.partition;
    const held: (() => void)[] = [];
    world.partition.submit = (command) => void held.push(() => submit.call(world.partition, command));
    stream.control({ kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value: utf8("1") } });
    await world.invoke();
    await world.pass(5_000);
    expect(stream.ended).toBe(false);
    for (const each of held) each();
    await world.pass(900);
    expect([names(stream).at(-1), stream.ended]).toEqual(["RunCompletion", false]);
    await world.pass(200);
    expect(stream.ended).toBe(true);
  });

  test("one that was requested and works may be silent as long as it ever could be", async () => {
    const times = { ...handler, inactivityTimeoutMs: 5_000, abortTimeoutMs: 3_000 };
    const world = new World({ services: { Svc: { handlers: { run: times } } } }, { concurrentInvocationsMax: 1 });
    const invocation = await world.invoke();
    const stream = world.last.respond().command(sleep);
    await world.pass(100);
    await world.invoke();
    await world.pass(20);
    expect(stream.ended).toBe(true);
    await world.pass(7_900);
    expect(stream.aborted).toBe(false);
    await world.pass(200);
    expect(failuresOf(invocation)).toEqual(["RT0001 retry"]);
  });

  test("a run that is stopped while it waits ends the pressure", async () => {
    const world = worldWith(1);
    const sleepingStream = await sleeping(world);
    const waiting = await world.invoke();
    world.partition.kill(waiting.facts.id);
    await world.pass(10_000);
    expect(sleepingStream.ended).toBe(false);
  });
});

test("while no run waits, a blocked handler keeps its stream until the inactivity timeout", async () => {
  const world = worldWith(2);
  const sleepingStream = await sleeping(world, 59_000);
  await world.invoke(aTarget());
  expect(sleepingStream.ended).toBe(false);
  await world.pass(1_000);
  expect(sleepingStream.ended).toBe(true);
});

test("a long wait for a slot is in the status while it lasts, and stored when it is over", async () => {
  const world = worldWith(1);
  await world.invoke();
  const holder = world.last.respond().command({ kind: "run", resultCompletionId: 1, name: "" });
  const sinceMs = world.clock.nowMs();
  const long = await world.invoke();
  await world.pass(2_500);
  const waiting = await world.invoke();
  expect(world.status(long)).toMatchObject({ inFlight: false, slotWait: { service: "Svc", isContinuation: false, sinceMs } });
  await world.pass(500);
  holder.finish().close();
  await world.turn();
  expect(world.status(long)?.slotWait).toBeUndefined();
  world.last.respond().finish().close();
  await world.turn();
  world.last.respond().finish().close();
  await world.turn();
  expect(long.commands[0]).toMatchObject({ kind: "slotWaited", run: 1, sinceMs, untilMs: sinceMs + 3_000 });
  expect(waiting.commands.map(({ kind }) => kind)).toEqual(["pin", "appendCommand", "end"]);
});

test.each([
  ["the first message of a handler", "bidiStream", 256, 257],
  ["no message, where it comes only with the result", "requestResponse", 300, 300],
] as const)("the attempts of a burst wait for %s", async (_title, protocolType, before, after) => {
  const world = new World({ protocolType }, { concurrentInvocationsMax: 1_000 });
  for (let i = 0; i < 300; i++) world.partition.invoke(someFacts(), utf8(""));
  await world.turn();
  world.streams[0]!.respond();
  await world.turn();
  expect(world.streams.length).toBe(before);
  world.streams[0]!.command(sleep);
  await world.turn();
  expect(world.streams.length).toBe(after);
});
