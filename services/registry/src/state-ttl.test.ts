/** The time to live of the state of a service's objects, from the management API to the data path. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { aWireService } from "./testing/index.js";
import { overrides, RegistryWorld } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const ttlOnDataPath = (): number | undefined => world.registry.current().services.get("Cart")?.stateTtlMs;

test("it is set by hand, kept by later registrations, and turned off with 0", async () => {
  const endpoint = await world.endpointOf([aWireService("Cart", ["add"], { ty: "VIRTUAL_OBJECT" })]);
  await world.register(endpoint.uri);
  expect(ttlOnDataPath()).toBeUndefined();
  await world.registry.modifyService("Cart", overrides({ stateTtlMs: 5_000, public: false }));
  expect(ttlOnDataPath()).toBe(5_000);
  await world.register(endpoint.uri, { force: true });
  expect(ttlOnDataPath()).toBe(5_000);
  const located = world.registry.service("Cart");
  expect(located && world.registry.effective(located)).toMatchObject({ stateTtlMs: 5_000, public: true });
  await world.registry.modifyService("Cart", overrides({ stateTtlMs: 0 }));
  expect(ttlOnDataPath()).toBeUndefined();
});

test("it is refused for services that are not virtual objects", async () => {
  await world.register((await world.endpointOf([aWireService("P", ["h"])])).uri);
  const refused = world.registry.modifyService("P", overrides({ stateTtlMs: 5_000 }));
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining("virtual objects only") });
});
