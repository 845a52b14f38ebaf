/** Rules about how often the invocations of a handler start, from the management API to the data path. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { aWireService } from "./testing/index.js";
import { overrides, RegistryWorld } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const rulesOf = (handler: string) => {
  const view = world.registry.current().services.get("Cart")?.handlers.get(handler);
  return [view?.debounce, view?.throttle];
};

test("they are set by hand for one handler, kept by later registrations, and removed with off", async () => {
  const endpoint = await world.endpointOf([aWireService("Cart", ["add", "send"], { ty: "VIRTUAL_OBJECT" })]);
  await world.register(endpoint.uri);
  expect(rulesOf("add")).toEqual([undefined, undefined]);
  await world.registry.modifyService("Cart", overrides({ debounce: { add: "5s" }, throttle: { send: "1m;limit=3" } }));
  expect([rulesOf("add"), rulesOf("send")]).toEqual([
    ["5s", undefined],
    [undefined, "1m;limit=3"],
  ]);
  await world.register(endpoint.uri, { force: true });
  expect(rulesOf("add")).toEqual(["5s", undefined]);
  await world.registry.modifyService("Cart", overrides({ debounce: { add: "off" }, throttle: { add: "1s" } }));
  expect([rulesOf("add"), rulesOf("send")]).toEqual([
    [undefined, "1s"],
    [undefined, "1m;limit=3"],
  ]);
});

test("a revision without the handler does not have its rule", async () => {
  const first = await world.endpointOf([aWireService("Cart", ["add", "send"])]);
  await world.register(first.uri);
  await world.registry.modifyService("Cart", overrides({ throttle: { add: "1s", send: "1m" } }));
  const second = await world.endpointOf([aWireService("Cart", ["send"])]);
  await world.register(second.uri, { breaking: true });
  expect(world.registry.service("Cart")?.revision.overrides.throttle).toEqual({ send: "1m" });
});

test.each([
  [{ debounce: { nope: "5s" } }, "the service 'Cart' has no handler 'nope'"],
  [
    { debounce: { add: "5s" }, throttle: { add: "1m" } },
    "the handler 'add' cannot have a debounce and a throttle: set one of them to null",
  ],
])("%j is refused, and nothing is changed", async (changes, message) => {
  await world.register((await world.endpointOf([aWireService("Cart", ["add"])])).uri);
  await expect(world.registry.modifyService("Cart", overrides(changes))).rejects.toMatchObject({ status: 400, message });
  expect(rulesOf("add")).toEqual([undefined, undefined]);
});
