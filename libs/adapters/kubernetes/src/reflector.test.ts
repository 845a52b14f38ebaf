import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { KubernetesApiError } from "./api-error.js";
import type { KubernetesClient } from "./client.js";
import { RELIST_FIRST_MS, RELIST_LONGEST_MS, WATCH_SHORT_MS } from "./limits.js";
import { Reflector } from "./reflector.js";
import { resources } from "./resource.js";

const nextTicks = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
};

/** `watch` is what each watch does before it ends in peace. */
function aReflector(watch: (clock: VirtualClock) => void) {
  const clock = new VirtualClock();
  const requests: string[] = [];
  const client = {
    list: async () => {
      requests.push("list");
      return { items: [], resourceVersion: "1" };
    },
    watch: async () => {
      await new Promise((resolve) => setImmediate(resolve)); // An answer never comes at once.
      requests.push("watch");
      watch(clock);
      return new ReadableStream<Uint8Array>({ start: (stream) => stream.close() });
    },
  } as unknown as KubernetesClient;
  const ports = { client, clock, random: new SeededRandom(1), logger: silentLogger };
  const reflector = new Reflector({ resource: resources.pods }, ports);
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  const end = (): Promise<void> => {
    stop.abort();
    return running;
  };
  return { clock, requests, end };
}

test("watches that end as soon as they begin are requested again with growing delays", async () => {
  const { clock, requests, end } = aReflector(() => {});
  const pauses: number[] = [];
  for (let count = 1; count <= 8; count++) {
    await nextTicks();
    expect(requests).toEqual(["list", ...Array<string>(count).fill("watch")]);
    const dueMs = clock.nextDueMs ?? 0;
    pauses.push(dueMs - clock.nowMs());
    clock.advanceTo(dueMs);
  }
  expect(pauses[0]).toBeGreaterThanOrEqual(RELIST_FIRST_MS / 2);
  expect(pauses[3]).toBeGreaterThan(pauses[0] ?? 0);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(RELIST_LONGEST_MS);
  await end();
});

test("a watch that ended after a while is requested again at once", async () => {
  let count = 0;
  const { clock, requests, end } = aReflector((now) => {
    if (++count < 4) now.advanceBy(WATCH_SHORT_MS);
  });
  await nextTicks();
  expect(requests).toEqual(["list", "watch", "watch", "watch", "watch"]);
  expect(clock.nowMs()).toBe(new VirtualClock().nowMs() + 3 * WATCH_SHORT_MS);
  await end();
});

test("what is expired is listed again at once, and what stays expired later and later", async () => {
  const { clock, requests, end } = aReflector(() => {
    throw new KubernetesApiError("watch pods", 410, "{}");
  });
  for (let count = 2; count <= 5; count++) {
    await nextTicks();
    expect(requests).toEqual(Array.from({ length: count }, () => ["list", "watch"]).flat());
    clock.advanceTo(clock.nextDueMs ?? 0);
  }
  await end();
});

test("an object that cannot be read is logged, keeps its earlier state, and does not hold up the others", async () => {
  const clock = new VirtualClock();
  const anObject = (name: string, version: string, replicas: unknown) => ({
    metadata: { name, resourceVersion: version },
    spec: { replicas },
  });
  const events = [
    { type: "MODIFIED", object: anObject("a", "2", "three") },
    { type: "MODIFIED", object: anObject("b", "3", 4) },
  ];
  const text = `${events.map((event) => JSON.stringify(event)).join("\n")}\n`;
  const client = {
    list: async () => ({
      items: [anObject("a", "1", 1), anObject("b", "1", 1), anObject("c", "1", "one")],
      resourceVersion: "1",
    }),
    watch: async () => new Blob([text]).stream(),
  } as unknown as KubernetesClient;
  const errors: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: unknown) => void errors.push(fields) };
  type Sized = ReturnType<typeof anObject> & { readonly spec: { readonly replicas: number } };
  const isSized = (object: object): object is Sized => typeof (object as Sized).spec.replicas === "number";
  const parse = (object: object): Sized | undefined => (isSized(object) ? object : undefined);
  const reflector = new Reflector<Sized>(
    { resource: resources.pods, parse },
    { client, clock, random: new SeededRandom(1), logger },
  );
  const stop = new AbortController();
  const changed = new Promise<void>((resolve) => reflector.onChange((_, change) => change === "changed" && resolve()));
  const running = reflector.run(stop.signal);
  await changed;
  stop.abort();
  await running;
  expect([...reflector.values()].map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([
    ["a", 1],
    ["b", 4],
  ]);
  expect(errors.slice(0, 2)).toEqual([
    { kind: "Pod", key: "c" },
    { kind: "Pod", key: "a" },
  ]);
});
