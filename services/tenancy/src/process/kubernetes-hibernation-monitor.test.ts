import { expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { bareOf, type EnvironmentId, newEnvironmentId } from "@perdure/cloud";
import { type ChangeListener, type MetadataOnly, type ObjectCache, resources } from "@perdure/kubernetes";
import { KubernetesHibernationMonitor } from "./kubernetes-hibernation-monitor.js";

type Change = Parameters<ChangeListener<MetadataOnly>>[1];
type State = "Closing" | "Asleep" | "Waking" | 7 | undefined;

/** A cell whose objects the test changes. */
function aCell() {
  const listeners: ChangeListener<MetadataOnly>[] = [];
  const cache: ObjectCache = {
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
  return { monitor: new KubernetesHibernationMonitor(cache, client), say, closed };
}

test("environments that fall asleep, wake and are deleted are reported once per change until the signal aborts", async () => {
  const { monitor, say, closed } = aCell();
  const id = newEnvironmentId(1, systemRandom);
  const name = `env-${bareOf(id)}`;
  const changedIds: EnvironmentId[] = [];
  const listening = new AbortController();
  monitor.watch((changed) => changedIds.push(changed), { signal: listening.signal });

  const states: unknown[] = [];
  for (const state of [undefined, "Closing", "Asleep", "Asleep", "Waking", undefined] as const) {
    say(name, state);
    states.push([monitor.sleepOf(id), changedIds.length]);
  }
  expect(states).toEqual([
    [undefined, 0],
    ["asleep", 1],
    ["asleep", 1],
    ["asleep", 1],
    ["waking", 2],
    [undefined, 3],
  ]);
  say(name, "Asleep");
  say(name, 7); // Not a state of any operator.
  expect([monitor.sleepOf(id), changedIds.length]).toEqual([undefined, 5]);
  say(name, "Asleep");
  say(name, "Asleep", "deleted");
  expect([monitor.sleepOf(id), changedIds.length]).toEqual([undefined, 7]);
  expect(new Set(changedIds)).toEqual(new Set([id]));

  listening.abort();
  say(name, "Asleep");
  expect([monitor.sleepOf(id), changedIds.length]).toEqual(["asleep", 7]);
  await monitor[Symbol.asyncDispose]();
  expect(closed).toEqual(["client"]);
});

test("objects that are not an environment of an account are ignored", async () => {
  const { monitor, say } = aCell();
  const changedIds: EnvironmentId[] = [];
  monitor.watch((id) => changedIds.push(id), { signal: new AbortController().signal });
  const bare = bareOf(newEnvironmentId(1, systemRandom));
  for (const name of ["production", `env_${bare}`, `env-${bare}x`, bare]) say(name, "Asleep");
  expect(changedIds).toEqual([]);
  await monitor[Symbol.asyncDispose]();
});
