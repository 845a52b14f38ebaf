import { describe, expect, test } from "@jest/globals";
import { type Clock, PerdureError, silentLogger } from "@perdure/base";
import { followChanges } from "./follow.js";

/** Timers fire on the next turn of the event loop. */
const hasty: Clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  setTimer(_delayMs, fire) {
    const immediate = setImmediate(fire);
    return { cancel: () => clearImmediate(immediate) };
  },
};

/** A database that counts its changes by prefix and can be away. */
class FakeStore {
  readonly changes = new Map<string, number>();
  isAway = false;
  #listener: () => void = () => undefined;

  onChange(listener: () => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = () => undefined;
    };
  }
  async stamp(prefix: string): Promise<string> {
    if (this.isAway) throw new PerdureError("STO0001", "away");
    return String(this.changes.get(prefix) ?? 0);
  }
  write(prefix: string): void {
    this.changes.set(prefix, (this.changes.get(prefix) ?? 0) + 1);
    this.#listener();
  }
}

const nextTick = () => new Promise<void>((resolve) => setTimeout(resolve, 20));

function follow(store: FakeStore) {
  const reloads = { a: 0, b: 0 };
  const followed = [
    { prefix: "a/", reload: async () => void reloads.a++ },
    { prefix: "b/", reload: async () => void reloads.b++ },
  ];
  return { reloads, following: followChanges({ store, clock: hasty, logger: silentLogger }, followed) };
}

describe("following what others write", () => {
  test("reads again what changed, and nothing else", async () => {
    const store = new FakeStore();
    const { reloads, following } = follow(store);
    store.write("a/");
    await nextTick();
    expect(reloads).toEqual({ a: 1, b: 1 }); // At first everything must be read.
    store.write("a/");
    await nextTick();
    expect(reloads).toEqual({ a: 2, b: 1 });
    store.write("b/");
    await nextTick();
    expect(reloads).toEqual({ a: 2, b: 2 });
    await following[Symbol.asyncDispose]();
  });

  test("continues trying while the database is away", async () => {
    const store = new FakeStore();
    const { reloads, following } = follow(store);
    store.isAway = true;
    store.write("a/");
    await nextTick();
    expect(reloads.a).toBe(0);
    store.isAway = false;
    await nextTick();
    expect(reloads.a).toBe(1);
    await following[Symbol.asyncDispose]();
  });

  test("stops when it is disposed of, also in the middle of waiting", async () => {
    const store = new FakeStore();
    const { reloads, following } = follow(store);
    store.isAway = true;
    store.write("a/");
    await following[Symbol.asyncDispose]();
    store.isAway = false;
    store.write("a/");
    await nextTick();
    expect(reloads.a).toBe(0);
  });
});
