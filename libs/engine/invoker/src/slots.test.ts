/** The limit of concurrent attempts: which runs wait, in which order, and what delays all of them. */
import { describe, expect, test } from "@jest/globals";
import { silentLogger, utf8 } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { Slots } from "./index.js";
import type { SlotUser } from "./slots.js";
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

  test("held: running attempts are cut off, nothing begins and no attempt is used up; then all continue", async () => {
    const clock = new VirtualClock();
    const slots = new Slots(10, clock, silentLogger);
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

  test("many that fail at once without using their slot do not grow the stack", async () => {
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

/** A run as the slots see it. */
class User implements SlotUser {
  queuedAtMs = 0;
  isWaitingForSlot = true;
  blockedSince: number | undefined;
  endpoint: string | undefined = "dp_1";
  readonly name: string;
  readonly service: string;
  readonly isContinuation: boolean;
  readonly #log: string[];

  constructor(log: string[], name: string, isContinuation = false) {
    this.#log = log;
    this.name = name;
    this.service = name[0]!;
    this.isContinuation = isContinuation;
  }

  slotGranted(): boolean {
    this.isWaitingForSlot = false;
    this.#log.push(this.name);
    return true;
  }
  blockedSinceMs(): number | undefined {
    return this.blockedSince;
  }
  suspendBlocked(): void {
    this.#log.push(`suspend ${this.name}`);
  }
}

describe("order of turns", () => {
  test("services take turns, so that a call of one does not wait behind all calls of another", () => {
    const log: string[] = [];
    const slots = new Slots(1, new VirtualClock(), silentLogger);
    const first = new User(log, "a0");
    slots.acquire(first);
    const burst = Array.from({ length: 95_000 }, (_, i) => new User(log, `a${i + 1}`));
    for (const user of burst) slots.acquire(user);
    for (const name of ["b0", "c0"]) slots.acquire(new User(log, name));
    expect(slots.waiting).toBe(95_002);
    slots.release(first);
    slots.release(burst[0]!);
    expect(log).toEqual(["a0", "a1", "b0"]);
  });

  test("they do so in the order in which they came, and within a service the first is first", () => {
    const log: string[] = [];
    const slots = new Slots(1, new VirtualClock(), silentLogger);
    const users = ["a0", "a1", "a2", "a3", "b0", "b1", "c0"].map((name) => new User(log, name));
    for (const user of users) slots.acquire(user);
    for (let i = 0; i < users.length - 1; i++) slots.release(users.find(({ name }) => name === log.at(-1))!);
    expect(log).toEqual(["a0", "a1", "b0", "c0", "a2", "b1", "a3"]);
  });

  test("an eighth of the slots is for continuations, which come first but do not keep new work from beginning", () => {
    const log: string[] = [];
    const slots = new Slots(8, new VirtualClock(), silentLogger);
    const beginnings = Array.from({ length: 9 }, (_, i) => new User(log, `a${i}`));
    for (const user of beginnings) slots.acquire(user);
    expect([slots.used, slots.waiting]).toEqual([7, 2]);
    const continuations = Array.from({ length: 7 }, (_, i) => new User(log, `b${i}`, true));
    for (const user of continuations) slots.acquire(user);
    expect(slots.used).toBe(8);
    log.length = 0;
    for (const user of [...beginnings.slice(0, 6), continuations[0]!]) slots.release(user);
    expect(log).toEqual(["b1", "b2", "b3", "a7", "b4", "b5", "b6"]);
  });

  test("when only beginnings wait and slots of continuations are free, attempts of beginnings are requested to suspend", () => {
    const log: string[] = [];
    const clock = new VirtualClock();
    const slots = new Slots(8, clock, silentLogger);
    const continuation = new User(log, "b0", true);
    slots.acquire(continuation);
    const beginnings = Array.from({ length: 7 }, (_, i) => new User(log, `a${i}`));
    for (const user of beginnings) slots.acquire(user);
    slots.release(continuation);
    const other = new User(log, "b1", true);
    slots.acquire(other);
    slots.release(other);
    slots.acquire(new User(log, "c0"));
    beginnings[3]!.blockedSince = 2;
    other.blockedSince = 1;
    clock.advanceBy(20);
    expect([log.at(-1), slots.suspensionsRequested]).toEqual(["suspend a3", 1]);
  });

  test("the longest waiting run is reported, except stopped runs", () => {
    const slots = new Slots(1, new VirtualClock(), silentLogger);
    const users = ["a0", "a1", "b0", "b1"].map((name, i) => Object.assign(new User([], name), { queuedAtMs: i }));
    for (const user of users) slots.acquire(user);
    expect(slots.oldestQueuedAtMs).toBe(1);
    users[1]!.isWaitingForSlot = false;
    slots.withdraw(users[1]!);
    expect([slots.oldestQueuedAtMs, slots.waiting]).toEqual([2, 2]);
  });
});

test("that runs wait is logged at once, and not again for a minute", () => {
  const clock = new VirtualClock();
  const warnings: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
  const slots = new Slots(1, clock, logger);
  const log: string[] = [];
  for (const name of ["a0", "a1", "b0"]) slots.acquire(new User(log, name));
  clock.advanceBy(20);
  expect(warnings).toEqual([{ waiting: 2, used: 1, limit: 1, suspensionsRequested: 0 }]);
  clock.advanceBy(59_000);
  expect(warnings.length).toBe(1);
  clock.advanceBy(2_000);
  expect(warnings.length).toBe(2);
});

describe("a burst of calls of one service", () => {
  test("has a bounded number of attempts without a message; a call of another service begins at once", () => {
    const log: string[] = [];
    const slots = new Slots(8_000, new VirtualClock(), silentLogger);
    const burst = Array.from({ length: 5_000 }, (_, i) => new User(log, `a${i}`));
    for (const user of burst) slots.acquire(user);
    expect([slots.used, slots.waiting]).toEqual([256, 4_744]);
    const other = new User(log, "b0");
    slots.acquire(other);
    expect(log.at(-1)).toBe("b0");
    slots.answered(burst[0]!);
    slots.release(burst[1]!);
    slots.answered(burst[0]!); // Once is enough.
    expect([log.at(-2), log.at(-1), slots.used]).toEqual(["a256", "a257", 258]);
  });

  test("continues where handlers are silent at first, more slowly, and nothing is requested to suspend or logged for that", () => {
    const log: string[] = [];
    const clock = new VirtualClock();
    const warnings: object[] = [];
    const slots = new Slots(8_000, clock, { ...silentLogger, warn: (fields: object) => void warnings.push(fields) });
    for (let i = 0; i < 1_000; i++) slots.acquire(new User(log, `a${i}`));
    clock.advanceBy(480);
    expect(slots.used).toBe(256);
    clock.advanceBy(20);
    expect(slots.used).toBe(512);
    clock.advanceBy(1_100);
    expect([slots.used, slots.waiting, slots.suspensionsRequested, warnings.length]).toEqual([1_000, 0, 0, 0]);
  });
});

describe("an endpoint that accepts no more streams", () => {
  test("keeps so many slots of a service, and those of no other service or endpoint", () => {
    const log: string[] = [];
    const slots = new Slots(8_000, new VirtualClock(), silentLogger);
    let capacity = 10;
    class Caller extends User {
      override slotGranted(): boolean {
        super.slotGranted();
        slots.streamWaits(this, --capacity < 0);
        return true;
      }
    }
    const burst = Array.from({ length: 500 }, (_, i) => new Caller(log, `a${i}`));
    for (const user of burst) slots.acquire(user);
    expect([slots.used, slots.waiting]).toEqual([138, 362]);
    slots.acquire(new User(log, "b0"));
    expect(log.at(-1)).toBe("b0");
    slots.release(burst[0]!);
    expect(slots.waiting).toBe(362); // Its connection is for a stream that waits already.
    slots.streamWaits(burst[10]!, false);
    expect([log.at(-1), slots.waiting]).toEqual(["a138", 361]);
    slots.release(burst[11]!);
    expect([log.at(-1), slots.waiting]).toEqual(["a139", 360]);
  });

  test("has its blocked handlers requested to suspend, and no others", () => {
    const log: string[] = [];
    const clock = new VirtualClock();
    const slots = new Slots(100, clock, silentLogger);
    const [first, second, elsewhere, waiting] = ["a0", "a1", "b0", "c0"].map((name) => new User(log, name)) as [
      User,
      User,
      User,
      User,
    ];
    elsewhere.endpoint = "dp_2";
    for (const user of [first, second, elsewhere, waiting]) slots.acquire(user);
    for (const user of [first, second, elsewhere]) slots.answered(user);
    first.blockedSince = 2;
    second.blockedSince = 1;
    elsewhere.blockedSince = 0;
    slots.streamWaits(waiting, true);
    clock.advanceBy(150);
    expect(slots.suspensionsRequested).toBe(0); // That may be a handshake.
    clock.advanceBy(100);
    expect([log.at(-1), slots.suspensionsRequested]).toEqual(["suspend a1", 1]);
    slots.streamWaits(waiting, false);
    clock.advanceBy(10_000);
    expect([slots.suspensionsRequested, clock.pendingTimers]).toEqual([1, 0]);
  });
});

test("an attempt whose stream waits does not count as running, and its silence is not the handler's", async () => {
  const world = new World({}, {});
  const invocation = await world.invoke();
  world.last.listener.waiting?.(true);
  await world.pass(10 * 60_000);
  expect(world.status(invocation)).toMatchObject({ inFlight: false, slotWait: { service: "Svc", isContinuation: false } });
  expect([world.last.ended, failuresOf(invocation)]).toEqual([false, []]);
  world.last.listener.waiting?.(false);
  expect(world.status(invocation)).toMatchObject({ inFlight: true, slotWait: undefined });
  world.last.respond().finish().close();
  await world.turn();
  expect(invocation.status).toBe("completed");
});
