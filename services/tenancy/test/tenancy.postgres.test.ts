import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Secret, systemRandom } from "@perdure/base";
import {
  apiKeyText,
  bareOf,
  type EnvironmentId,
  type EnvironmentSleep,
  newApiKey,
  newEnvironmentId,
  parseApiKey,
  type TenancyChange,
} from "@perdure/cloud";
import type { HibernationMonitor } from "@perdure/environments";
import { createTenancy } from "@perdure/environments";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { openTestTenancy, type TestTenancy, type TestUser } from "../src/testing/index.js";

let database: EmptyDatabase;
let cloud: TestTenancy;
beforeAll(async () => {
  database = await startDatabase();
  cloud = await openTestTenancy(database.url, { withPorts: true });
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function world() {
  const owner: TestUser = await cloud.user();
  const account = await owner.account();
  const create = async (name: string): Promise<EnvironmentId> =>
    (await owner.client.account(account, "CreateEnvironment", { name, region: "us" })).environmentId;
  const key = (environmentId: EnvironmentId, expiresAt?: number) =>
    owner.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::AdminAccess", expiresAt });
  return { owner, account, create, key };
}

describe("callers of credentials", () => {
  test("a key is valid in its own environment, elsewhere in another, unknown when any part is wrong", async () => {
    const { create, key } = await world();
    const [one, two] = [await create("one"), await create("two")];
    const { apiKey, keyId } = await key(one);
    const caller = { kind: "key", id: keyId, role: "rst:role::AdminAccess", expiresAtMs: undefined };
    expect(await cloud.tenancy.authenticate(apiKey, one)).toEqual({ kind: "caller", caller });
    expect(await cloud.tenancy.authenticate(apiKey, two)).toEqual({ kind: "elsewhere" });
    expect(await cloud.tenancy.authenticate(apiKey, newEnvironmentId(1, systemRandom))).toEqual({ kind: "elsewhere" });
    const forged = { id: keyId, secret: newApiKey(systemRandom).secret };
    const wrong = [
      apiKeyText(forged),
      apiKeyText(newApiKey(systemRandom)),
      apiKey.slice(0, -1),
      "key_",
      "",
      "opaque",
      apiKey.toLowerCase(),
    ];
    for (const credential of wrong) expect(await cloud.tenancy.authenticate(credential, one)).toEqual({ kind: "unknown" });
  });

  test("a key with another key's secret is unknown, even with a valid checksum", async () => {
    const { create, key } = await world();
    const one = await create("one");
    const [first, second] = [await key(one), await key(one)];
    const secretOf = (text: string): Secret => parseApiKey(text)?.secret as Secret;
    const record = await cloud.ports.database.tables.apiKeys.get(first.keyId);
    expect(cloud.ports.ring.matches(secretOf(first.apiKey), record?.secretHash as Uint8Array, 1)).toBe(true);
    expect(cloud.ports.ring.matches(secretOf(second.apiKey), record?.secretHash as Uint8Array, 1)).toBe(false);
  });

  test("a key ends when it expires, and its use is recorded at intervals", async () => {
    const { owner, account, create, key } = await world();
    const one = await create("one");
    const { apiKey, keyId } = await key(one, Math.floor(cloud.clock.nowMs() / 1_000) + 3_600);
    await cloud.tenancy.authenticate(apiKey, one);
    const described = () => owner.client.account(account, "DescribeApiKey", { environmentId: one, keyId });
    const { lastUsedAt } = await described();
    expect(lastUsedAt).toBeDefined();
    cloud.clock.aheadMs += 60_000;
    await cloud.tenancy.authenticate(apiKey, one);
    expect((await described()).lastUsedAt).toBe(lastUsedAt);
    cloud.clock.aheadMs += 3_600_000;
    expect(await cloud.tenancy.authenticate(apiKey, one)).toEqual({ kind: "unknown" });
    cloud.clock.aheadMs = 0;
  });

  test("a kept key outlives the membership of the user who made it, and still contains that user", async () => {
    const { owner, account, create } = await world();
    const one = await create("one");
    const maker = await cloud.user();
    const { accounts } = cloud.ports.database.tables;
    await accounts.addMember({ accountId: account, userId: maker.id, role: "developer", sinceMs: 1 });
    const made = { environmentId: one, roleId: "rst:role::AdminAccess" } as const;
    const { apiKey, keyId } = await maker.client.account(account, "CreateApiKey", made);
    const authentication = { kind: "caller", caller: { kind: "key", id: keyId, role: "rst:role::AdminAccess" } };
    await owner.client.account(account, "UpdateMember", { userId: maker.id, role: "viewer", keepApiKeys: true });
    expect(await cloud.tenancy.authenticate(apiKey, one)).toMatchObject(authentication);
    await owner.client.account(account, "RemoveMember", { userId: maker.id, keepApiKeys: true });
    expect(await cloud.tenancy.authenticate(apiKey, one)).toMatchObject(authentication);
    const { apiKeys } = await owner.client.account(account, "ListApiKeys", { environmentId: one });
    expect(apiKeys).toMatchObject([{ keyId, createdBy: maker.id, state: "ACTIVE" }]);
    const { members } = await owner.client.account(account, "ListMembers", {});
    expect(members.map(({ userId }) => userId)).toEqual([owner.id]);
    await owner.client.account(account, "DeleteApiKey", { environmentId: one, keyId });
    expect(await cloud.tenancy.authenticate(apiKey, one)).toEqual({ kind: "unknown" });
  });

  test("a user has the role of the present membership", async () => {
    const { owner, account, create } = await world();
    const one = await create("one");
    const invitee = await cloud.user();
    expect(await cloud.tenancy.authenticate(owner.token, one)).toMatchObject({
      caller: { kind: "member", id: owner.id, role: "owner" },
    });
    expect(await cloud.tenancy.authenticate(invitee.token, one)).toEqual({ kind: "elsewhere" });
    const { accounts } = cloud.ports.database.tables;
    await accounts.addMember({ accountId: account, userId: invitee.id, role: "viewer", sinceMs: 1 });
    expect(await cloud.tenancy.authenticate(invitee.token, one)).toMatchObject({ caller: { role: "viewer" } });
    await owner.client.account(account, "RemoveMember", { userId: invitee.id });
    expect(await cloud.tenancy.authenticate(invitee.token, one)).toEqual({ kind: "elsewhere" });
    expect(await cloud.tenancy.authenticate(`${invitee.token}x`, one)).toEqual({ kind: "unknown" });
    expect(await cloud.tenancy.authenticate(owner.token, newEnvironmentId(1, systemRandom))).toEqual({ kind: "elsewhere" });
  });
});

describe("facts for gateways", () => {
  test("every environment alone and among all, with its own limits and ports", async () => {
    const { create } = await world();
    const [one, two] = [await create("one"), await create("two")];
    const all = await cloud.tenancy.environments();
    for (const id of [one, two]) {
      const facts = await cloud.tenancy.environment(bareOf(id));
      expect(facts).toMatchObject({ id, limits: { ingressRate: { perSecond: 20, burst: 50 } }, corsOrigins: ["*"] });
      expect(all.find((each) => each.id === id)).toEqual(facts);
    }
    const urls = all.flatMap(({ ingressUrl, adminUrl }) => [ingressUrl, adminUrl]);
    expect(new Set(urls).size).toBe(urls.length);
    expect(urls.every((url) => /^http:\/\/127\.0\.0\.1:3\d{4}$/.test(url))).toBe(true);
    expect(await cloud.tenancy.environment(bareOf(newEnvironmentId(1, systemRandom)))).toBeUndefined();
  });

  test("change events stop with the signal", async () => {
    const { create } = await world();
    const tenancy = createTenancy(cloud.ports);
    const kinds: string[] = [];
    const stop = new AbortController();
    const other = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    const listening = new AbortController();
    tenancy.watch(({ kind }) => (kind === "environment" ? other.resolve() : ready.resolve()), { signal: listening.signal });
    await ready.promise;
    tenancy.watch((change) => kinds.push(change.kind), { signal: stop.signal });
    stop.abort();
    await create("one");
    await other.promise;
    listening.abort();
    expect(kinds).toEqual([]);
  });
});

describe("hibernation", () => {
  test("is part of the facts, and each change is a change event; an environment that is awake has no such field", async () => {
    const { create } = await world();
    const [hibernated, other] = [await create("sleeper"), await create("other")];
    const sleeps = new Map<EnvironmentId, EnvironmentSleep>([[hibernated, "asleep"]]);
    const changes = new Set<(id: EnvironmentId) => void>();
    const hibernation: HibernationMonitor = {
      sleepOf: (id) => sleeps.get(id),
      watch: (listener, { signal }) => {
        changes.add(listener);
        signal.addEventListener("abort", () => changes.delete(listener), { once: true });
      },
    };
    const tenancy = createTenancy({ ...cloud.ports, hibernation });
    expect(await tenancy.environment(bareOf(hibernated))).toMatchObject({ id: hibernated, sleep: "asleep" });
    expect(await tenancy.environment(bareOf(other))).not.toHaveProperty("sleep");
    sleeps.set(other, "waking");
    const all = new Map((await tenancy.environments()).map(({ id, sleep }) => [id, sleep]));
    expect([all.get(hibernated), all.get(other)]).toEqual(["asleep", "waking"]);

    const stop = new AbortController();
    const receivedChanges: TenancyChange[] = [];
    tenancy.watch((change) => receivedChanges.push(change), { signal: stop.signal });
    for (const listener of changes) listener(hibernated);
    expect(receivedChanges).toContainEqual({ kind: "environment", id: hibernated });
    stop.abort();
    expect(changes.size).toBe(0);
  });
});
