/** Environments and their keys, by the operations of the Cloud API. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseApiKey } from "@perdure/cloud";
import type { AccountOperations } from "@perdure/cloud-client";
import type { TestUser } from "../src/testing/index.js";
import { CloudWorld } from "./cloud-world.js";

let world: CloudWorld;
beforeAll(async () => {
  world = await CloudWorld.open();
}, 120_000);
afterAll(() => world[Symbol.asyncDispose]());

describe("environments", () => {
  test("bad requests are refused with the name of the field", async () => {
    const user = await world.cloud.user();
    const account = await user.account("team");
    const create = (body: object) => world.call(`/cloud/${account}/CreateEnvironment`, user.token, JSON.stringify(body));
    for (const name of ["", "Dev", "default", "global", "local", "a b", "x".repeat(41), undefined]) {
      expect(await create({ name, region: "us" })).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(/^name: /) },
      });
    }
    for (const region of ["mars", "", undefined]) {
      expect(await create({ name: "a", region })).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(/^region: /) },
      });
    }
    expect(await create({ name: "a", region: "eu" })).toMatchObject({ status: 200, body: { status: "PENDING" } });
    expect(await create({ name: "a", region: "us" })).toMatchObject({ status: 409 });
  });

  test("concurrent requests: an idempotency key makes one environment, and the plan's number is never exceeded", async () => {
    const user = await world.cloud.user();
    const account = await user.account();
    const create = (name: string, idempotencyKey?: string) =>
      user.client.account(account, "CreateEnvironment", { name, region: "us", idempotencyKey }).then(
        ({ environmentId }) => environmentId as string,
        (cause: { code: string }) => cause.code,
      );
    const keyed = await Promise.all([1, 2, 3, 4, 5].map(() => create("one", "k1")));
    expect(new Set(keyed).size).toBe(1);
    const rest = await Promise.all([1, 2, 3, 4].map((n) => create(`more${n}`)));
    expect(rest.filter((outcome) => outcome === "PERD0201")).toHaveLength(3);
    expect(await create("one", "k1")).toBe(keyed[0]);
    expect((await user.client.account(account, "ListEnvironments", {})).environments).toHaveLength(2);
    expect(
      await user.client.account(account, "CreateEnvironment", { name: "x", region: "eu", idempotencyKey: "k1" }).catch((e) => e),
    ).toMatchObject({
      status: 409,
    });
  });

  test("can be suspended, deleted and restored", async () => {
    const [owner, admin] = [await world.cloud.user(), await world.cloud.user()];
    const account = await owner.account();
    await world.cloud.ports.database.tables.accounts.addMember({
      accountId: account,
      userId: admin.id,
      role: "admin",
      sinceMs: 1,
    });
    const environmentId = await world.environmentOf(owner, account);
    const as =
      (user: TestUser) =>
      (name: keyof AccountOperations, more: object = {}) =>
        world.call(`/cloud/${account}/${name}`, user.token, JSON.stringify({ environmentId, ...more }));
    const call = as(owner);
    expect(await call("SuspendEnvironment")).toMatchObject({ status: 409 });
    await world.activate(environmentId);
    expect(await call("SuspendEnvironment")).toMatchObject({ status: 200, body: { status: "SUSPENDED", suspendedFor: "user" } });
    expect(await call("SuspendEnvironment")).toMatchObject({ status: 409 });
    expect(await call("ResumeEnvironment")).toMatchObject({ status: 200, body: { status: "ACTIVE" } });
    const key = await owner.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
    expect(await call("DestroyEnvironment", { confirmName: "dve" })).toMatchObject({ status: 400 });
    expect(await call("DestroyEnvironment", { confirmName: "dev" })).toMatchObject({
      status: 200,
      body: { result: { ok: true } },
    });
    expect(await world.cloud.tenancy.authenticate(key.apiKey, environmentId)).toEqual({ kind: "unknown" });
    for (const name of ["CreateApiKey", "RotateSigningKey", "UpdateEnvironment"] as const) {
      expect(await call(name, { roleId: "rst:role::FullAccess" })).toMatchObject({ status: 409 });
    }
    expect(await as(admin)("UndeleteEnvironment")).toMatchObject({ status: 403 });
    const other = await world.environmentOf(owner, account);
    expect(other).not.toBe(environmentId);
    expect(await call("UndeleteEnvironment")).toMatchObject({ status: 409 });
    expect(await call("UndeleteEnvironment", { name: "dev2" })).toMatchObject({
      status: 200,
      body: { status: "PENDING", name: "dev2" },
    });
    expect(await call("UndeleteEnvironment")).toMatchObject({
      body: { restate_code: expect.stringMatching(/PERD0201|PERD0409/) },
    });
  });

  test("destroyed ones count until they are erased: one can be replaced, but not repeatedly", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account(); // The plan allows two environments.
    const replace = async (name: string): Promise<void> => {
      const environmentId = await world.environmentOf(owner, account, name);
      await world.activate(environmentId);
      await owner.client.account(account, "DestroyEnvironment", { environmentId, confirmName: name });
    };
    for (const name of ["one", "two", "three", "four"]) await replace(name);
    await expect(world.environmentOf(owner, account, "five")).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining("kept for 7 days"),
    });
  });

  test("one that quotas suspended cannot be resumed by hand, also not through deletion", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account();
    const environmentId = await world.environmentOf(owner, account);
    await world.activate(environmentId);
    await world.cloud.ports.database.tables.environments.take(environmentId, {
      event: "suspend",
      suspendedFor: "quota",
      nowMs: 1,
    });
    const resume = () => world.call(`/cloud/${account}/ResumeEnvironment`, owner.token, JSON.stringify({ environmentId }));
    expect(await resume()).toMatchObject({ status: 403, body: { restate_code: "PERD0201" } });
    await owner.client.account(account, "DestroyEnvironment", { environmentId, confirmName: "dev" });
    const back = await owner.client.account(account, "UndeleteEnvironment", { environmentId });
    expect(back).toMatchObject({ status: "SUSPENDED", suspendedFor: "quota" });
  });

  test("settings of its endpoints are changed and shown", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account();
    const environmentId = await world.environmentOf(owner, account);
    const update = (body: object) =>
      world.call(`/cloud/${account}/UpdateEnvironment`, owner.token, JSON.stringify({ environmentId, ...body }));
    const changes = { name: "prod", corsOrigins: ["https://app.example"], forwardsForeignAuthorization: true };
    expect(await update(changes)).toMatchObject({ status: 200, body: changes });
    expect(await update({ corsOrigins: ["app.example"] })).toMatchObject({ status: 400 });
    const facts = await world.cloud.tenancy.environment(environmentId.slice(4) as never);
    expect(facts).toMatchObject({ corsOrigins: ["https://app.example"], forwardsForeignAuthorization: true });
  });
});

describe("API keys", () => {
  test("are shown once, listed without their secret, bounded by the plan, and deleted", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account();
    const environmentId = await world.environmentOf(owner, account);
    const create = (more = {}) =>
      owner.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::IngressAccess", ...more });
    const made = await create({ description: "ci", expiresAt: 4_000_000_000 });
    expect(parseApiKey(made.apiKey)?.id).toBe(made.keyId);
    const secret = made.apiKey.split(".")[1] as string;
    const { apiKey: _, ...shown } = made;
    expect(await owner.client.account(account, "DescribeApiKey", { environmentId, keyId: made.keyId })).toEqual(shown);
    expect((await owner.client.account(account, "ListApiKeys", { environmentId })).apiKeys).toEqual([shown]);
    expect(JSON.stringify(await world.cloud.ports.database.tables.apiKeys.get(made.keyId))).not.toContain(secret);
    expect(await create({ expiresAt: 5 }).catch((e) => e)).toMatchObject({ status: 400 });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => create()));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
    const remove = () => owner.client.account(account, "DeleteApiKey", { environmentId, keyId: made.keyId });
    expect(await remove()).toEqual({ result: { ok: true } });
    expect(await remove().catch((e) => e)).toMatchObject({ status: 404 });
    expect(await owner.client.account(account, "DescribeApiKey", { environmentId, keyId: made.keyId })).toMatchObject({
      state: "DELETED",
    });
    const audit = await owner.client.account(account, "ListAuditEvents", {});
    expect(JSON.stringify(audit)).not.toContain(secret);
    expect(audit.events.map(({ action }) => action)).toEqual(expect.arrayContaining(["key.create", "key.delete"]));
  });

  test("developers delete their own, admins all", async () => {
    const [owner, developer] = [await world.cloud.user(), await world.cloud.user()];
    const account = await owner.account();
    await world.cloud.ports.database.tables.accounts.addMember({
      accountId: account,
      userId: developer.id,
      role: "developer",
      sinceMs: 1,
    });
    const environmentId = await world.environmentOf(owner, account);
    const create = (by: TestUser) =>
      by.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
    const remove = (by: TestUser, keyId: Awaited<ReturnType<typeof create>>["keyId"]) =>
      by.client.account(account, "DeleteApiKey", { environmentId, keyId }).then(
        () => 200,
        ({ status }: { status: number }) => status,
      );
    const [ofOwner, own, third] = [await create(owner), await create(developer), await create(developer)];
    expect([
      await remove(developer, ofOwner.keyId),
      await remove(developer, own.keyId),
      await remove(owner, third.keyId),
    ]).toEqual([403, 200, 200]);
  });
});

describe("signing keys", () => {
  test("are rotated without a moment in which services would refuse the platform", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account();
    const environmentId = await world.environmentOf(owner, account);
    const step = (name: "RotateSigningKey" | "PromoteSigningKey" | "RetireSigningKey", more = {}) =>
      owner.client.account(account, name, { environmentId, ...more });
    const failing = (work: Promise<unknown>) => work.catch(({ status }) => status);
    const first = (await owner.client.account(account, "DescribeEnvironment", { environmentId })).signingPublicKey;
    expect(await failing(step("PromoteSigningKey"))).toBe(409);
    const rotated = await step("RotateSigningKey");
    const second = rotated.nextSigningPublicKey as string;
    expect(rotated).toMatchObject({ signingPublicKey: first, signingPublicKeys: [first, second] });
    expect(await failing(step("RotateSigningKey"))).toBe(409);
    const described = () => owner.client.account(account, "DescribeEnvironment", { environmentId });
    expect(await described()).toMatchObject({ nextSigningPublicKey: second });
    const promoted = await step("PromoteSigningKey");
    expect(promoted).toMatchObject({
      signingPublicKey: second,
      signingPublicKeys: [second, first],
      previousSigningPublicKey: first,
    });
    expect((await world.cloud.tenancy.environment(environmentId.slice(4) as never))?.signingPublicKeys).toEqual([second, first]);
    expect((await world.cloud.ports.database.tables.environments.get(environmentId))?.generation).toBe(2);
    expect(await failing(step("RetireSigningKey"))).toBe(409);
    const { previousSigningPublicKey, previousRetirableAt = 0 } = await described();
    expect(previousSigningPublicKey).toBe(first);
    expect(Math.abs(previousRetirableAt - 86_400 - world.cloud.clock.nowMs() / 1_000)).toBeLessThan(60);
    expect(await step("RetireSigningKey", { force: true })).toMatchObject({ signingPublicKeys: [second] });
    expect(JSON.stringify([rotated, promoted])).not.toContain("PRIVATE");
  });
});
