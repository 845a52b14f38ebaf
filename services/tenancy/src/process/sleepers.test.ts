import { expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { bareOf, type EnvironmentId, newEnvironmentId } from "@perdure/cloud";
import { type ChangeListener, type ObjectCache, resources } from "@perdure/driver-kubernetes";
import { type SleeperObject, WatchedSleepers } from "./sleepers.js";

type Change = Parameters<ChangeListener<SleeperObject>>[1];
type State = "Closing" | "Asleep" | "Waking" | undefined;

/** A cell in which a test says what happens. */
function aCell() {
  const listeners: ChangeListener<SleeperObject>[] = [];
  const cache: ObjectCache<SleeperObject> = {
    resource: resources.environments,
    synced: Promise.resolve(),
    isSynced: true,
    size: 0,
    get: () => undefined,
    values: () => [],
    onChange: (listener) => void listeners.push(listener),
    run: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
  };
  const say = (name: string, state: State, change: Change = "changed"): void => {
    const object = { metadata: { name }, ...(state === undefined ? {} : { status: { hibernation: { state } } }) };
    for (const listener of listeners) listener(object, change);
  };
  const closed: string[] = [];
  const client = { [Symbol.asyncDispose]: async () => void closed.push("client") };
  return { sleepers: new WatchedSleepers(cache, client), say, closed };
}

test("who falls asleep, wakes and is gone is known, and told once for each change until nobody listens", async () => {
  const { sleepers, say, closed } = aCell();
  const id = newEnvironmentId(1, systemRandom);
  const name = `env-${bareOf(id)}`;
  const told: EnvironmentId[] = [];
  const listening = new AbortController();
  sleepers.watch((changed) => told.push(changed), { signal: listening.signal });

  const seen: unknown[] = [];
  for (const state of [undefined, "Closing", "Asleep", "Asleep", "Waking", undefined] as const) {
    say(name, state);
    seen.push([sleepers.sleepOf(id), told.length]);
  }
  expect(seen).toEqual([
    [undefined, 0],
    ["asleep", 1],
    ["asleep", 1],
    ["asleep", 1],
    ["waking", 2],
    [undefined, 3],
  ]);
  say(name, "Asleep");
  say(name, "Asleep", "deleted");
  expect([sleepers.sleepOf(id), told.length]).toEqual([undefined, 5]);
  expect(new Set(told)).toEqual(new Set([id]));

  listening.abort();
  say(name, "Asleep");
  expect([sleepers.sleepOf(id), told.length]).toEqual(["asleep", 5]);
  await sleepers[Symbol.asyncDispose]();
  expect(closed).toEqual(["client"]);
});

test("objects that are no account's environments are nobody's sleep", async () => {
  const { sleepers, say } = aCell();
  const told: EnvironmentId[] = [];
  sleepers.watch((id) => told.push(id), { signal: new AbortController().signal });
  const bare = bareOf(newEnvironmentId(1, systemRandom));
  for (const name of ["production", `env_${bare}`, `env-${bare}x`, bare]) say(name, "Asleep");
  expect(told).toEqual([]);
  await sleepers[Symbol.asyncDispose]();
});
