/** The rules of versioning (interface specification §9), over real endpoints. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { DeploymentId } from "@perdure/base";
import type { DeploymentUsage } from "@perdure/metadata";
import { aManifest, aWireService, createTestRegistry } from "./testing/index.js";
import { at, overrides, RegistryWorld } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe("registering", () => {
  test("a new destination is created, and its services are served at once", async () => {
    const endpoint = await world.endpointOf([aWireService("S", ["h"])]);
    const outcome = await world.register(endpoint.uri, { additionalHeaders: { "X-Key": "v" }, metadata: { env: "test" } });
    expect(outcome).toMatchObject({
      kind: "created",
      deployment: { additionalHeaders: { "x-key": "v" }, metadata: { env: "test" }, services: [{ revision: 1 }] },
    });
    const { services, deployments } = world.registry.current();
    expect(services.get("S")).toMatchObject({ revision: 1, deploymentId: outcome.deployment.id });
    expect(deployments.get(outcome.deployment.id)?.services.get("S")).toBe(services.get("S"));
  });

  test("new code at a new destination is the next revision; the older one keeps serving what is pinned to it", async () => {
    const first = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    const second = await world.register((await world.endpointOf([aWireService("S", ["h", "more"])])).uri);
    expect(world.revisionOf("S")).toBe(2);
    expect(world.registry.current().services.get("S")?.deploymentId).toBe(second.deployment.id);
    expect([
      ...(world.registry.current().deployments.get(first.deployment.id)?.services.get("S")?.handlers.keys() ?? []),
    ]).toEqual(["h"]);
  });

  test("META0004: an existing destination is refused without force, however it is written", async () => {
    const endpoint = await world.endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await world.register(endpoint.uri);
    for (const uri of [endpoint.uri, `${endpoint.uri}/`, `${endpoint.uri}/?q=1`]) {
      await expect(world.register(uri)).rejects.toMatchObject({
        status: 409,
        code: "META0004",
        message: expect.stringContaining(deployment.id),
      });
    }
    expect(world.revisionOf("S")).toBe(1);
  });

  test("tools that register on every deploy get the unchanged deployment, and a refusal when something changed", async () => {
    const endpoint = await world.endpointOf([aWireService("S", ["a", "b"])]);
    const { deployment } = await world.register(endpoint.uri, { metadata: { env: "test" } });
    endpoint.say({ body: aManifest([aWireService("S", ["b", "a"])]) });
    expect(await world.register(endpoint.uri, { acceptUnchanged: true })).toEqual({ kind: "unchanged", deployment });
    for (const manifest of [
      aManifest([aWireService("S", ["a", "b", "c"])]),
      aManifest([aWireService("S", ["a", "b"])], { protocolMode: "REQUEST_RESPONSE" }),
      aManifest([aWireService("S", ["a", "b"])], { maxProtocolVersion: 6 }),
    ]) {
      endpoint.say({ body: manifest });
      await expect(world.register(endpoint.uri, { acceptUnchanged: true })).rejects.toMatchObject({ code: "META0004" });
    }
  });

  test("force replaces the deployment under its id, with new revisions and whatever it serves now", async () => {
    const endpoint = await world.endpointOf([aWireService("S", ["h"]), aWireService("Gone", ["h"])]);
    const { deployment } = await world.register(endpoint.uri);
    endpoint.say({ body: aManifest([aWireService("S", ["other"], { ty: "VIRTUAL_OBJECT" })]) });
    const replaced = await world.register(endpoint.uri, { force: true });
    expect(replaced).toMatchObject({ kind: "replaced", deployment: { id: deployment.id, services: [{ revision: 2 }] } });
    expect(world.registry.services().map(({ revision }) => revision.definition.name)).toEqual(["S"]);
    expect(world.registry.deployments()).toHaveLength(1);
  });

  test("META0017: force is refused while two deployments share the destination", async () => {
    const [a, b] = [await world.endpointOf([aWireService("S", ["h"])]), await world.endpointOf([aWireService("S", ["h"])])];
    const first = await world.register(a.uri);
    const second = await world.register(b.uri);
    await world.update(first.deployment.id, { address: at(b.uri) });
    const refusal = world.register(b.uri, { force: true });
    await expect(refusal).rejects.toMatchObject({ status: 409, code: "META0017" });
    await expect(refusal).rejects.toThrow(new RegExp(`${first.deployment.id}, ${second.deployment.id}`));
    await world.registry.remove(first.deployment.id, true);
    expect(await world.register(b.uri, { force: true })).toMatchObject({
      kind: "replaced",
      deployment: { id: second.deployment.id },
    });
  });

  test("META0006: a new revision keeps type and handlers, unless breaking or force is set", async () => {
    await world.register((await world.endpointOf([aWireService("S", ["a", "b"])])).uri);
    const typed = await world.endpointOf([aWireService("S", ["a", "b"], { ty: "VIRTUAL_OBJECT" })]);
    await expect(world.register(typed.uri)).rejects.toMatchObject({
      status: 409,
      code: "META0006",
      message: expect.stringContaining("type"),
    });
    const shorter = await world.endpointOf([aWireService("S", ["b"]), aWireService("T", [])]);
    await expect(world.register(shorter.uri, { dryRun: true })).rejects.toMatchObject({
      code: "META0006",
      message: expect.stringContaining("'a'"),
    });
    expect(world.registry.service("T")).toBeUndefined();
    expect(await world.register(shorter.uri, { breaking: true })).toMatchObject({ kind: "created" });
    expect(await world.register(typed.uri, { force: true })).toMatchObject({ kind: "created" });
    expect(world.revisionOf("S")).toBe(3);
  });

  test("a dry run returns the result and stores nothing", async () => {
    const endpoint = await world.endpointOf([aWireService("S", ["h"])]);
    const dry = await world.register(endpoint.uri, { dryRun: true });
    expect(dry).toMatchObject({ kind: "created", deployment: { services: [{ revision: 1 }] } });
    expect(world.registry.deployments()).toEqual([]);
    const real = await world.register(endpoint.uri);
    expect(real.deployment.id).not.toBe(dry.deployment.id);
    expect(await world.register(endpoint.uri, { dryRun: true, force: true })).toMatchObject({
      kind: "replaced",
      deployment: { services: [{ revision: 2 }] },
    });
    expect(world.revisionOf("S")).toBe(1);
  });

  test("routing headers make two destinations of one address", async () => {
    world.registry = await createTestRegistry({ options: { routingHeaders: ["x-route"] } });
    const endpoint = await world.endpointOf([aWireService("S", ["h"])]);
    const blue = await world.register(endpoint.uri, { additionalHeaders: { "X-Route": "blue" } });
    const green = await world.register(endpoint.uri, { additionalHeaders: { "x-route": "green" } });
    expect(green.deployment.id).not.toBe(blue.deployment.id);
    await expect(
      world.register(endpoint.uri, { additionalHeaders: { "x-route": "green", "x-more": "1" } }),
    ).rejects.toMatchObject({
      code: "META0004",
    });
  });

  test("registrations at the same time get different revisions", async () => {
    const endpoints = await Promise.all(Array.from({ length: 5 }, () => world.endpointOf([aWireService("S", ["h"])])));
    const outcomes = await Promise.all(endpoints.map(({ uri }) => world.register(uri)));
    expect(outcomes.map(({ deployment }) => deployment.services[0]?.revision).sort()).toEqual([1, 2, 3, 4, 5]);
    expect(world.revisionOf("S")).toBe(5);
  });
});

describe("updating in place", () => {
  test("an empty update requests no endpoint and changes nothing", async () => {
    const endpoint = await world.endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await world.register(endpoint.uri);
    expect(await world.update(deployment.id, {})).toBe(deployment);
    expect(endpoint.requests).toHaveLength(1);
  });

  test("a new address is adopted, the services stay as registered; overwrite replaces them under their revision", async () => {
    const { deployment } = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    const fixed = await world.endpointOf([aWireService("S", ["h", "more"]), aWireService("New", ["n"])]);
    const moved = await world.update(deployment.id, { address: at(fixed.uri), additionalHeaders: { "X-A": "1" } });
    expect(moved).toMatchObject({ id: deployment.id, address: { uri: `${fixed.uri}/` }, additionalHeaders: { "x-a": "1" } });
    expect(moved.services).toEqual(deployment.services);
    expect(fixed.requests.at(-1)?.headers).toMatchObject({ "x-a": "1" });
    await world.registry.modifyService("S", overrides({ public: false }));
    const overwritten = await world.update(deployment.id, { overwrite: true });
    expect(overwritten.services.map(({ definition, revision }) => [definition.name, revision])).toEqual([
      ["S", 1],
      ["New", 1],
    ]);
    expect(overwritten.services[0]?.definition.handlers).toHaveLength(2);
    expect(world.registry.current().services.get("S")?.handlers.get("more")?.public).toBe(true);
    expect(overwritten.createdAtMs).toBe(deployment.createdAtMs);
  });

  test("META0016: dissimilar services are refused, with and without overwrite, and the message has the reason", async () => {
    const { deployment } = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    const cases: [object, RegExp][] = [
      [aManifest([aWireService("S", [])]), /handlers.*h/],
      [aManifest([aWireService("S", ["h"], { ty: "VIRTUAL_OBJECT" })]), /type/],
      [aManifest([aWireService("T", ["h"])]), /'S' must stay/],
      [aManifest([aWireService("S", ["h"])], { maxProtocolVersion: 6 }), /versions/],
    ];
    for (const [manifest, why] of cases) {
      const endpoint = await world.serve(manifest);
      for (const overwrite of [false, true]) {
        const refusal = world.update(deployment.id, { address: at(endpoint.uri), overwrite });
        await expect(refusal).rejects.toMatchObject({ status: 400, code: "META0016" });
        await expect(refusal).rejects.toThrow(why);
      }
    }
    expect(world.registry.deployment(deployment.id)).toBe(deployment);
  });

  test("an overwrite cannot smuggle in a service that conflicts with a revision elsewhere", async () => {
    const { deployment } = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    await world.register((await world.endpointOf([aWireService("T", ["x"])])).uri);
    const next = await world.endpointOf([aWireService("S", ["h"]), aWireService("T", ["y"])]);
    await expect(world.update(deployment.id, { address: at(next.uri), overwrite: true })).rejects.toMatchObject({
      code: "META0006",
    });
  });

  test("a dry run returns the deployment as it would be", async () => {
    const { deployment } = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    const next = await world.endpointOf([aWireService("S", ["h"])]);
    expect((await world.update(deployment.id, { address: at(next.uri), dryRun: true })).address).toMatchObject({
      uri: `${next.uri}/`,
    });
    expect(world.registry.deployment(deployment.id)).toBe(deployment);
  });

  test("unknown deployments are 404, unreachable addresses META0003", async () => {
    await expect(world.update("dp_172rBAtdHx87DaRnSOtvv3P" as DeploymentId, {})).rejects.toMatchObject({ status: 404 });
    const endpoint = await world.endpointOf([aWireService("S", ["h"])]);
    const { deployment } = await world.register(endpoint.uri);
    endpoint.say({ status: 401, body: "" });
    await expect(world.update(deployment.id, { additionalHeaders: {} })).rejects.toMatchObject({ code: "META0003" });
  });
});

describe("removing", () => {
  const using = (change: Partial<DeploymentUsage>) => {
    Object.assign(world.usage, change);
  };

  test("what nothing needs goes without force, and the older revision serves again", async () => {
    const first = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    const second = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    await world.registry.remove(second.deployment.id, false);
    expect(world.registry.service("S")?.deployment.id).toBe(first.deployment.id);
    await world.registry.remove(first.deployment.id, false);
    expect(world.registry.services()).toEqual([]);
    await expect(world.registry.remove(first.deployment.id, true)).rejects.toMatchObject({ status: 404 });
  });

  test("pinned invocations keep it, with their count, until force", async () => {
    const { deployment } = await world.register((await world.endpointOf([aWireService("S", ["h"])])).uri);
    using({ pinned: 3 });
    await expect(world.registry.remove(deployment.id, false)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining("3 unfinished"),
    });
    await world.registry.remove(deployment.id, true);
    expect(world.registry.deployments()).toEqual([]);
  });

  test("unfinished invocations of a service keep its last deployment only", async () => {
    const [a, b] = [await world.endpointOf([aWireService("S", ["h"])]), await world.endpointOf([aWireService("S", ["h"])])];
    const older = await world.register(a.uri);
    const newer = await world.register(b.uri);
    using({
      unfinishedByService: new Map([
        ["S", 2],
        ["Other", 9],
      ]),
    });
    await expect(world.registry.remove(newer.deployment.id, false)).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/'S' has 2 unfinished/),
    });
    await world.registry.remove(older.deployment.id, false);
    expect(world.registry.deployments().map(({ id }) => id)).toEqual([newer.deployment.id]);
  });

  test("a twin at the same destination takes over", async () => {
    const [a, b] = [await world.endpointOf([aWireService("S", ["h"])]), await world.endpointOf([aWireService("S", ["h"])])];
    const older = await world.register(a.uri);
    const newer = await world.register(b.uri);
    await world.update(older.deployment.id, { address: at(b.uri) });
    using({ unfinishedByService: new Map([["S", 2]]) });
    await world.registry.remove(newer.deployment.id, false);
    expect(world.registry.service("S")?.deployment.id).toBe(older.deployment.id);
  });
});

test("listeners receive every change once it can be read, until they are removed", async () => {
  const counts: number[] = [];
  const stop = world.registry.onChange(() => counts.push(world.registry.kafkaClusters().length));
  world.registry.onChange(() => {
    throw new Error("a listener with a bug does not disturb the others");
  });
  await world.registry.createKafkaCluster("a", { "bootstrap.servers": "b" });
  await world.registry.createKafkaCluster("b", { "bootstrap.servers": "b" });
  await expect(world.registry.createKafkaCluster("b", { "bootstrap.servers": "b" })).rejects.toMatchObject({ status: 409 });
  stop();
  await world.registry.removeKafkaCluster("a", false);
  expect(counts).toEqual([1, 2]);
});
