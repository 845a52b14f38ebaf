/** Sources of the clusters and the options of a subscription. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { aWireService, createTestRegistry } from "./testing/index.js";
import { RegistryWorld } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe("Kafka", () => {
  test("clusters of the server's settings are shown, used, and not changed here", async () => {
    world.registry = await createTestRegistry({
      options: { kafkaClusters: new Map([["fixed", { "bootstrap.servers": "b:1" }]]) },
    });
    await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    expect(world.registry.kafkaClusters().map(({ name }) => name)).toEqual(["fixed"]);
    for (const change of [
      world.registry.updateKafkaCluster("fixed", { "bootstrap.servers": "x" }),
      world.registry.removeKafkaCluster("fixed", true),
      world.registry.createKafkaCluster("fixed", { "bootstrap.servers": "x" }),
    ]) {
      await expect(change).rejects.toMatchObject({ status: 409 });
    }
    expect(await world.registry.createSubscription("kafka://fixed/t", "service://S/h", {})).toMatchObject({
      source: "kafka://fixed/t",
    });
  });

  test("group and client id of a subscription come from its options, from the cluster, or are generated", async () => {
    await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    await world.registry.createKafkaCluster("plain", { "bootstrap.servers": "b" });
    await world.registry.createKafkaCluster("named", { "bootstrap.servers": "b", "group.id": "g", "client.id": "c" });
    const made = await world.registry.createSubscription("kafka://plain/t", "service://S/h", {});
    expect(made.options).toEqual({ "group.id": made.id, "client.id": "restate" });
    expect((await world.registry.createSubscription("kafka://named/t", "service://S/h", {})).options).toEqual({
      "group.id": "g",
    });
    const own = { "group.id": "o", "client.id": "p" };
    expect((await world.registry.createSubscription("kafka://named/t", "service://S/h", own)).options).toEqual(own);
  });
});
