/** No way into the registry makes it larger than the plan allows. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createMemoryMetadataStore, emptyMemoryMetadata } from "@perdure/metadata";
import { SERVICE_DEFAULTS } from "./defaults.js";
import { aManifest, aRegisterRequest, aWireService, createTestRegistry } from "./testing/index.js";
import { overrides, RegistryWorld, signal } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe("what the plan allows", () => {
  const bounds = { deploymentsMax: 2, servicesMax: 3, subscriptionsMax: 1 };
  const full = (what: string) => ({ status: 403, code: "TEN0002", message: expect.stringContaining(what) });

  test("no more deployments and services than that, by whatever way; replacing is not an addition", async () => {
    world.registry = await createTestRegistry({ options: { bounds } });
    const first = await world.endpointOf([aWireService("A", ["h"]), aWireService("B", ["h"])]);
    const { deployment } = await world.register(first.uri);
    const big = await world.endpointOf([aWireService("C", ["h"]), aWireService("D", ["h"])]);
    await expect(world.register(big.uri, { dryRun: true })).rejects.toMatchObject(full("3 services"));
    await world.register((await world.endpointOf([aWireService("A", ["h"]), aWireService("C", ["h"])])).uri);
    const third = await world.endpointOf([aWireService("A", ["h"])]);
    await expect(world.register(third.uri)).rejects.toMatchObject(full("2 deployments"));

    first.say({ body: aManifest([aWireService("A", ["h"]), aWireService("B", ["h"]), aWireService("E", ["h"])]) });
    await expect(world.register(first.uri, { force: true })).rejects.toMatchObject(full("3 services"));
    const update = { address: undefined, additionalHeaders: {}, overwrite: true, dryRun: false };
    await expect(world.registry.update(deployment.id, update, signal)).rejects.toMatchObject(full("3 services"));
    first.say({ body: aManifest([aWireService("A", ["h"]), aWireService("E", ["h"])]) });
    expect((await world.register(first.uri, { force: true })).kind).toBe("replaced");
    await world.registry.remove(deployment.id, true);
    await world.register(third.uri);
  });

  test("no more subscriptions, and those present under a smaller plan stay", async () => {
    const memory = emptyMemoryMetadata();
    const before = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    await before.createKafkaCluster("k", { "bootstrap.servers": "b:1" });
    for (const name of ["A", "B", "C", "D"]) {
      await before.register(aRegisterRequest((await world.endpointOf([aWireService(name, ["h"])])).uri), signal);
      await before.createSubscription("kafka://k/t", `service://${name}/h`, {});
    }
    world.registry = await createTestRegistry({ metadata: createMemoryMetadataStore(memory), options: { bounds } });
    await expect(world.registry.createSubscription("kafka://k/u", "service://A/h", {})).rejects.toMatchObject(
      full("1 subscriptions"),
    );
    expect([world.registry.deployments().length, world.registry.subscriptions().length]).toEqual([4, 4]);
    const [one] = world.registry.deployments();
    if (one?.address.kind !== "http") throw new Error("there is no deployment");
    expect((await world.register(one.address.uri, { force: true })).kind).toBe("replaced");
  });

  test("nothing is kept of a completed invocation for longer", async () => {
    const defaults = { ...SERVICE_DEFAULTS, retentionMaxMs: 5_000 };
    world.registry = await createTestRegistry({ options: { defaults } });
    const day = 86_400_000;
    const handlers = [{ name: "run", ty: "WORKFLOW", workflowCompletionRetention: day }];
    const workflow = { name: "W", ty: "WORKFLOW", handlers, journalRetention: day };
    const service = aWireService("S", ["h"], { idempotencyRetention: day });
    await world.register((await world.endpointOf([workflow, service])).uri);
    const kept = { workflowRetentionMs: 5_000, journalRetentionMs: 5_000 };
    expect(world.registry.current().services.get("S")?.handlers.get("h")?.idempotencyRetentionMs).toBe(5_000);
    expect(world.registry.current().services.get("W")?.handlers.get("run")).toMatchObject(kept);
    await world.registry.modifyService("W", overrides({ workflowCompletionRetentionMs: day }));
    expect(world.registry.current().services.get("W")?.handlers.get("run")).toMatchObject(kept);
    const located = world.registry.service("W");
    expect(located && world.registry.effective(located)).toMatchObject({
      workflowCompletionRetentionMs: 5_000,
      notices: [{ code: "RT0022" }],
    });
  });
});
