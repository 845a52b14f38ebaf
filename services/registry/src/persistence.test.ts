/** Data that a registry stored is loaded by the next one, and by others beside it on the same store. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { createMemoryMetadataStore, emptyMemoryMetadata, type MetadataStore } from "@perdure/metadata";
import type { RegistryRole } from "./registry.js";
import { aRegisterRequest, aRuleChange, aWireService, createTestRegistry, type TestRegistrySetup } from "./testing/index.js";
import { overrides, RegistryWorld, signal } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe("storage", () => {
  async function reopened(setup: TestRegistrySetup): Promise<RegistryRole> {
    return createTestRegistry(setup);
  }

  test("everything is there again after a restart", async () => {
    const memory = emptyMemoryMetadata();
    world.registry = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    const schema = { type: "object" };
    const services = [
      aWireService("S", []),
      { name: "T", ty: "SERVICE", handlers: [{ name: "h", input: { jsonSchema: schema } }] },
    ];
    const first = await world.register((await world.endpointOf(services)).uri, { metadata: { a: "b" } });
    await world.register((await world.endpointOf([aWireService("S", ["more"])])).uri);
    await world.registry.modifyService("S", overrides({ abortTimeoutMs: 77 }));
    await world.registry.createKafkaCluster("k", { "bootstrap.servers": "b:1" });
    const subscription = await world.registry.createSubscription("kafka://k/t", "service://S/more", {});
    await world.registry.putRules([
      aRuleChange({ pattern: "*", concurrency: 5 }),
      aRuleChange({ pattern: "*/*", rate: { limit: 10, periodMs: 1000, burst: 3 }, weight: 2, priority: 1 }),
    ]);
    const again = await reopened({ metadata: createMemoryMetadataStore(memory) });
    expect(again.deployments()).toEqual(world.registry.deployments());
    expect(again.deployment(first.deployment.id)).toEqual(first.deployment);
    expect(again.current()).toEqual(world.registry.current());
    expect(again.service("S")?.revision).toMatchObject({ revision: 2, overrides: { abortTimeoutMs: 77 } });
    expect(again.kafkaClusters()).toEqual(world.registry.kafkaClusters());
    expect(again.subscriptions()).toEqual([subscription]);
    expect(again.rules()).toEqual(world.registry.rules());
  });

  test("two processes on one store see each other's changes and never use the same revision", async () => {
    const memory = emptyMemoryMetadata();
    world.registry = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    const other = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    const { deployment } = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    // `other` has not received the deployment: before it refuses, it checks whether it is behind.
    await other.modifyService("S", overrides({ inactivityTimeoutMs: 9 }));
    await world.registry.modifyService("S", overrides({ abortTimeoutMs: 1 }));
    // `other` still has the older version of the document: its write conflicts, it reloads and decides again.
    const modified = await other.modifyService("S", overrides({ public: false }));
    expect(modified.revision.overrides).toMatchObject({ inactivityTimeoutMs: 9, abortTimeoutMs: 1, public: false });
    await other.remove(deployment.id, true);
    await world.registry.reload();
    expect(world.registry.deployments()).toEqual([]);
  });

  test("two processes that decide at the same moment never both get what only one can have", async () => {
    const memory = emptyMemoryMetadata();
    const both = await Promise.all([1, 2].map(() => createTestRegistry({ metadata: createMemoryMetadataStore(memory) })));
    const [one, two] = both as [RegistryRole, RegistryRole];
    const requestOf = async (name: string) => aRegisterRequest((await world.endpointOf([aWireService(name, ["h"])])).uri);

    const same = await requestOf("S");
    const outcomes = await Promise.allSettled([one.register(same, signal), two.register(same, signal)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { status: 409, code: "META0004" } });

    const requests = await Promise.all(Array.from({ length: 12 }, () => requestOf("S")));
    await Promise.all(requests.map((request, n) => (both[n % 2] as RegistryRole).register(request, signal)));
    await Promise.all(both.map((each) => each.reload()));
    const revisions = one.deployments().flatMap(({ services }) => services.map(({ revision }) => revision));
    expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, n) => n + 1));
    expect(two.deployments()).toEqual(one.deployments());

    await one.createKafkaCluster("k", { "bootstrap.servers": "b:1" });
    const { id } = await two.createSubscription("kafka://k/t", "service://S/h", {});
    await one.pauseSubscription(id, true);
    await two.pauseSubscription(id, false); // It had not received the pause.
    expect(two.subscription(id)?.paused).toBe(false);
    await one.removeSubscription(id);
    const [made, gone] = await Promise.allSettled([
      two.createSubscription("kafka://k/t", "service://S/h", {}),
      one.removeKafkaCluster("k", false),
    ]);
    expect([made.status, gone.status].sort()).toEqual(["fulfilled", "rejected"]); // No subscription without its cluster.
  });

  test("a write that fails changes nothing, and the next one works", async () => {
    const store = createMemoryMetadataStore();
    let isBroken = false;
    const flaky: MetadataStore = {
      ...store,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      write: (writes) => (isBroken ? Promise.reject(new PerdureError("STO0001", "disk full")) : store.write(writes)),
    };
    world.registry = await createTestRegistry({ metadata: flaky });
    isBroken = true;
    await expect(world.registry.createKafkaCluster("k", { "bootstrap.servers": "b" })).rejects.toMatchObject({ code: "STO0001" });
    expect(world.registry.kafkaClusters()).toEqual([]);
    isBroken = false;
    await world.registry.createKafkaCluster("k", { "bootstrap.servers": "b" });
    expect(world.registry.kafkaClusters()).toHaveLength(1);
  });

  test.each([
    ["a deployment without services", "registry/deployment/dp_x", { id: "dp_14pRvKO3JzniV4tg6GOFKOl" }],
    ["a deployment with a bad id", "registry/deployment/dp_x", { id: "dp_x" }],
    ["an unknown kind of document", "registry/secret/x", {}],
    ["a damaged rule book", "registry/rule-book", { version: -1, rules: [] }],
    ["a damaged cluster", "registry/kafka-cluster/k", { name: "" }],
    ["a damaged subscription", "registry/subscription/s", { id: "sub_1" }],
  ])("META0005: %s stops the start", async (_what, key, value) => {
    const store = createMemoryMetadataStore();
    await store.write([{ kind: "put", key, value, expectedVersion: undefined }]);
    await expect(createTestRegistry({ metadata: store })).rejects.toMatchObject({
      code: "META0005",
      message: expect.stringContaining(key),
    });
  });

  test("META0005: what the store itself cannot read stops the start too; its other failures stay what they are", async () => {
    const failing = (code: "STO0003" | "STO0001"): MetadataStore => ({
      ...createMemoryMetadataStore(),
      async [Symbol.asyncDispose]() {},
      list: () => Promise.reject(new PerdureError(code, "unreadable")),
    });
    await expect(createTestRegistry({ metadata: failing("STO0003") })).rejects.toMatchObject({ code: "META0005" });
    await expect(createTestRegistry({ metadata: failing("STO0001") })).rejects.toMatchObject({ code: "STO0001" });
  });
});
