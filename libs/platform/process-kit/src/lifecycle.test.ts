import { EventEmitter } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { type Clock, PerdureError, silentLogger } from "@perdure/base";
import { Health } from "./health.js";
import { attachToProcess, Lifecycle, type ProcessHooks, type ProcessPart } from "./lifecycle.js";

/** Timers that fire only when the test requests it. */
class StoppedClock implements Clock {
  readonly timers = new Set<() => void>();
  elapsedMs = 0;
  nowMs(): number {
    return 0;
  }
  monotonicMs(): number {
    return this.elapsedMs;
  }
  setTimer(_delayMs: number, fire: () => void) {
    this.timers.add(fire);
    return { cancel: () => void this.timers.delete(fire) };
  }
  fireAll(): void {
    for (const fire of [...this.timers]) {
      this.timers.delete(fire);
      fire();
    }
  }
}

class FakeProcess extends EventEmitter implements ProcessHooks {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

function aLifecycle() {
  const clock = new StoppedClock();
  const health = new Health();
  const events: string[] = [];
  const lifecycle = new Lifecycle({ logger: silentLogger, clock, health, shutdownTimeoutMs: 1000 });
  const part = (name: string, extra: Partial<ProcessPart> = {}): ProcessPart => ({
    drain: async () => void events.push(`drain ${name}`),
    [Symbol.asyncDispose]: async () => void events.push(`close ${name}`),
    ...extra,
  });
  return { clock, health, events, lifecycle, part };
}

describe("Lifecycle", () => {
  test("parts are drained, then closed, each in the reverse order of their start", async () => {
    const { lifecycle, events, part, clock } = aLifecycle();
    await lifecycle.start("store", () => part("store"));
    await lifecycle.start("ingress", async () => part("ingress"));
    lifecycle.stop("SIGTERM");
    lifecycle.stop("SIGTERM");
    expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
    expect(events).toEqual(["drain ingress", "drain store", "close ingress", "close store"]);
    expect(clock.timers.size).toBe(0);
  });

  test("a part that fails to start closes the ones before it and passes its failure on", async () => {
    const { lifecycle, events, part } = aLifecycle();
    await lifecycle.start("store", () => part("store"));
    const failure = new PerdureError("RT0004", "port in use");
    await expect(lifecycle.start("ingress", () => Promise.reject(failure))).rejects.toBe(failure);
    expect(events).toEqual(["drain store", "close store"]);
  });

  test("so does work between parts that fails", async () => {
    const { lifecycle, events, part } = aLifecycle();
    await lifecycle.start("store", () => part("store"));
    expect(await lifecycle.prepare(() => 24)).toBe(24);
    await expect(lifecycle.prepare(() => Promise.reject(new RangeError("damaged")))).rejects.toThrow("damaged");
    expect(events).toEqual(["drain store", "close store"]);
  });

  test("readiness names what is still starting, and goes with the shutdown", async () => {
    const { lifecycle, health, part } = aLifecycle();
    const opened = Promise.withResolvers<ProcessPart>();
    const starting = lifecycle.start("store", () => opened.promise);
    expect(health.report()).toEqual({ live: true, ready: false, waitingFor: ["store"] });
    opened.resolve(part("store"));
    await starting;
    expect(health.report()).toEqual({ live: true, ready: true, waitingFor: [] });
    lifecycle.stop("SIGTERM");
    expect(health.report()).toMatchObject({ live: true, ready: false });
    await lifecycle.untilEnded();
  });

  test("stopped while a part is starting, it closes that part too", async () => {
    const { lifecycle, events, part } = aLifecycle();
    await lifecycle.start("store", () => part("store"));
    const opened = Promise.withResolvers<ProcessPart>();
    const starting = lifecycle.start("ingress", () => opened.promise);
    lifecycle.stop("SIGINT");
    opened.resolve(part("ingress"));
    await expect(starting).rejects.toMatchObject({ code: "OPS0004" });
    await expect(lifecycle.start("admin", () => part("admin"))).rejects.toMatchObject({ code: "OPS0004" });
    expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
    expect(events.toSorted()).toEqual(["close ingress", "close store", "drain store"]);
  });

  test("an error of one part does not keep the others from closing", async () => {
    const { lifecycle, events, part } = aLifecycle();
    await lifecycle.start("store", () => part("store"));
    await lifecycle.start("broken", () =>
      part("broken", {
        drain: () => Promise.reject(new Error("no")),
        [Symbol.asyncDispose]: () => Promise.reject(new Error("no")),
      }),
    );
    lifecycle.stop("SIGTERM");
    expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
    expect(events).toEqual(["drain store", "close store"]);
  });

  test("a part that does not drain or close in time is abandoned, and its drain is aborted", async () => {
    const { lifecycle, clock, part } = aLifecycle();
    let isResolved = false;
    const never = new Promise<void>(() => undefined);
    await lifecycle.start("slow", () =>
      part("slow", {
        drain: (signal) => {
          signal.addEventListener("abort", () => {
            isResolved = true;
          });
          return never;
        },
        [Symbol.asyncDispose]: () => never,
      }),
    );
    lifecycle.stop("SIGTERM");
    clock.fireAll(); // Draining is given up.
    await new Promise(setImmediate);
    clock.fireAll(); // So is closing.
    expect(await lifecycle.untilEnded()).toEqual({ kind: "abandoned" });
    expect(isResolved).toBe(true);
  });

  test("a fatal error closes everything and is what the process ends with", async () => {
    const { lifecycle, events, health, part } = aLifecycle();
    await lifecycle.start("store", () => part("store"));
    const error = new PerdureError("STO0004", "disk full");
    lifecycle.fail(error);
    lifecycle.fail(new Error("a consequence"));
    expect(await lifecycle.untilEnded()).toEqual({ kind: "failed", error });
    expect(events).toEqual(["drain store", "close store"]);
    expect(health.report().live).toBe(false);
  });
});

test("a logger that fails itself does not keep a failing process from ending", async () => {
  const { part } = aLifecycle();
  const lines: string[] = [];
  const failing = {
    ...silentLogger,
    error(_: object, message: string) {
      lines.push(message);
      queueMicrotask(() => lifecycle.fail(new Error("write EPIPE")));
    },
  };
  const lifecycle = new Lifecycle({ logger: failing, clock: new StoppedClock(), health: new Health(), shutdownTimeoutMs: 1 });
  await lifecycle.start("store", () => part("store"));
  lifecycle.fail(new Error("write EPIPE"));
  expect(await lifecycle.untilEnded()).toMatchObject({ kind: "failed" });
  expect(lines.length).toBeLessThanOrEqual(10);
});

describe("attachToProcess", () => {
  test("the first signal stops in order, its copy changes nothing, and a later one ends the process at once", async () => {
    const { lifecycle, clock, events, part } = aLifecycle();
    const fake = new FakeProcess();
    using _attached = attachToProcess(lifecycle, fake);
    await lifecycle.start("store", () => part("store"));
    fake.emit("SIGINT");
    clock.elapsedMs += 5;
    fake.emit("SIGINT");
    expect(fake.exits).toEqual([]);
    clock.elapsedMs += 1_000;
    fake.emit("SIGINT");
    expect(fake.exits).toEqual([130]);
    expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
    expect(events).toContain("close store");
  });

  test("an uncaught failure that the process survives changes nothing, and the next one may be fatal", async () => {
    const { lifecycle } = aLifecycle();
    const fake = new FakeProcess();
    const exits: string[] = [];
    using _attached = attachToProcess(lifecycle, fake, (cause, origin) => {
      exits.push(origin);
      return cause instanceof RangeError;
    });
    fake.emit("uncaughtException", new RangeError("one connection"));
    fake.emit("unhandledRejection", new RangeError("one connection"));
    expect(lifecycle.stopping.aborted).toBe(false);
    fake.emit("uncaughtException", new TypeError("oops"));
    expect(await lifecycle.untilEnded()).toMatchObject({ kind: "failed", error: { code: "OPS0003" } });
    expect(exits).toEqual(["uncaughtException", "unhandledRejection", "uncaughtException"]);
  });

  test("an uncaught failure is fatal; disposing lets go of the process", async () => {
    const { lifecycle } = aLifecycle();
    const fake = new FakeProcess();
    const attached = attachToProcess(lifecycle, fake);
    fake.emit("unhandledRejection", new TypeError("oops"));
    expect(await lifecycle.untilEnded()).toMatchObject({ kind: "failed", error: { code: "OPS0003" } });
    attached[Symbol.dispose]();
    expect(fake.eventNames()).toEqual([]);
  });
});
