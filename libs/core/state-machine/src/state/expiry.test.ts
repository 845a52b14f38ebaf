/** State with a time to live: when it expires, what postpones that, and that it never disappears beneath a handler. */
import { describe, expect, test } from "@jest/globals";
import type { Effect } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import {
  anId,
  endOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  setStateOf,
  someFacts,
  suspendOf,
} from "../testing/index.js";
import { decodeStateExpiry, STATE_EXPIRY_ROW, STATE_TTL_SERVICE, type StateExpiry, stateExpiryId, stateTimer } from "./expiry.js";

const TTL_MS = 60_000;
const ROUTE = anId(99);

class World extends MemoryPartition {
  /** Objects whose state expired, as the metric counts them. */
  expiredCount = 0;

  constructor(ttlMs: number | "never" = TTL_MS) {
    super();
    this.serviceTtls.set("O", ttlMs);
  }

  override effect(effect: Effect): void {
    if (effect.kind === "stateExpired") this.expiredCount++;
    super.effect(effect);
  }

  start(n: number, handlerType: "exclusive" | "shared" = "exclusive"): void {
    this.play(invokeOf(someFacts({ id: anId(n), target: objectTarget("k", handlerType) })));
  }

  end(n: number, run = 1): void {
    this.play(outputOf(anId(n), run, "done"));
    this.play(endOf(anId(n), run));
  }

  /** A whole invocation that writes `name`. */
  write(n: number, name = "a"): void {
    this.start(n);
    this.play(setStateOf(anId(n), 1, name, "v"));
    this.end(n);
  }

  get keys(): readonly string[] {
    return [...this.stateOf("O", "k").keys()];
  }

  get expiry(): StateExpiry | undefined {
    const row = this.state(STATE_TTL_SERVICE, stateExpiryId("O", "k"), STATE_EXPIRY_ROW);
    return row === undefined ? undefined : decodeStateExpiry(row);
  }

  /** Fires every timer of state that is due, as the processor does. */
  fireDue(): void {
    for (const timer of [...this.timers.values()]) {
      if (timer.kind === "expireState" && timer.dueAtMs <= this.nowMs) this.play({ kind: "timerFired", id: timer.id, timer });
    }
  }

  setTtl(ttlMs: number | undefined): void {
    this.play({ kind: "setStateTtl", id: ROUTE, service: "O", key: "k", ttlMs });
  }

  get isWhole(): boolean {
    return brokenInvariants(this.snapshot()).length === 0;
  }
}

describe("a time to live of a service", () => {
  test("begins when the handler that changed the state ends, and deletes all state of the object", () => {
    const world = new World();
    world.start(1);
    world.play(setStateOf(anId(1), 1, "a", "v"));
    expect(world.expiry).toBeUndefined();
    world.nowMs += 5_000;
    world.end(1);
    expect(world.expiry).toMatchObject({ changedAtMs: 6_000, expiresAtMs: 6_000 + TTL_MS, isOwn: false });
    world.nowMs = 6_000 + TTL_MS - 1;
    world.fireDue();
    expect(world.keys).toEqual(["a"]);
    world.nowMs++;
    world.fireDue();
    expect([world.keys, world.expiry, [...(world.states.get("O/k")?.keys() ?? [])]]).toEqual([[], undefined, []]);
    expect([...world.timers.values()].filter(({ kind }) => kind === "expireState")).toEqual([]);
    expect(world.isWhole).toBe(true);
  });

  test("begins anew with each handler that changes the state, not with one that only reads it", () => {
    const world = new World();
    world.write(1);
    world.nowMs += TTL_MS - 1;
    world.write(2, "b");
    expect(world.expiry?.expiresAtMs).toBe(world.nowMs + TTL_MS);
    world.nowMs += 10;
    world.start(3);
    world.end(3);
    expect(world.expiry?.changedAtMs).toBe(world.nowMs - 10);
    expect([...world.timers.values()].filter(({ kind }) => kind === "expireState")).toHaveLength(1);
  });

  test("does not end beneath a handler that runs or is suspended, but when it ends, before the next one starts", () => {
    const world = new World();
    world.write(1);
    world.start(2);
    world.start(3);
    world.play(suspendOf(anId(2), 1, [7]));
    world.nowMs += TTL_MS * 3;
    world.fireDue();
    expect(world.keys).toEqual(["a"]);
    expect(world.lock("O", "k")).toMatchObject({ holder: anId(2), isStateDue: true });
    world.start(4);
    expect(world.lock("O", "k")).toMatchObject({ isStateDue: true });
    world.play({ kind: "kill", id: anId(2) });
    expect(world.lock("O", "k")).toEqual({ holder: anId(3), head: 1, tail: 2 });
    expect([world.keys, world.expiry]).toEqual([[], undefined]);
    expect(world.isWhole).toBe(true);
  });

  test("is put back when it came due by a clock that was ahead, beneath a handler that ends before its time", () => {
    const world = new World();
    world.write(1);
    world.start(2);
    const startedAtMs = world.nowMs;
    world.nowMs += TTL_MS;
    world.fireDue();
    world.nowMs = startedAtMs + 1_000;
    world.end(2);
    expect([world.keys, world.isWhole]).toEqual([["a"], true]);
    world.nowMs = startedAtMs + TTL_MS;
    world.fireDue();
    expect([world.keys, world.expiry]).toEqual([[], undefined]);
  });

  test("is renewed when the handler beneath which it came due has changed the state", () => {
    const world = new World();
    world.write(1);
    world.start(2);
    world.nowMs += TTL_MS * 3;
    world.fireDue();
    world.play(setStateOf(anId(2), 1, "b", "v"));
    world.end(2);
    expect(world.keys).toEqual(["a", "b"]);
    expect(world.expiry?.expiresAtMs).toBe(world.nowMs + TTL_MS);
  });

  test.each(["exclusive", "shared"] as const)(
    "is over for an %s handler that starts before the timer has fired",
    (handlerType) => {
      const world = new World();
      world.write(1);
      world.nowMs += TTL_MS;
      world.start(2, handlerType);
      expect(world.keys).toEqual([]);
      world.fireDue();
      expect(world.isWhole).toBe(true);
    },
  );

  test("is not over for a shared handler while an exclusive one holds the object", () => {
    const world = new World();
    world.write(1);
    world.start(2);
    world.nowMs += TTL_MS;
    world.start(3, "shared");
    expect(world.keys).toEqual(["a"]);
  });

  test("is over for an edit, which then finds no state and begins it anew", () => {
    const world = new World();
    world.write(1);
    world.nowMs += TTL_MS;
    const entries = [{ key: "b", value: new Uint8Array([1]) }];
    const edit = {
      kind: "mutateState",
      id: ROUTE,
      service: "O",
      key: "k",
      exclusive: true,
      expectedVersion: undefined,
      entries,
    } as const;
    world.play(edit);
    expect([world.keys, world.expiry?.changedAtMs]).toEqual([["b"], world.nowMs]);
    world.start(2);
    world.play({ ...edit, entries: [...entries, { key: "c", value: new Uint8Array([2]) }] });
    world.nowMs += 1_000;
    world.end(2);
    expect([world.keys, world.expiry?.changedAtMs]).toEqual([["b", "c"], world.nowMs]);
  });

  test("that is longer by now, or gone, keeps state that comes due", () => {
    const world = new World();
    world.write(1);
    world.serviceTtls.set("O", TTL_MS * 2);
    world.nowMs += TTL_MS;
    world.fireDue();
    expect([world.keys, world.expiry?.expiresAtMs]).toEqual([["a"], 1_000 + TTL_MS * 2]);
    world.serviceTtls.set("O", "never");
    world.nowMs += TTL_MS;
    world.fireDue();
    expect([world.keys, world.expiry]).toEqual([["a"], undefined]);
  });

  test("holds for objects of a service that was removed", () => {
    const world = new World();
    world.write(1);
    world.serviceTtls.set("O", "unknown");
    world.nowMs += TTL_MS;
    world.fireDue();
    expect(world.keys).toEqual([]);
  });

  test("is counted once for each object whose state expires, however many entries it has", () => {
    const world = new World();
    world.write(1, "a");
    world.write(2, "b");
    world.serviceTtls.set("O", TTL_MS * 2);
    world.nowMs += TTL_MS;
    world.fireDue(); // It is put back.
    world.setTtl(TTL_MS);
    expect([world.keys, world.expiredCount]).toEqual([["a", "b"], 0]);
    world.nowMs += TTL_MS;
    world.fireDue();
    world.fireDue();
    world.start(3);
    expect([world.keys, world.expiredCount]).toEqual([[], 1]);
    world.end(3);
    world.setTtl(TTL_MS); // The object has no state.
    world.nowMs += TTL_MS;
    world.fireDue();
    expect([world.expiry, world.expiredCount]).toEqual([undefined, 1]);
  });

  test("costs nothing where there is none", () => {
    const world = new World("never");
    world.write(1);
    expect(world.states.has(`${STATE_TTL_SERVICE}/${stateExpiryId("O", "k")}`)).toBe(false);
    expect([...world.timers.values()].map(({ kind }) => kind)).toEqual(["purge"]);
  });
});

describe("a time to live of one object", () => {
  test("begins when it is set, and anew with each change", () => {
    const world = new World("never");
    world.write(1);
    world.setTtl(1_000);
    expect(world.expiry).toMatchObject({ ttlMs: 1_000, isOwn: true, expiresAtMs: 2_000 });
    world.nowMs += 500;
    world.write(2);
    expect(world.expiry?.expiresAtMs).toBe(2_500);
    world.nowMs = 2_500;
    world.fireDue();
    expect([world.keys, world.expiry]).toEqual([[], undefined]);
    world.write(3);
    expect(world.expiry).toBeUndefined();
  });

  test("goes before that of the service until it is removed", () => {
    const world = new World();
    world.write(1);
    world.setTtl(1_000);
    world.setTtl(undefined);
    expect(world.expiry).toMatchObject({ ttlMs: TTL_MS, isOwn: false });
    const never = new World("never");
    never.write(1);
    never.setTtl(1_000);
    never.setTtl(undefined);
    expect([never.expiry, never.keys]).toEqual([undefined, ["a"]]);
  });

  test("that is set beneath a handler spares state that was due", () => {
    const world = new World();
    world.write(1);
    world.start(2);
    world.nowMs += TTL_MS;
    world.fireDue();
    world.setTtl(1_000);
    world.end(2);
    expect([world.keys, world.expiry?.expiresAtMs]).toEqual([["a"], world.nowMs + 1_000]);
    expect(world.isWhole).toBe(true);
  });
});

test("the timer of an object is in the object's partition, and keys may have spaces", () => {
  const world = new World();
  world.serviceTtls.set("O", TTL_MS);
  world.play({ kind: "setStateTtl", id: ROUTE, service: "O@scope", key: " k  1 ", ttlMs: 5_000 });
  const row = world.state(STATE_TTL_SERVICE, stateExpiryId("O@scope", " k  1 "), STATE_EXPIRY_ROW);
  expect(row === undefined ? undefined : decodeStateExpiry(row)).toMatchObject({ key: " k  1 ", ttlMs: 5_000 });
  const timer = stateTimer({ service: "O", key: "k", expiresAtMs: 1, changedAtMs: 0, ttlMs: 1, isOwn: false });
  expect(timer.id).toBe(stateExpiryId("O", "k"));
});
