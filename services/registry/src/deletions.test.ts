/** Deleted records come back once, with their ids, and never in place of what is newer. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { newOperationId, type OperationId, silentLogger, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore, deletedKey, type MetadataStore, type RuleChange } from "@perdure/metadata";
import { aRegistry, aSpec } from "@perdure/schedules/testing";
import { VirtualClock } from "@perdure/testkit";
import { createScheduleBook } from "./index.js";
import { aWireService, createTestRegistry } from "./testing/index.js";
import { RegistryWorld } from "./testing/world.js";

const operation = (): OperationId => newOperationId(1, systemRandom);
const rule = (pattern: string): RuleChange => ({
  pattern,
  concurrency: 3,
  rate: undefined,
  weight: undefined,
  priority: undefined,
  description: "mine",
  disabled: false,
  precondition: { kind: "none" },
});

let world: RegistryWorld;
let metadata: MetadataStore;
beforeEach(async () => {
  world = await RegistryWorld.open();
  metadata = createMemoryMetadataStore();
  world.registry = await createTestRegistry({ metadata });
});
afterEach(() => world[Symbol.asyncDispose]());

const contentsOf = async (id: OperationId) => (await metadata.get(deletedKey(id)))?.value;

describe("a deployment", () => {
  test("is restored with its id and revision, once, also by a registry that starts after the deletion", async () => {
    const { uri } = await world.endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await world.register(uri);
    const id = operation();
    await world.registry.remove(deployment.id, true, id);
    expect(world.registry.service("S")).toBeUndefined();
    world.registry = await createTestRegistry({ metadata });
    const outcomes = await Promise.all([world.registry.restoreDeleted(id), world.registry.restoreDeleted(id)]);
    expect(outcomes.sort()).toEqual(["alreadyRestored", "restored"]);
    expect(world.registry.deployment(deployment.id)).toEqual(deployment);
    expect(world.revisionOf("S")).toBe(1);
    expect(await contentsOf(id)).toEqual({ kind: "restored" });

    await world.registry.remove(deployment.id, true);
    expect(await world.registry.restoreDeleted(id)).toBe("alreadyRestored");
    expect(world.registry.deployments()).toEqual([]);
  });

  test("whose destination is registered again, or whose revision another one has, is refused", async () => {
    const { uri } = await world.endpointOf([aWireService("S", ["h"])]);
    const id = operation();
    await world.registry.remove((await world.register(uri)).deployment.id, true, id);
    const again = await world.register(uri);
    const refused = expect.stringContaining(again.deployment.id);
    await expect(world.registry.restoreDeleted(id)).rejects.toMatchObject({ status: 409, message: refused });
    await world.registry.remove(again.deployment.id, true);
    const other = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    await expect(world.registry.restoreDeleted(id)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining(`${other.deployment.id} has revision 1 of the service 'S'`),
    });
    await world.registry.remove(other.deployment.id, true);
    expect(await world.registry.restoreDeleted(id)).toBe("restored");
  });

  test("without an operation keeps nothing, and a refused removal keeps nothing", async () => {
    const { uri } = await world.endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await world.register(uri);
    await world.registry.remove(deployment.id, true);
    expect(await world.registry.restoreDeleted(operation())).toBe("notKept");
    const id = operation();
    await expect(world.registry.remove(deployment.id, true, id)).rejects.toMatchObject({ status: 404 });
    expect(await contentsOf(id)).toBeUndefined();
  });
});

test("rules are restored together with new versions, and not beside a rule of the same pattern", async () => {
  await world.registry.putRules([rule("a"), rule("b"), rule("c")]);
  const id = operation();
  const deletion = (pattern: string) => ({ pattern, expectedVersion: undefined });
  expect(await world.registry.deleteRules([deletion("a"), deletion("b"), deletion("none")], id)).toEqual(["a", "b"]);
  await world.registry.putRules([rule("b")]);
  await expect(world.registry.restoreDeleted(id)).rejects.toMatchObject({
    status: 409,
    message: "there is a rule for the pattern 'b' again",
  });
  expect(world.registry.rules().map(({ pattern }) => pattern)).toEqual(["c", "b"]);
  await world.registry.deleteRules([deletion("b")]);
  expect(await world.registry.restoreDeleted(id)).toBe("restored");
  expect(world.registry.rules().map(({ pattern, concurrency, version }) => [pattern, concurrency, version])).toEqual([
    ["c", 3, 1],
    ["a", 3, 5],
    ["b", 3, 5],
  ]);
});

test("a subscription is restored with its id and group, and refused without its Kafka cluster", async () => {
  await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
  await world.registry.createKafkaCluster("k", { "bootstrap.servers": "localhost:1" });
  const subscription = await world.registry.createSubscription("kafka://k/topic", "service://S/h", {});
  const id = operation();
  await world.registry.removeSubscription(subscription.id, id);
  await world.registry.removeKafkaCluster("k", false);
  await expect(world.registry.restoreDeleted(id)).rejects.toMatchObject({
    status: 409,
    message: "the Kafka cluster 'k' was removed",
  });
  await world.registry.createKafkaCluster("k", { "bootstrap.servers": "localhost:1" });
  expect(await world.registry.restoreDeleted(id)).toBe("restored");
  expect(world.registry.subscription(subscription.id)).toEqual(subscription);
});

test("a Kafka cluster is restored with its properties, and not beside one of the same name", async () => {
  const cluster = await world.registry.createKafkaCluster("k", { "bootstrap.servers": "localhost:1", "sasl.password": "x" });
  const id = operation();
  await world.registry.removeKafkaCluster("k", false, id);
  await world.registry.createKafkaCluster("k", { "bootstrap.servers": "localhost:2" });
  await expect(world.registry.restoreDeleted(id)).rejects.toMatchObject({
    status: 409,
    message: "there is a Kafka cluster 'k' again",
  });
  await world.registry.removeKafkaCluster("k", false);
  expect(await world.registry.restoreDeleted(id)).toBe("restored");
  expect(world.registry.kafkaClusters()).toEqual([cluster]);
  expect([await world.registry.restoreDeleted(id), await contentsOf(id)]).toEqual(["alreadyRestored", { kind: "restored" }]);
});

describe("an event subscription", () => {
  const NO_FILTER = { service: undefined, handler: undefined, scope: undefined };
  const common = { types: ["invocation.failed"], filter: NO_FILTER, description: "mine" } as const;

  test("of a webhook is restored with its id and its secrets, also by a registry that starts after the deletion", async () => {
    const destination = { kind: "webhook", url: "https://hooks.example/a" } as const;
    const made = await world.registry.createEventSubscription({ ...common, destination });
    const rotated = await world.registry.rotateEventSecret(made.id);
    const id = operation();
    await world.registry.removeEventSubscription(made.id, id);
    world.registry = await createTestRegistry({ metadata });
    expect(await world.registry.restoreDeleted(id)).toBe("restored");
    expect(world.registry.eventSubscriptions()).toEqual([rotated]);
    expect(rotated.webhook?.secrets).toHaveLength(2);
    expect(await contentsOf(id)).toEqual({ kind: "restored" });
  });

  test("of a handler that is gone is refused until the handler is there again", async () => {
    const { uri } = await world.endpointOf([aWireService("Alerts", ["receive"])]);
    const { deployment } = await world.register(uri);
    const destination = { kind: "handler", target: { service: "Alerts", handler: "receive" } } as const;
    const made = await world.registry.createEventSubscription({ ...common, destination });
    const id = operation();
    await world.registry.removeEventSubscription(made.id, id);
    const ofDeployment = operation();
    await world.registry.remove(deployment.id, true, ofDeployment);
    await expect(world.registry.restoreDeleted(id)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining("'Alerts/receive'"),
    });
    expect(await world.registry.restoreDeleted(ofDeployment)).toBe("restored");
    expect(await world.registry.restoreDeleted(id)).toBe("restored");
    expect(world.registry.eventSubscriptions()).toEqual([made]);
  });
});

test("a schedule is restored with its history; times that passed meanwhile are not fired, and a name in use is refused", async () => {
  const clock = new VirtualClock(1_000_000);
  const ports = {
    metadata,
    registry: aRegistry({ Greeter: ["service", "greet"] }),
    clock,
    random: systemRandom,
    logger: silentLogger,
  };
  const book = await createScheduleBook(ports, { scopesEnabled: true });
  const schedule = await book.create(aSpec(), false);
  const id = operation();
  await book.remove(schedule.record.id, undefined, id);
  clock.advanceBy(3_600_000);
  const other = await book.create(aSpec(), false);
  await expect(book.restore(id)).rejects.toMatchObject({ status: 409 });
  await book.remove(other.record.id, undefined);
  const outcomes = await Promise.all([book.restore(id), book.restore(id)]);
  expect(outcomes.sort()).toEqual(["alreadyRestored", "restored"]);
  const restored = book.get(schedule.record.id);
  expect([restored?.record, restored?.state.decidedThroughMs]).toEqual([schedule.record, clock.nowMs()]);
  expect(await book.restore(operation())).toBe("notKept");
});
