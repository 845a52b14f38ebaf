import type { ServiceDefinition } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { newOperationId, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import {
  createMemoryMetadataStore,
  emptyMemoryMetadata,
  type Registry,
  RegistryRefusal,
  type RuleChange,
} from "@perdure/metadata";
import { aManifest, aWireService, createTestRegistry, startEndpoint } from "@perdure/registry/testing";
import { openRemoteRegistry, registryDefinition, registryHandlers } from "../src/index.js";
import { CARRIERS, type Carrier, connectTo, TestServer } from "../src/testing/index.js";

const opened: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const { watch, change } = registryDefinition;
const RELEASES = [
  ["this release", registryDefinition],
  ["v0.1", { watch, change }],
] as const;
const SERVERS = CARRIERS.flatMap((over) => RELEASES.map(([release, definition]) => [release, over, definition] as const));
let carrier: Carrier = "gRPC";
let methods: ServiceDefinition = registryDefinition;

async function serve(registry: Registry & RegistryView): Promise<TestServer> {
  const server = await TestServer.start(methods, registryHandlers(registry, silentLogger), { carrier });
  opened.push(() => server.stop());
  return server;
}

async function connect(addresses: readonly string[], withRecords = true) {
  const channels = addresses.map((address) => connectTo(address));
  const remote = openRemoteRegistry({ channels, clock: systemClock, logger: silentLogger }, { withRecords });
  opened.push(() => {
    remote.close();
    for (const channel of channels) channel.close();
  });
  await remote.ready;
  return remote;
}

const rule = (pattern: string, concurrency: number): RuleChange => ({
  pattern,
  concurrency,
  rate: undefined,
  weight: undefined,
  priority: undefined,
  description: undefined,
  disabled: false,
  precondition: { kind: "none" },
});

describe.each(SERVERS)("a registry of %s in another process, over %s,", (_release, over, definition) => {
  beforeEach(() => {
    methods = definition;
    carrier = over;
  });

  test("shows what the registry shows, for reading at once", async () => {
    const registry = await createTestRegistry();
    await registry.createKafkaCluster("k1", { "bootstrap.servers": "localhost:1", "sasl.password": "x" });
    const { address } = await serve(registry);
    const remote = await connect([address]);
    expect(remote.kafkaClusters()).toEqual(registry.kafkaClusters());
    expect(remote.deployments()).toEqual([]);
    expect(remote.service("Greeter")).toBeUndefined();
    expect(remote.current()).toEqual(registry.current());
  });

  test("takes registrations: services, handlers and options are the same on both sides", async () => {
    const registry = await createTestRegistry();
    await using endpoint = await startEndpoint("h2c", {
      body: aManifest([aWireService("Greeter", ["greet"]), aWireService("Counter", ["add"], { ty: "VIRTUAL_OBJECT" })]),
    });
    const { address } = await serve(registry);
    const remote = await connect([address]);
    const request = {
      address: { kind: "http", uri: endpoint.uri, useHttp11: false },
      additionalHeaders: { "x-k": "v" },
      metadata: {},
      force: false,
      breaking: false,
      dryRun: false,
      acceptUnchanged: true,
    } as const;
    const signal = new AbortController().signal;
    const dry = await remote.register({ ...request, dryRun: true }, signal);
    expect(remote.services()).toEqual([]);
    for (const revision of dry.deployment.services) {
      const target = { deployment: dry.deployment, revision };
      expect(remote.effective(target)).toEqual(registry.effective(target));
    }
    const outcome = await remote.register(request, signal);
    expect(outcome.kind).toBe("created");
    expect(remote.deployment(outcome.deployment.id)).toEqual(registry.deployment(outcome.deployment.id));
    expect(remote.services()).toEqual(registry.services());
    for (const service of remote.services()) expect(remote.effective(service)).toEqual(registry.effective(service));
    expect(remote.current()).toEqual(registry.current());
    await remote.remove(outcome.deployment.id, true);
    expect(remote.deployments()).toEqual([]);
  });

  test("refuses with the same message, status and code", async () => {
    const registry = await createTestRegistry();
    const remote = await connect([(await serve(registry)).address]);
    await remote.createKafkaCluster("k1", { "bootstrap.servers": "localhost:1" });
    for (const attempt of [
      (one: Registry) => one.createKafkaCluster("k1", { "bootstrap.servers": "localhost:1" }),
      (one: Registry) => one.createSubscription("nonsense", "service://A/b", {}),
      (one: Registry) => one.removeKafkaCluster("nope", false),
    ]) {
      const refusals = await Promise.all(
        [attempt(remote), attempt(registry)].map((result) =>
          result.then(
            () => undefined,
            (cause: unknown) => cause,
          ),
        ),
      );
      const [here, there] = refusals as [RegistryRefusal, RegistryRefusal];
      expect(here).toBeInstanceOf(RegistryRefusal);
      expect([here.status, here.code, here.message]).toEqual([there.status, there.code, there.message]);
    }
  });

  test("reports changes that other processes made", async () => {
    const metadata = emptyMemoryMetadata();
    const registry = await createTestRegistry({ metadata: createMemoryMetadataStore(metadata) });
    const remote = await connect([(await serve(registry)).address]);
    const changed = new Promise<void>((resolve) => remote.onChange(resolve));
    await registry.putRules([rule("s1", 3)]);
    await changed;
    expect(remote.rules()).toMatchObject([{ pattern: "s1", concurrency: 3 }]);
  });

  test("reads what every registry has now, whichever it listens to, and does without those that cannot be reached", async () => {
    const [one, other] = [await createTestRegistry(), await createTestRegistry()];
    const [listenedTo, second] = [await serve(one), await serve(other)];
    const remote = await connect([listenedTo.address, second.address], false);
    await other.putRules([rule("only there", 3)]);
    expect(remote.current().rules).toEqual([]);
    const patterns = async () => (await remote.snapshots()).flatMap(({ rules }) => rules.map(({ pattern }) => pattern));
    expect(await patterns()).toEqual(["only there"]);
    second.stop();
    expect(await patterns()).toEqual([]);
    expect(await remote.snapshots()).toHaveLength(1);
  });

  test("that cannot be reached leaves the last state, refuses changes, and is replaced by the next", async () => {
    const metadata = emptyMemoryMetadata();
    const first = await createTestRegistry({ metadata: createMemoryMetadataStore(metadata) });
    const second = await createTestRegistry({ metadata: createMemoryMetadataStore(metadata) });
    const [one, two] = [await serve(first), await serve(second)];
    const remote = await connect([one.address, two.address]);
    await remote.putRules([rule("s1", 3)]);
    one.stop();
    expect(remote.rules()).toHaveLength(1);
    await second.reload();
    for (;;) {
      const changed = await remote.putRules([rule("s2", 1)]).then(
        () => true,
        (cause: { code: string }) => expect(cause.code).toBe("OPS0004"),
      );
      if (changed === true) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(remote.rules().map(({ pattern }) => pattern)).toEqual(["s1", "s2"]);
  });

  test("keeps secrets from clients that do not manage it", async () => {
    const registry = await createTestRegistry();
    await registry.createKafkaCluster("k1", { "bootstrap.servers": "localhost:1" });
    const remote = await connect([(await serve(registry)).address], false);
    expect(remote.current()).toEqual(registry.current());
    expect(() => remote.kafkaClusters()).toThrow("OPS0004");
  });
});

test("event subscriptions and rules in another process are the same values until one of them changes", async () => {
  methods = registryDefinition;
  const registry = await createTestRegistry();
  const remote = await connect([(await serve(registry)).address]);
  const made = await remote.createEventSubscription({
    types: ["invocation.failed"],
    filter: { service: undefined, handler: undefined, scope: undefined },
    destination: { kind: "webhook", url: "https://hooks.example/a" },
    description: undefined,
  });
  await remote.putRules([rule("s1", 3)]);
  const { events, rules } = remote.current();
  expect(events).toHaveLength(1);
  await remote.createKafkaCluster("k1", { "bootstrap.servers": "localhost:1" });
  expect(remote.current().events).toBe(events);
  expect(remote.current().rules).toBe(rules);
  await remote.rotateEventSecret(made.id);
  expect(remote.current().events).not.toBe(events);
  const { webhook } = await remote.revokeOldEventSecret(made.id);
  expect(webhook?.secrets).toEqual(registry.eventSubscriptions()[0]?.webhook?.secrets);
  expect(webhook?.secrets).toHaveLength(1);
});

test("a deletion keeps its copy under the operation, and is undone; what is in the way is named", async () => {
  methods = registryDefinition;
  const registry = await createTestRegistry();
  const remote = await connect([(await serve(registry)).address]);
  const operation = newOperationId(1, systemRandom);
  const deletion = [{ pattern: "s1", expectedVersion: undefined }];
  await remote.putRules([rule("s1", 3)]);
  await remote.deleteRules(deletion, operation);
  await remote.putRules([rule("s1", 4)]);
  const refused = { status: 409, message: "there is a rule for the pattern 's1' again" };
  await expect(remote.restoreDeleted(operation)).rejects.toMatchObject(refused);
  await remote.deleteRules(deletion);
  expect(await remote.restoreDeleted(operation)).toBe("restored");
  expect(remote.rules()).toMatchObject([{ pattern: "s1", concurrency: 3 }]);
  expect(await remote.restoreDeleted(operation)).toBe("alreadyRestored");
  expect(await remote.restoreDeleted(newOperationId(2, systemRandom))).toBe("notKept");
});

test("deletions of Kafka clusters and event subscriptions keep their copies too", async () => {
  methods = registryDefinition;
  const registry = await createTestRegistry();
  const remote = await connect([(await serve(registry)).address]);
  const ids = [newOperationId(1, systemRandom), newOperationId(2, systemRandom)] as const;
  await remote.createKafkaCluster("k", { "bootstrap.servers": "localhost:1" });
  const filter = { service: undefined, handler: undefined, scope: undefined };
  const destination = { kind: "webhook", url: "https://hooks.example/a" } as const;
  const request = { types: ["invocation.failed"], filter, destination, description: undefined } as const;
  const subscription = await remote.createEventSubscription(request);
  await remote.removeKafkaCluster("k", false, ids[0]);
  await remote.removeEventSubscription(subscription.id, ids[1]);
  expect([registry.kafkaClusters(), registry.eventSubscriptions()]).toEqual([[], []]);
  for (const id of ids) expect(await remote.restoreDeleted(id)).toBe("restored");
  expect(registry.kafkaClusters()).toMatchObject([{ name: "k" }]);
  expect(registry.eventSubscriptions()).toEqual([subscription]);
});
