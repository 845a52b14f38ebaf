/** Why: the rules of versioning (interface specification §9), told as stories over real endpoints and a store that is reopened. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type DeploymentId, PerdureError } from "@perdure/base";
import {
  createMemoryMetadataStore,
  type DeploymentUsage,
  emptyMemoryMetadata,
  type MetadataStore,
  type RegisterRequest,
  type ServiceOverrides,
  type UpdateRequest,
} from "@perdure/metadata";
import { SERVICE_DEFAULTS } from "./defaults.js";
import { NO_OVERRIDES } from "./deployments.js";
import type { RegistryRole } from "./registry.js";
import {
  aManifest,
  aRuleChange,
  aWireService,
  createTestRegistry,
  startEndpoint,
  type TestEndpoint,
  type TestRegistrySetup,
} from "./testing/index.js";

const signal = new AbortController().signal;
const open: TestEndpoint[] = [];
let registry: RegistryRole;
let usage: DeploymentUsage;

beforeEach(async () => {
  usage = { pinned: 0, unfinishedByService: new Map() };
  registry = await createTestRegistry({ usage });
});
afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint[Symbol.asyncDispose]();
});

async function endpointOf(services: readonly object[], change: object = {}): Promise<TestEndpoint> {
  const endpoint = await startEndpoint("h2c", { body: aManifest(services, change) });
  open.push(endpoint);
  return endpoint;
}

function aRequest(uri: string, change: Partial<RegisterRequest> = {}): RegisterRequest {
  return {
    address: { kind: "http", uri, useHttp11: false },
    additionalHeaders: {},
    metadata: {},
    force: false,
    breaking: false,
    dryRun: false,
    acceptUnchanged: false,
    ...change,
  };
}

function register(uri: string, change: Partial<RegisterRequest> = {}) {
  return registry.register(aRequest(uri, change), signal);
}

function update(id: DeploymentId, change: Partial<UpdateRequest>) {
  return registry.update(
    id,
    { address: undefined, additionalHeaders: undefined, overwrite: false, dryRun: false, ...change },
    signal,
  );
}

const at = (uri: string) => ({ kind: "http", uri, useHttp11: false }) as const;
const revisionOf = (service: string) => registry.service(service)?.revision.revision;
const overrides = (change: Partial<ServiceOverrides>): ServiceOverrides => ({ ...NO_OVERRIDES, ...change });

describe("registering", () => {
  test("a new destination is created, and its services are served at once", async () => {
    const endpoint = await endpointOf([aWireService("S", ["h"])]);
    const outcome = await register(endpoint.uri, { additionalHeaders: { "X-Key": "v" }, metadata: { env: "test" } });
    expect(outcome).toMatchObject({
      kind: "created",
      deployment: { additionalHeaders: { "x-key": "v" }, metadata: { env: "test" }, services: [{ revision: 1 }] },
    });
    const { services, deployments } = registry.current();
    expect(services.get("S")).toMatchObject({ revision: 1, deploymentId: outcome.deployment.id });
    expect(deployments.get(outcome.deployment.id)?.services.get("S")).toBe(services.get("S"));
  });

  test("new code at a new destination is the next revision; the older one keeps serving what is pinned to it", async () => {
    const first = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    const second = await register((await endpointOf([aWireService("S", ["h", "more"])])).uri);
    expect(revisionOf("S")).toBe(2);
    expect(registry.current().services.get("S")?.deploymentId).toBe(second.deployment.id);
    expect([...(registry.current().deployments.get(first.deployment.id)?.services.get("S")?.handlers.keys() ?? [])]).toEqual([
      "h",
    ]);
  });

  test("META0004: a known destination is refused without force, however it is written", async () => {
    const endpoint = await endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await register(endpoint.uri);
    for (const uri of [endpoint.uri, `${endpoint.uri}/`, `${endpoint.uri}/?q=1`]) {
      await expect(register(uri)).rejects.toMatchObject({
        status: 409,
        code: "META0004",
        message: expect.stringContaining(deployment.id),
      });
    }
    expect(revisionOf("S")).toBe(1);
  });

  test("tools that register on every deploy are told when nothing changed, and refused when something did", async () => {
    const endpoint = await endpointOf([aWireService("S", ["a", "b"])]);
    const { deployment } = await register(endpoint.uri, { metadata: { env: "test" } });
    endpoint.say({ body: aManifest([aWireService("S", ["b", "a"])]) });
    expect(await register(endpoint.uri, { acceptUnchanged: true })).toEqual({ kind: "unchanged", deployment });
    for (const manifest of [
      aManifest([aWireService("S", ["a", "b", "c"])]),
      aManifest([aWireService("S", ["a", "b"])], { protocolMode: "REQUEST_RESPONSE" }),
      aManifest([aWireService("S", ["a", "b"])], { maxProtocolVersion: 6 }),
    ]) {
      endpoint.say({ body: manifest });
      await expect(register(endpoint.uri, { acceptUnchanged: true })).rejects.toMatchObject({ code: "META0004" });
    }
  });

  test("force replaces the deployment under its id, with new revisions and whatever it serves now", async () => {
    const endpoint = await endpointOf([aWireService("S", ["h"]), aWireService("Gone", ["h"])]);
    const { deployment } = await register(endpoint.uri);
    endpoint.say({ body: aManifest([aWireService("S", ["other"], { ty: "VIRTUAL_OBJECT" })]) });
    const replaced = await register(endpoint.uri, { force: true });
    expect(replaced).toMatchObject({ kind: "replaced", deployment: { id: deployment.id, services: [{ revision: 2 }] } });
    expect(registry.services().map(({ revision }) => revision.definition.name)).toEqual(["S"]);
    expect(registry.deployments()).toHaveLength(1);
  });

  test("META0017: force is refused while two deployments share the destination", async () => {
    const [a, b] = [await endpointOf([aWireService("S", ["h"])]), await endpointOf([aWireService("S", ["h"])])];
    const first = await register(a.uri);
    const second = await register(b.uri);
    await update(first.deployment.id, { address: at(b.uri) });
    const refusal = register(b.uri, { force: true });
    await expect(refusal).rejects.toMatchObject({ status: 409, code: "META0017" });
    await expect(refusal).rejects.toThrow(new RegExp(`${first.deployment.id}, ${second.deployment.id}`));
    await registry.remove(first.deployment.id, true);
    expect(await register(b.uri, { force: true })).toMatchObject({ kind: "replaced", deployment: { id: second.deployment.id } });
  });

  test("META0006: a new revision keeps type and handlers, unless breaking or force says otherwise", async () => {
    await register((await endpointOf([aWireService("S", ["a", "b"])])).uri);
    const typed = await endpointOf([aWireService("S", ["a", "b"], { ty: "VIRTUAL_OBJECT" })]);
    await expect(register(typed.uri)).rejects.toMatchObject({
      status: 409,
      code: "META0006",
      message: expect.stringContaining("type"),
    });
    const shorter = await endpointOf([aWireService("S", ["b"]), aWireService("T", [])]);
    await expect(register(shorter.uri, { dryRun: true })).rejects.toMatchObject({
      code: "META0006",
      message: expect.stringContaining("'a'"),
    });
    expect(registry.service("T")).toBeUndefined();
    expect(await register(shorter.uri, { breaking: true })).toMatchObject({ kind: "created" });
    expect(await register(typed.uri, { force: true })).toMatchObject({ kind: "created" });
    expect(revisionOf("S")).toBe(3);
  });

  test("a dry run says what would happen and stores nothing", async () => {
    const endpoint = await endpointOf([aWireService("S", ["h"])]);
    const dry = await register(endpoint.uri, { dryRun: true });
    expect(dry).toMatchObject({ kind: "created", deployment: { services: [{ revision: 1 }] } });
    expect(registry.deployments()).toEqual([]);
    const real = await register(endpoint.uri);
    expect(real.deployment.id).not.toBe(dry.deployment.id);
    expect(await register(endpoint.uri, { dryRun: true, force: true })).toMatchObject({
      kind: "replaced",
      deployment: { services: [{ revision: 2 }] },
    });
    expect(revisionOf("S")).toBe(1);
  });

  test("routing headers make two destinations of one address", async () => {
    registry = await createTestRegistry({ options: { routingHeaders: ["x-route"] } });
    const endpoint = await endpointOf([aWireService("S", ["h"])]);
    const blue = await register(endpoint.uri, { additionalHeaders: { "X-Route": "blue" } });
    const green = await register(endpoint.uri, { additionalHeaders: { "x-route": "green" } });
    expect(green.deployment.id).not.toBe(blue.deployment.id);
    await expect(register(endpoint.uri, { additionalHeaders: { "x-route": "green", "x-more": "1" } })).rejects.toMatchObject({
      code: "META0004",
    });
  });

  test("registrations at the same time get different revisions", async () => {
    const endpoints = await Promise.all(Array.from({ length: 5 }, () => endpointOf([aWireService("S", ["h"])])));
    const outcomes = await Promise.all(endpoints.map(({ uri }) => register(uri)));
    expect(outcomes.map(({ deployment }) => deployment.services[0]?.revision).sort()).toEqual([1, 2, 3, 4, 5]);
    expect(revisionOf("S")).toBe(5);
  });
});

describe("updating in place", () => {
  test("an empty update asks nobody and changes nothing", async () => {
    const endpoint = await endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await register(endpoint.uri);
    expect(await update(deployment.id, {})).toBe(deployment);
    expect(endpoint.seen).toHaveLength(1);
  });

  test("a new address is taken over, the services stay as registered; overwrite takes them over under their revision", async () => {
    const { deployment } = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    const fixed = await endpointOf([aWireService("S", ["h", "more"]), aWireService("New", ["n"])]);
    const moved = await update(deployment.id, { address: at(fixed.uri), additionalHeaders: { "X-A": "1" } });
    expect(moved).toMatchObject({ id: deployment.id, address: { uri: `${fixed.uri}/` }, additionalHeaders: { "x-a": "1" } });
    expect(moved.services).toEqual(deployment.services);
    expect(fixed.seen.at(-1)?.headers).toMatchObject({ "x-a": "1" });
    await registry.modifyService("S", overrides({ public: false }));
    const overwritten = await update(deployment.id, { overwrite: true });
    expect(overwritten.services.map(({ definition, revision }) => [definition.name, revision])).toEqual([
      ["S", 1],
      ["New", 1],
    ]);
    expect(overwritten.services[0]?.definition.handlers).toHaveLength(2);
    expect(registry.current().services.get("S")?.handlers.get("more")?.public).toBe(true);
    expect(overwritten.createdAtMs).toBe(deployment.createdAtMs);
  });

  test("META0016: what is not similar is refused, overwrite or not, and the message says why", async () => {
    const { deployment } = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    const cases: [object, RegExp][] = [
      [aManifest([aWireService("S", [])]), /handlers.*h/],
      [aManifest([aWireService("S", ["h"], { ty: "VIRTUAL_OBJECT" })]), /type/],
      [aManifest([aWireService("T", ["h"])]), /'S' must stay/],
      [aManifest([aWireService("S", ["h"])], { maxProtocolVersion: 6 }), /versions/],
    ];
    for (const [manifest, why] of cases) {
      const endpoint = await startEndpoint("h2c", { body: manifest });
      open.push(endpoint);
      for (const overwrite of [false, true]) {
        const refusal = update(deployment.id, { address: at(endpoint.uri), overwrite });
        await expect(refusal).rejects.toMatchObject({ status: 400, code: "META0016" });
        await expect(refusal).rejects.toThrow(why);
      }
    }
    expect(registry.deployment(deployment.id)).toBe(deployment);
  });

  test("an overwrite cannot smuggle in a service that conflicts with a revision elsewhere", async () => {
    const { deployment } = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    await register((await endpointOf([aWireService("T", ["x"])])).uri);
    const next = await endpointOf([aWireService("S", ["h"]), aWireService("T", ["y"])]);
    await expect(update(deployment.id, { address: at(next.uri), overwrite: true })).rejects.toMatchObject({ code: "META0006" });
  });

  test("a dry run answers the deployment as it would be", async () => {
    const { deployment } = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    const next = await endpointOf([aWireService("S", ["h"])]);
    expect((await update(deployment.id, { address: at(next.uri), dryRun: true })).address).toMatchObject({ uri: `${next.uri}/` });
    expect(registry.deployment(deployment.id)).toBe(deployment);
  });

  test("unknown deployments are 404, unreachable addresses META0003", async () => {
    await expect(update("dp_172rBAtdHx87DaRnSOtvv3P" as DeploymentId, {})).rejects.toMatchObject({ status: 404 });
    const endpoint = await endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await register(endpoint.uri);
    endpoint.say({ status: 401, body: "" });
    await expect(update(deployment.id, { additionalHeaders: {} })).rejects.toMatchObject({ code: "META0003" });
  });
});

describe("removing", () => {
  const using = (change: Partial<DeploymentUsage>) => {
    Object.assign(usage, change);
  };

  test("what nothing needs goes without force, and the older revision serves again", async () => {
    const first = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    const second = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    await registry.remove(second.deployment.id, false);
    expect(registry.service("S")?.deployment.id).toBe(first.deployment.id);
    await registry.remove(first.deployment.id, false);
    expect(registry.services()).toEqual([]);
    await expect(registry.remove(first.deployment.id, true)).rejects.toMatchObject({ status: 404 });
  });

  test("pinned invocations keep it, with their count, until force", async () => {
    const { deployment } = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    using({ pinned: 3 });
    await expect(registry.remove(deployment.id, false)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining("3 unfinished"),
    });
    await registry.remove(deployment.id, true);
    expect(registry.deployments()).toEqual([]);
  });

  test("unfinished invocations of a service keep its last deployment only", async () => {
    const [a, b] = [await endpointOf([aWireService("S", ["h"])]), await endpointOf([aWireService("S", ["h"])])];
    const older = await register(a.uri);
    const newer = await register(b.uri);
    using({
      unfinishedByService: new Map([
        ["S", 2],
        ["Other", 9],
      ]),
    });
    await expect(registry.remove(newer.deployment.id, false)).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/'S' has 2 unfinished/),
    });
    await registry.remove(older.deployment.id, false);
    expect(registry.deployments().map(({ id }) => id)).toEqual([newer.deployment.id]);
  });

  test("a twin at the same destination takes over", async () => {
    const [a, b] = [await endpointOf([aWireService("S", ["h"])]), await endpointOf([aWireService("S", ["h"])])];
    const older = await register(a.uri);
    const newer = await register(b.uri);
    await update(older.deployment.id, { address: at(b.uri) });
    using({ unfinishedByService: new Map([["S", 2]]) });
    await registry.remove(newer.deployment.id, false);
    expect(registry.service("S")?.deployment.id).toBe(older.deployment.id);
  });
});

describe("options", () => {
  const manifest = [
    {
      name: "S",
      ty: "WORKFLOW",
      inactivityTimeout: 1000,
      journalRetention: 5000,
      retryPolicyMaxAttempts: 3,
      retryPolicyOnMaxAttempts: "KILL",
      enableLazyState: true,
      handlers: [
        { name: "run", ty: "WORKFLOW", workflowCompletionRetention: 7000 },
        {
          name: "tuned",
          inactivityTimeout: 2000,
          idempotencyRetention: 3000,
          retryPolicyMaxAttempts: 9,
          enableLazyState: false,
          ingressPrivate: true,
        },
      ],
    },
  ];
  const handler = (name: string) => registry.current().services.get("S")?.handlers.get(name);

  test("handler goes before service, service before server", async () => {
    await register((await endpointOf(manifest)).uri);
    expect(handler("run")).toMatchObject({
      handlerType: "workflow",
      public: true,
      inactivityTimeoutMs: 1000,
      abortTimeoutMs: SERVICE_DEFAULTS.abortTimeoutMs,
      journalRetentionMs: 5000,
      workflowRetentionMs: 7000,
      idempotencyRetentionMs: SERVICE_DEFAULTS.idempotencyRetentionMs,
      enableLazyState: true,
      retryPolicy: { ...SERVICE_DEFAULTS.retryPolicy, maxAttempts: 3, onMaxAttempts: "kill" },
    });
    expect(handler("tuned")).toMatchObject({
      handlerType: "shared",
      public: false,
      inactivityTimeoutMs: 2000,
      idempotencyRetentionMs: 3000,
      enableLazyState: false,
      retryPolicy: { maxAttempts: 9, onMaxAttempts: "kill" },
    });
  });

  test("a person's change stands between handler and manifest, and ends with the next registration", async () => {
    const endpoint = await endpointOf(manifest);
    await register(endpoint.uri);
    const before = registry.current();
    await registry.modifyService(
      "S",
      overrides({ inactivityTimeoutMs: 50, workflowCompletionRetentionMs: 60, journalRetentionMs: 0 }),
    );
    await registry.modifyService("S", overrides({ public: false }));
    expect(handler("run")).toMatchObject({
      inactivityTimeoutMs: 50,
      workflowRetentionMs: 60,
      journalRetentionMs: 0,
      public: false,
    });
    expect(handler("tuned")).toMatchObject({ inactivityTimeoutMs: 2000, public: false });
    expect(before.services.get("S")?.handlers.get("run")?.public).toBe(true); // A snapshot never changes.
    await register(endpoint.uri, { force: true });
    expect(handler("run")).toMatchObject({ inactivityTimeoutMs: 1000, public: true });
  });

  test("an option of workflows is refused elsewhere, an unknown service is 404, and nothing is no change", async () => {
    await register((await endpointOf([aWireService("P", ["h"])])).uri);
    await expect(registry.modifyService("P", overrides({ workflowCompletionRetentionMs: 1 }))).rejects.toMatchObject({
      status: 400,
    });
    await expect(registry.modifyService("Nope", overrides({}))).rejects.toMatchObject({ status: 404 });
    expect((await registry.modifyService("P", overrides({}))).revision).toBe(registry.service("P")?.revision);
  });

  test("request-response mode has no inactivity timeout, and RT0021 says so when one was asked for", async () => {
    await register((await endpointOf(manifest, { protocolMode: "REQUEST_RESPONSE" })).uri);
    const located = registry.service("S");
    expect(handler("run")?.inactivityTimeoutMs).toBe(0);
    expect(located && registry.effective(located).notices.map(({ code }) => code)).toEqual(["RT0021"]);
  });

  test("caps of the server hold for everybody, and RT0022 says so", async () => {
    registry = await createTestRegistry({
      options: { defaults: { ...SERVICE_DEFAULTS, journalRetentionMaxMs: 4000, maxAttemptsMax: 2 } },
    });
    await register((await endpointOf(manifest)).uri);
    expect(handler("run")).toMatchObject({ journalRetentionMs: 4000, retryPolicy: { maxAttempts: 2 } });
    expect(handler("tuned")?.retryPolicy.maxAttempts).toBe(2);
    const located = registry.service("S");
    expect(located && registry.effective(located).notices.map(({ code }) => code)).toEqual(["RT0022"]);
  });
});

describe("what the plan allows", () => {
  const bounds = { deploymentsMax: 2, servicesMax: 3, subscriptionsMax: 1 };
  const full = (what: string) => ({ status: 403, code: "TEN0002", message: expect.stringContaining(what) });

  test("no more deployments and services than that, by whatever way; replacing is no addition", async () => {
    registry = await createTestRegistry({ options: { bounds } });
    const first = await endpointOf([aWireService("A", ["h"]), aWireService("B", ["h"])]);
    const { deployment } = await register(first.uri);
    const big = await endpointOf([aWireService("C", ["h"]), aWireService("D", ["h"])]);
    await expect(register(big.uri, { dryRun: true })).rejects.toMatchObject(full("3 services"));
    await register((await endpointOf([aWireService("A", ["h"]), aWireService("C", ["h"])])).uri);
    const third = await endpointOf([aWireService("A", ["h"])]);
    await expect(register(third.uri)).rejects.toMatchObject(full("2 deployments"));

    first.say({ body: aManifest([aWireService("A", ["h"]), aWireService("B", ["h"]), aWireService("E", ["h"])]) });
    await expect(register(first.uri, { force: true })).rejects.toMatchObject(full("3 services"));
    const update = { address: undefined, additionalHeaders: {}, overwrite: true, dryRun: false };
    await expect(registry.update(deployment.id, update, signal)).rejects.toMatchObject(full("3 services"));
    first.say({ body: aManifest([aWireService("A", ["h"]), aWireService("E", ["h"])]) });
    expect((await register(first.uri, { force: true })).kind).toBe("replaced");
    await registry.remove(deployment.id, true);
    await register(third.uri);
  });

  test("no more subscriptions, and what a smaller plan found there stays", async () => {
    const memory = emptyMemoryMetadata();
    const before = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    await before.createKafkaCluster("k", { "bootstrap.servers": "b:1" });
    for (const name of ["A", "B", "C", "D"]) {
      await before.register(aRequest((await endpointOf([aWireService(name, ["h"])])).uri), signal);
      await before.createSubscription("kafka://k/t", `service://${name}/h`, {});
    }
    registry = await createTestRegistry({ metadata: createMemoryMetadataStore(memory), options: { bounds } });
    await expect(registry.createSubscription("kafka://k/u", "service://A/h", {})).rejects.toMatchObject(full("1 subscriptions"));
    expect([registry.deployments().length, registry.subscriptions().length]).toEqual([4, 4]);
    const [one] = registry.deployments();
    if (one?.address.kind !== "http") throw new Error("there is no deployment");
    expect((await register(one.address.uri, { force: true })).kind).toBe("replaced");
  });

  test("nothing is kept of a completed invocation for longer", async () => {
    const defaults = { ...SERVICE_DEFAULTS, retentionMaxMs: 5_000 };
    registry = await createTestRegistry({ options: { defaults } });
    const day = 86_400_000;
    const handlers = [{ name: "run", ty: "WORKFLOW", workflowCompletionRetention: day }];
    const workflow = { name: "W", ty: "WORKFLOW", handlers, journalRetention: day };
    const service = aWireService("S", ["h"], { idempotencyRetention: day });
    await register((await endpointOf([workflow, service])).uri);
    const kept = { workflowRetentionMs: 5_000, journalRetentionMs: 5_000 };
    expect(registry.current().services.get("S")?.handlers.get("h")?.idempotencyRetentionMs).toBe(5_000);
    expect(registry.current().services.get("W")?.handlers.get("run")).toMatchObject(kept);
    await registry.modifyService("W", overrides({ workflowCompletionRetentionMs: day }));
    expect(registry.current().services.get("W")?.handlers.get("run")).toMatchObject(kept);
    const located = registry.service("W");
    expect(located && registry.effective(located)).toMatchObject({
      workflowCompletionRetentionMs: 5_000,
      notices: [{ code: "RT0022" }],
    });
  });
});

describe("storage", () => {
  async function reopened(setup: TestRegistrySetup): Promise<RegistryRole> {
    return createTestRegistry(setup);
  }

  test("everything is there again after a restart", async () => {
    const memory = emptyMemoryMetadata();
    registry = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    const schema = { type: "object" };
    const services = [
      aWireService("S", []),
      { name: "T", ty: "SERVICE", handlers: [{ name: "h", input: { jsonSchema: schema } }] },
    ];
    const first = await register((await endpointOf(services)).uri, { metadata: { a: "b" } });
    await register((await endpointOf([aWireService("S", ["more"])])).uri);
    await registry.modifyService("S", overrides({ abortTimeoutMs: 77 }));
    await registry.createKafkaCluster("k", { "bootstrap.servers": "b:1" });
    const subscription = await registry.createSubscription("kafka://k/t", "service://S/more", {});
    await registry.putRules([
      aRuleChange({ pattern: "*", concurrency: 5 }),
      aRuleChange({ pattern: "*/*", rate: { limit: 10, periodMs: 1000, burst: 3 }, weight: 2, priority: 1 }),
    ]);
    const again = await reopened({ metadata: createMemoryMetadataStore(memory) });
    expect(again.deployments()).toEqual(registry.deployments());
    expect(again.deployment(first.deployment.id)).toEqual(first.deployment);
    expect(again.current()).toEqual(registry.current());
    expect(again.service("S")?.revision).toMatchObject({ revision: 2, overrides: { abortTimeoutMs: 77 } });
    expect(again.kafkaClusters()).toEqual(registry.kafkaClusters());
    expect(again.subscriptions()).toEqual([subscription]);
    expect(again.rules()).toEqual(registry.rules());
  });

  test("two processes on one store see each other's changes and never take the same revision", async () => {
    const memory = emptyMemoryMetadata();
    registry = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    const other = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    const { deployment } = await register((await endpointOf([aWireService("S", ["h"])])).uri);
    // `other` has not heard of the deployment: before it refuses it looks whether it is behind.
    await other.modifyService("S", overrides({ inactivityTimeoutMs: 9 }));
    await registry.modifyService("S", overrides({ abortTimeoutMs: 1 }));
    // `other` still has the older version of the document: its write conflicts, it reloads and decides again.
    const modified = await other.modifyService("S", overrides({ public: false }));
    expect(modified.revision.overrides).toMatchObject({ inactivityTimeoutMs: 9, abortTimeoutMs: 1, public: false });
    await other.remove(deployment.id, true);
    await registry.reload();
    expect(registry.deployments()).toEqual([]);
  });

  test("two processes that decide at the same moment never both get what only one can have", async () => {
    const memory = emptyMemoryMetadata();
    const both = await Promise.all([1, 2].map(() => createTestRegistry({ metadata: createMemoryMetadataStore(memory) })));
    const [one, two] = both as [RegistryRole, RegistryRole];
    const asked = async (name: string) => aRequest((await endpointOf([aWireService(name, ["h"])])).uri);

    const same = await asked("S");
    const outcomes = await Promise.allSettled([one.register(same, signal), two.register(same, signal)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { status: 409, code: "META0004" } });

    const requests = await Promise.all(Array.from({ length: 12 }, () => asked("S")));
    await Promise.all(requests.map((request, n) => (both[n % 2] as RegistryRole).register(request, signal)));
    await Promise.all(both.map((each) => each.reload()));
    const revisions = one.deployments().flatMap(({ services }) => services.map(({ revision }) => revision));
    expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, n) => n + 1));
    expect(two.deployments()).toEqual(one.deployments());

    await one.createKafkaCluster("k", { "bootstrap.servers": "b:1" });
    const { id } = await two.createSubscription("kafka://k/t", "service://S/h", {});
    await one.pauseSubscription(id, true);
    await two.pauseSubscription(id, false); // It had not heard of the pause.
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
    registry = await createTestRegistry({ metadata: flaky });
    isBroken = true;
    await expect(registry.createKafkaCluster("k", { "bootstrap.servers": "b" })).rejects.toMatchObject({ code: "STO0001" });
    expect(registry.kafkaClusters()).toEqual([]);
    isBroken = false;
    await registry.createKafkaCluster("k", { "bootstrap.servers": "b" });
    expect(registry.kafkaClusters()).toHaveLength(1);
  });

  test.each([
    ["a deployment without services", "registry/deployment/dp_x", { id: "dp_14pRvKO3JzniV4tg6GOFKOl" }],
    ["a deployment with a bad id", "registry/deployment/dp_x", { id: "dp_x" }],
    ["a kind of document nobody knows", "registry/secret/x", {}],
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

test("listeners hear of every change once it can be read, until they stop listening", async () => {
  const seen: number[] = [];
  const stop = registry.onChange(() => seen.push(registry.kafkaClusters().length));
  registry.onChange(() => {
    throw new Error("a listener with a bug concerns nobody else");
  });
  await registry.createKafkaCluster("a", { "bootstrap.servers": "b" });
  await registry.createKafkaCluster("b", { "bootstrap.servers": "b" });
  await expect(registry.createKafkaCluster("b", { "bootstrap.servers": "b" })).rejects.toMatchObject({ status: 409 });
  stop();
  await registry.removeKafkaCluster("a", false);
  expect(seen).toEqual([1, 2]);
});

describe("Kafka", () => {
  test("clusters of the server's settings are shown, used, and not changed here", async () => {
    registry = await createTestRegistry({ options: { kafkaClusters: new Map([["fixed", { "bootstrap.servers": "b:1" }]]) } });
    await register((await endpointOf([aWireService("S", ["h"])])).uri);
    expect(registry.kafkaClusters().map(({ name }) => name)).toEqual(["fixed"]);
    for (const change of [
      registry.updateKafkaCluster("fixed", { "bootstrap.servers": "x" }),
      registry.removeKafkaCluster("fixed", true),
      registry.createKafkaCluster("fixed", { "bootstrap.servers": "x" }),
    ]) {
      await expect(change).rejects.toMatchObject({ status: 409 });
    }
    expect(await registry.createSubscription("kafka://fixed/t", "service://S/h", {})).toMatchObject({
      source: "kafka://fixed/t",
    });
  });

  test("group and client id of a subscription come from it, from the cluster, or are made up", async () => {
    await register((await endpointOf([aWireService("S", ["h"])])).uri);
    await registry.createKafkaCluster("plain", { "bootstrap.servers": "b" });
    await registry.createKafkaCluster("named", { "bootstrap.servers": "b", "group.id": "g", "client.id": "c" });
    const made = await registry.createSubscription("kafka://plain/t", "service://S/h", {});
    expect(made.options).toEqual({ "group.id": made.id, "client.id": "restate" });
    expect((await registry.createSubscription("kafka://named/t", "service://S/h", {})).options).toEqual({ "group.id": "g" });
    const own = { "group.id": "o", "client.id": "p" };
    expect((await registry.createSubscription("kafka://named/t", "service://S/h", own)).options).toEqual(own);
  });
});
