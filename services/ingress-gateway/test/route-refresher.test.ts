/** Registrations that the registry has confirmed and this gateway has not received yet. */
import { describe, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import { VirtualClock } from "@perdure/testkit";
import { REFRESH_PAUSE_MS_MIN } from "../src/limits.js";
import { RouteRefresher } from "../src/route-refresher.js";
import { aHandler, aRegistry } from "../src/testing/index.js";
import { bothProtocols, openClient } from "./client.js";
import { startIngress, success } from "./fixture.js";

const snapshotWith = (handler: string, isPublic = true): RegistrySnapshot =>
  aRegistry({ S: { type: "service", handlers: [aHandler("S", handler, { public: isPublic })] } }).current();

const json = { "content-type": "application/json" };

describe.each(bothProtocols)("a request over %s for what this gateway does not know", (http) => {
  test("is served when a registry has it", async () => {
    const registry = aRegistry({});
    const readRegistries = async () => [registry.current(), snapshotWith("h")];
    await using fixture = await startIngress({ registry, ports: { readRegistries } });
    await using client = openClient(http, fixture.port);
    for (const path of ["/S/h", "/restate/call/S/h", "/S/h/send"]) {
      expect((await client.send({ path, headers: json, body: "1" })).status).toBeLessThan(300);
    }
    expect(fixture.partitions.invoked).toHaveLength(3);
  });

  test("is refused as before when no registry has it, or none can be reached", async () => {
    let snapshots: readonly RegistrySnapshot[] = [snapshotWith("h")];
    await using fixture = await startIngress({ registry: aRegistry({}), ports: { readRegistries: async () => snapshots } });
    await using client = openClient(http, fixture.port);
    const refused = { status: 404, text: expect.stringContaining("service 'T' not found") };
    expect(await client.send({ path: "/T/h", headers: json, body: "1" })).toMatchObject(refused);
    snapshots = [];
    expect(await client.send({ path: "/T/h", headers: json, body: "1" })).toMatchObject(refused);
  });
});

test("a handler that was added or made public since is found, too", async () => {
  const registry = { current: () => snapshotWith("old", false), onChange: () => () => undefined };
  let snapshot = snapshotWith("new");
  await using fixture = await startIngress({ registry, ports: { readRegistries: async () => [snapshot] } });
  await using client = openClient("http/1.1", fixture.port);
  expect((await client.send({ path: "/S/new", headers: json, body: "1" })).status).toBe(200);
  expect((await client.send({ path: "/S/old", headers: json, body: "1" })).status).toBe(400);
  snapshot = snapshotWith("old");
  expect((await client.send({ path: "/S/old", headers: json, body: "1" })).status).toBe(200);
});

test.each(["/S/key/h", "/restate/call/S/key/h", "/restate/invocation/S/key/h/i/output"])(
  "a service whose new revision has another type is called by its new path %s",
  async (path) => {
    const asObject = aRegistry({ S: { type: "virtualObject", handlers: [aHandler("S", "h")] } }).current();
    let snapshot = snapshotWith("h");
    await using fixture = await startIngress({
      registry: aRegistry({ S: { type: "service", handlers: [aHandler("S", "h")] } }),
      ports: { readRegistries: async () => [snapshot] },
    });
    await using client = openClient("http/1.1", fixture.port);
    const isResult = path.endsWith("output");
    const request = isResult ? { method: "GET", path } : { path, headers: json, body: "1" };
    expect((await client.send(request)).status).toBe(400);
    snapshot = asObject;
    expect((await client.send(request)).status).toBe(isResult ? 404 : 200); // Nothing was invoked with that idempotency key.
  },
);

test("results are found by path and by body when only a registry has the service", async () => {
  const registry = aRegistry({ S: { type: "service", handlers: [aHandler("S", "h")] } });
  let snapshots: readonly RegistrySnapshot[] = [registry.current()];
  await using fixture = await startIngress({ registry, ports: { readRegistries: async () => snapshots } });
  await using client = openClient("http/1.1", fixture.port);
  const sent = await client.send({ path: "/S/h/send", headers: { ...json, "idempotency-key": "i" }, body: "1" });
  const { invocationId } = JSON.parse(sent.text) as { invocationId: InvocationId };
  fixture.partitions.complete(invocationId, success("x"));
  registry.replace(new Map()); // This gateway has not received the service.
  const body = JSON.stringify({ target: "idempotentInvocation", service: "S", handler: "h", idempotencyKey: "i" });
  const requests = [
    { path: "/restate/attach", body },
    { path: "/restate/output", body },
    { method: "GET", path: `/restate/attach/${invocationId}` },
    { method: "GET", path: `/restate/output/${invocationId}` },
  ];
  for (const request of requests) expect(await client.send(request)).toMatchObject({ status: 200, text: "x" });
  snapshots = [];
  for (const request of requests) expect((await client.send(request)).status).toBe(404);
});

test("paths that no registration makes valid read no registry", async () => {
  let readings = 0;
  const readRegistries = async () => {
    readings++;
    return [];
  };
  await using fixture = await startIngress({ ports: { readRegistries } });
  await using client = openClient("http/1.1", fixture.port);
  for (const path of ["/restate/nothing", "/openapi/x", "/Greeter", "/restate/call"]) {
    expect((await client.send({ path })).status).toBeGreaterThanOrEqual(400);
  }
  expect(readings).toBe(0);
});

describe("readings of the registries", () => {
  /** Each reading waits until the test ends it. */
  function held(clock: VirtualClock) {
    const readings: ((snapshots: readonly RegistrySnapshot[]) => void)[] = [];
    const routes = new RouteRefresher(() => new Promise((resolve) => readings.push(resolve)), clock);
    return { readings, routes };
  }
  const turns = () => new Promise((resolve) => setImmediate(resolve));

  test("are shared by requests that arrive before one begins, and never by those that arrive after", async () => {
    const clock = new VirtualClock();
    const { readings, routes } = held(clock);
    const early = [routes.routeOf("/S/h"), routes.routeOf("/S/h")];
    await turns();
    expect(readings).toHaveLength(1);
    // Registered while the first reading is on its way: only a later reading is sure to have it.
    const pending = routes.routeOf("/S/h");
    readings[0]?.([]);
    expect(await Promise.all(early)).toEqual([undefined, undefined]);
    await turns();
    expect(readings).toHaveLength(1);
    clock.advanceBy(REFRESH_PAUSE_MS_MIN);
    await turns();
    expect(readings).toHaveLength(2);
    readings[1]?.([snapshotWith("h")]);
    expect(await pending).toMatchObject({ kind: "invoke" });
  });

  test("follow each other at ten times their duration, however many requests arrive", async () => {
    const clock = new VirtualClock();
    const { readings, routes } = held(clock);
    const request = async (): Promise<void> => {
      void routes.routeOf("/S/h");
      await turns();
    };
    await request();
    clock.advanceBy(100); // Duration of the first one.
    readings[0]?.([]);
    await turns();
    for (let n = 0; n < 8; n++) {
      await request();
      clock.advanceBy(100);
      await turns();
    }
    expect(readings).toHaveLength(1);
    clock.advanceBy(100);
    await turns();
    expect(readings).toHaveLength(2);
  });
});
