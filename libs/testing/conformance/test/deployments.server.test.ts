/** Registering, replacing and removing code while it is in use; services' settings; state edited by hand. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { service } from "@restatedev/restate-sdk";
import { adminErrorOf, eventually, probe, SdkEndpoint, type SdkEndpointOptions, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";
import { storeObject } from "../src/services/store.js";
import { buildOf, repairOf } from "../src/services/versions.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: [echoService(""), storeObject("")] });
});
afterAll(() => world[Symbol.asyncDispose]());

interface DeploymentView {
  readonly id: string;
  readonly uri: string;
  readonly protocol_type: string;
  readonly http_version: string;
  readonly services: readonly { readonly name: string; readonly revision: number }[];
}

interface ServiceView {
  readonly name: string;
  readonly ty: string;
  readonly revision: number;
  readonly deployment_id: string;
  readonly public: boolean;
  readonly idempotency_retention: string;
  readonly inactivity_timeout: string;
  readonly handlers: readonly { readonly name: string; readonly ty?: string }[];
}

const serve = async (options: SdkEndpointOptions) => world.own(await SdkEndpoint.start(options));
const register = (uri: string, over: object = {}, prefix = "") => world.admin.post(`${prefix}/deployments`, { uri, ...over });
const serviceOf = async (name: string) => (await world.admin.get(`/services/${name}`)).json as ServiceView;
const deploymentOf = async (id: string) => (await world.admin.get(`/deployments/${id}`)).json as DeploymentView;
const idOf = (answer: { json: unknown }) => (answer.json as { id: string }).id;
let names = 0;
const newName = (what: string) => `${what}${++names}`;

async function held(name: string, key = "k"): Promise<{ id: string; release: (value: unknown) => Promise<unknown> }> {
  const { invocationId } = await world.ingress.send([name, key, "hold"]);
  const awakeable = await eventually("the awakeable", () => probe.get<string>(`hold:${name}:${key}`));
  return { id: invocationId, release: (value) => world.ingress.resolveAwakeable(awakeable, value) };
}

describe("registering", () => {
  test("makes services callable and returns all their metadata", async () => {
    const name = newName("Reg");
    const endpoint = await serve({ services: [buildOf(name, "one")] });
    const answer = await register(endpoint.url, { metadata: { team: "blue" } });
    expect(answer.status).toBe(201);
    const id = idOf(answer);
    expect(answer.headers["location"]).toBe(`deployments/${id}`);
    expect(await deploymentOf(id)).toMatchObject({
      id,
      uri: `${endpoint.url}/`,
      protocol_type: "BidiStream",
      http_version: "HTTP/2.0",
      metadata: { team: "blue" },
      min_protocol_version: 5,
      max_protocol_version: 7,
      sdk_version: "restate-sdk-typescript/1.17.2",
    });
    expect(await serviceOf(name)).toMatchObject({ name, ty: "VirtualObject", revision: 1, deployment_id: id, public: true });
    expect(await world.ingress.result([name, "k", "build"])).toBe("one");
    const handler = (await world.admin.get("/services/Echo/handlers/describe")).json;
    expect(handler).toMatchObject({ documentation: "a documented handler", metadata: { color: "green" } });
    expect((await world.admin.get(`/services/${name}/openapi`)).json).toMatchObject({ openapi: "3.1.0", info: { title: name } });
  });

  test("dry changes nothing", async () => {
    const name = newName("Dry");
    const endpoint = await serve({ services: [buildOf(name, "one")] });
    expect((await register(endpoint.url, { dry_run: true })).status).toBe(201);
    expect((await world.admin.get(`/services/${name}`)).status).toBe(404);
    expect((await register(endpoint.url)).status).toBe(201);
  });

  test("with force replaces what is there: the same deployment, a new revision", async () => {
    const name = newName("Force");
    const first = await SdkEndpoint.start({ services: [buildOf(name, "one")] });
    const id = idOf(await register(first.url));
    await first[Symbol.asyncDispose]();
    const again = await serve({ services: [buildOf(name, "two")], port: first.port });
    const forced = await register(again.url, { force: true });
    expect([forced.status, idOf(forced)]).toEqual([200, id]);
    expect((await serviceOf(name)).revision).toBe(2);
    expect(await world.ingress.result([name, "k", "build"])).toBe("two");
  });

  test("an existing deployment is not a conflict under the versioned prefixes", async () => {
    const name = newName("Tools");
    const endpoint = await serve({ services: [buildOf(name, "one")] });
    const id = idOf(await register(endpoint.url));
    for (const prefix of ["/v3", "/v4"]) {
      const same = await register(endpoint.url, {}, prefix);
      expect([same.status, idOf(same)]).toEqual([200, id]);
    }
    expect((await register(endpoint.url)).status).toBe(409);
    const legacy = await register(endpoint.url, {}, "/v2");
    expect([legacy.status, idOf(legacy)]).toEqual([201, id]);
    expect((await serviceOf(name)).revision).toBe(2);
  });
});

describe("a new deployment", () => {
  test("repairs invocations that failed before their first durable step", async () => {
    const name = newName("Mend");
    const build = (isBroken: boolean) =>
      service({
        name,
        handlers: {
          go: async () => {
            if (!isBroken) return "mended";
            probe.bump(`broken:${name}`);
            throw new Error("a bad deploy");
          },
        },
        options: { retryPolicy: { initialInterval: 50, maxInterval: 50, exponentiationFactor: 1, maxAttempts: 1_000 } },
      });
    await world.deploy({ services: [build(true)] });
    const { invocationId } = await world.ingress.send([name, "go"]);
    await eventually("failures", () => probe.count(`broken:${name}`) > 1);
    expect(await world.admin.row(invocationId)).not.toHaveProperty("pinned_deployment_id");
    await world.deploy({ services: [build(false)] });
    expect(await world.ingress.outcome(invocationId)).toBe("mended");
  });

  test("takes new invocations; those that run stay where they began", async () => {
    const name = newName("Pin");
    const one = await world.deploy({ services: [buildOf(name, "one")] });
    const before = await held(name);
    const scheduled = await world.ingress.send([name, "later", "build"], undefined, { delay: "1s" });
    const two = await world.deploy({ services: [buildOf(name, "two")], kind: "h1-request-response" });
    expect(await serviceOf(name)).toMatchObject({ revision: 2, deployment_id: two.id });
    expect((await deploymentOf(one.id)).services).toEqual([expect.objectContaining({ name, revision: 1 })]);
    expect(await world.ingress.result([name, "other", "build"])).toBe("two");
    // The deployment is chosen at the first attempt, not when the invocation is handed in.
    expect(await world.ingress.outcome(scheduled.invocationId)).toBe("two");
    await before.release("go");
    expect(await world.ingress.outcome(before.id)).toEqual(["one", "go", "one"]);
  });

  test("takes over a paused invocation when a resume names it", async () => {
    const name = newName("Repair");
    await world.deploy({ services: [repairOf(name, true)] });
    const { invocationId } = await world.ingress.send([name, "work"]);
    await eventually("its attempts", () => probe.count(`attempts:${name}`) === 2);
    await eventually("the pause", async () => (await world.admin.invocation(invocationId, "pause")).status === 200);
    const sound = await world.deploy({ services: [repairOf(name, false)] });
    expect((await world.admin.invocation(invocationId, "resume")).status).toBe(200);
    await eventually("two more attempts", () => probe.count(`attempts:${name}`) === 4);
    await eventually("the pause", async () => (await world.admin.invocation(invocationId, "pause")).status === 200);
    expect((await world.admin.invocation(invocationId, "resume", `?deployment=${sound.id}`)).status).toBe(200);
    expect(await world.ingress.outcome(invocationId)).toBe(1);
    expect(probe.count(`first:${name}`)).toBe(1);
  });
});

describe("updating in place", () => {
  test("moves a deployment with what runs on it to another address", async () => {
    const name = newName("Move");
    const old = await SdkEndpoint.start({ services: [buildOf(name, "old")] });
    const id = idOf(await register(old.url));
    const running = await held(name);
    const moved = await serve({ services: [buildOf(name, "moved")] });
    const updated = await world.admin.patch(`/deployments/${id}`, { uri: moved.url });
    expect([updated.status, (updated.json as DeploymentView).uri]).toEqual([200, `${moved.url}/`]);
    expect((await serviceOf(name)).revision).toBe(1);
    await old[Symbol.asyncDispose]();
    await running.release("go");
    expect(await world.ingress.outcome(running.id)).toEqual(["old", "go", "moved"]);
    expect((await world.admin.http.request("PUT", `/deployments/${id}`, { json: {} })).status).toBe(200);
    expect((await world.admin.patch("/deployments/dp_15ChR1PDwZt22Rn2lfZrRo5", {})).status).toBe(404);
  });
});

describe("removing", () => {
  test("is refused while something needs the deployment, and names it", async () => {
    const name = newName("Drain");
    const { id } = await world.deploy({ services: [buildOf(name, "one")] });
    const running = await held(name);
    const refused = await world.admin.delete(`/deployments/${id}`);
    expect(refused.status).toBe(409);
    expect(adminErrorOf(refused).message).toContain("1 unfinished");
    await world.deploy({ services: [buildOf(name, "two")] });
    expect((await world.admin.delete(`/deployments/${id}`)).status).toBe(409); // Still pinned.
    await running.release("go");
    await world.ingress.outcome(running.id);
    expect((await world.admin.delete(`/deployments/${id}`)).status).toBe(202);
    expect((await world.admin.get(`/deployments/${id}`)).status).toBe(404);
    expect((await world.admin.delete(`/deployments/${id}`)).status).toBe(404);
    expect(await world.ingress.result([name, "k", "build"])).toBe("two");
  });

  test("of the last deployment takes the service away", async () => {
    const name = newName("Last");
    const { id } = await world.deploy({ services: [buildOf(name, "one")] });
    await world.ingress.result([name, "k", "build"]);
    expect((await world.admin.delete(`/deployments/${id}`)).status).toBe(202);
    expect((await world.ingress.call([name, "k", "build"])).status).toBe(404);
    expect((await world.admin.get(`/services/${name}`)).status).toBe(404);
  });
});

describe("a service's settings", () => {
  test("are changed by hand, until it is registered again", async () => {
    const name = newName("Tuned");
    const { endpoint } = await world.deploy({ services: [buildOf(name, "one")] });
    const changed = await world.admin.patch(`/services/${name}`, {
      public: false,
      idempotency_retention: "2 days",
      inactivity_timeout: "PT1H30M",
    });
    expect(changed.json).toMatchObject({ public: false, idempotency_retention: "2d", inactivity_timeout: "1h 30m" });
    expect((await world.ingress.call([name, "k", "build"])).status).toBe(400);
    expect((await world.admin.patch(`/services/${name}`, { idempotency_retention: "soon" })).status).toBe(422);
    expect((await world.admin.patch("/services/Nowhere", { public: true })).status).toBe(404);
    expect((await world.admin.patch(`/services/${name}`, { workflow_completion_retention: "1d" })).status).toBe(400);
    await world.register(endpoint, { force: true });
    expect(await serviceOf(name)).toMatchObject({ public: true, idempotency_retention: "1d", revision: 2 });
  });
});

describe("state edited by hand", () => {
  const edit = (key: string, new_state: object, version?: string) =>
    world.admin.post("/services/Store/state", { object_key: key, new_state, ...(version === undefined ? {} : { version }) });
  const bytes = (value: unknown) => [...Buffer.from(JSON.stringify(value))];
  const get = (key: string, name: string) => world.ingress.result(["Store", key, "get"], name);
  const keysOf = (key: string) => world.ingress.result(["Store", key, "keys"]);
  /** As tools compute it: SHA-256 over the entries in the order of their keys (admin-api §4.1). */
  const versionOf = (state: Readonly<Record<string, unknown>>) => {
    const hash = createHash("sha256");
    for (const [i, [name, value]] of Object.entries(state)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .entries()) {
      const index = Buffer.alloc(8);
      index.writeBigUInt64BE(BigInt(i));
      hash.update(index).update("\u0001").update(name).update("\u0002").update(JSON.stringify(value)).update("\u0003");
    }
    return hash.digest("base64url");
  };

  test("replaces everything a key has", async () => {
    const key = newName("edit");
    await world.ingress.result(["Store", key, "put"], { a: 1, b: 2 });
    expect((await edit(key, { b: bytes("two"), c: bytes(3) })).status).toBe(202);
    await eventually("the edit", async () => (await get(key, "b")) === "two");
    expect(await keysOf(key)).toEqual(["b", "c"]);
    expect((await edit(key, {})).status).toBe(202);
    await eventually("the edit", async () => JSON.stringify(await keysOf(key)) === "[]");
  });

  test("waits behind the handler that runs", async () => {
    const key = newName("edit");
    const { invocationId } = await world.ingress.send(["Store", key, "hold"]);
    const awakeable = await eventually("the awakeable", () => probe.get<string>(`held::${key}`));
    expect((await edit(key, { edited: bytes(true) })).status).toBe(202);
    const after = await world.ingress.send(["Store", key, "append"], "after");
    expect(await get(key, "edited")).toBeNull();
    await world.ingress.resolveAwakeable(awakeable, "go");
    await world.ingress.outcome(invocationId);
    expect(await world.ingress.outcome(after.invocationId)).toEqual(["after"]);
    expect(await keysOf(key)).toEqual(["edited", "list"]);
  });

  test("is refused where it would overwrite a newer version", async () => {
    const key = newName("edit");
    await world.ingress.result(["Store", key, "put"], { a: 1 });
    expect((await edit(key, { a: bytes(2) }, versionOf({ a: 0 }))).status).toBe(409);
    expect(await get(key, "a")).toBe(1);
    expect((await edit(key, { a: bytes(2) }, versionOf({ a: 1 }))).status).toBe(202);
    await eventually("the edit", async () => (await get(key, "a")) === 2);
  });

  test("is nothing for plain services and unknown ones", async () => {
    const plain = await world.admin.post("/services/Echo/state", { object_key: "k", new_state: {} });
    expect([plain.status, adminErrorOf(plain).message]).toEqual([400, "Cannot modify state for service type Service"]);
    expect((await world.admin.post("/services/Nowhere/state", { object_key: "k", new_state: { a: [1] } })).status).toBe(404);
    expect((await world.admin.post("/services/Nowhere/state", { object_key: "k", new_state: {} })).status).toBe(202);
  });
});
