import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger, systemRandom } from "@perdure/base";
import {
  type AccountId,
  type EnvironmentId,
  newAccountId,
  newApiKeyId,
  newEnvironmentId,
  newUserId,
  type TenancyChange,
  type UserId,
} from "@perdure/cloud";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { AlreadyThere, openTenancyDatabase, type TenancyDatabase } from "./index.js";

const NOW_MS = Date.UTC(2026, 10, 21, 12);

let database: EmptyDatabase;
let db: TenancyDatabase;
beforeAll(async () => {
  database = await startDatabase();
  db = await openTenancyDatabase(database.url, silentLogger);
}, 120_000);
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

let users = 0;
async function aUser(): Promise<UserId> {
  const id = newUserId(NOW_MS, systemRandom);
  await db.tables.users.insert({ id, email: `User${users++}@example.test`, name: undefined, createdAtMs: NOW_MS });
  return id;
}

async function anAccount(...owners: UserId[]): Promise<AccountId> {
  const id = newAccountId(systemRandom);
  await db.tables.accounts.insert({ id, name: "Acme", description: undefined, planId: "free", createdAtMs: NOW_MS });
  for (const userId of owners) await db.tables.accounts.addMember({ accountId: id, userId, role: "owner", sinceMs: NOW_MS });
  return id;
}

async function anEnvironment(accountId: AccountId, name = "dev", withSlot = false): Promise<EnvironmentId> {
  const id = newEnvironmentId(NOW_MS, systemRandom);
  const rest = { region: "us", description: undefined, idempotencyKey: undefined, dataKey: new Uint8Array([1]), nowMs: NOW_MS };
  await db.change((tables) => tables.environments.insert({ id, accountId, name, withSlot, ...rest }));
  return id;
}

const outcomeOf = (work: Promise<unknown>): Promise<unknown> => work.catch((cause: unknown) => cause);

describe("users and accounts in PostgreSQL", () => {
  test("one address is one user, however it is written", async () => {
    const id = await aUser();
    const user = await db.tables.users.get(id);
    expect(await db.tables.users.ofEmail(user?.email.toUpperCase() ?? "")).toEqual(user);
    const twin = { id: newUserId(NOW_MS, systemRandom), email: user?.email.toLowerCase() ?? "", name: "x", createdAtMs: 1 };
    expect(await outcomeOf(db.tables.users.insert(twin))).toMatchObject({ constraint: "perdure_users_by_email" });
  });

  test("the plan is a row with all its limits", async () => {
    const plan = await db.tables.accounts.plan(await anAccount());
    expect(plan).toMatchObject({
      id: "free",
      environmentsPerAccountMax: 2,
      actionsPerMonth: 50_000,
      idleSuspendMs: 1_209_600_000,
    });
    expect(plan?.limits).toMatchObject({
      ingressRate: { perSecond: 20, burst: 50 },
      storedBytesMax: 1_073_741_824,
      plainHttpAllowed: false,
    });
    expect((await db.tables.accounts.plans()).map(({ id, idleSuspendMs }) => [id, idleSuspendMs])).toEqual([
      ["free", 1_209_600_000],
      ["team", undefined],
    ]);
  });

  test("the last owner stays, also when two leave at the same moment", async () => {
    for (let round = 0; round < 5; round++) {
      const [one, two] = [await aUser(), await aUser()];
      const account = await anAccount(one, two);
      const outcomes = await Promise.all([
        db.change((tables) => tables.accounts.removeMember(account, one)),
        db.change((tables) => tables.accounts.setRole(account, two, "viewer")),
      ]);
      expect(outcomes.filter((outcome) => outcome === "lastOwner")).toHaveLength(1);
      expect((await db.tables.accounts.members(account)).filter(({ role }) => role === "owner")).toHaveLength(1);
    }
  });

  test("how many accounts a user owns, and how many the plan allows", async () => {
    const user = await aUser();
    expect(await db.tables.accounts.owned(user)).toEqual({ count: 0, max: 1 });
    const account = await anAccount(user);
    expect(await db.tables.accounts.owned(user)).toEqual({ count: 1, max: 1 });
    expect(await db.tables.accounts.setPlan(account, "team")).toBe(true);
    expect(await db.tables.accounts.setPlan(account, "gold")).toBe(false);
    expect(await db.tables.accounts.owned(user)).toEqual({ count: 1, max: 5 });
    expect(await db.tables.accounts.ofUser(user)).toMatchObject([{ id: account, role: "owner", planId: "team" }]);
  });

  test("an invitation is good once, for its address, for its time", async () => {
    const [owner, invitee] = [await aUser(), await aUser()];
    const accountId = await anAccount(owner);
    const hash = new Uint8Array(32).fill(users);
    const invitation = { id: `invitation_${users}`, accountId, email: "Guest@x.test", role: "viewer", invitedBy: owner } as const;
    await db.tables.invitations.insert({ ...invitation, createdAtMs: 1, expiresAtMs: 100 }, hash);
    const accept = (email: string, nowMs: number) => db.tables.invitations.accept(hash, email, invitee, nowMs);
    expect(await accept("other@x.test", 50)).toBeUndefined();
    expect(await accept("guest@x.test", 100)).toBeUndefined();
    expect(await db.tables.invitations.open(accountId, 50)).toHaveLength(1);
    const accepted = await Promise.all([accept("guest@x.test", 50), accept("GUEST@X.TEST", 50)]);
    expect(accepted.filter((one) => one !== undefined)).toEqual([{ ...invitation, createdAtMs: 1, expiresAtMs: 100 }]);
    expect(await db.tables.invitations.open(accountId, 50)).toEqual([]);
  });
});

describe("environments in PostgreSQL", () => {
  test("take only the steps of the table, and each makes a new generation", async () => {
    const id = await anEnvironment(await anAccount());
    const take = (event: Parameters<typeof db.tables.environments.take>[1]["event"], more = {}) =>
      db.change((tables) => tables.environments.take(id, { event, nowMs: NOW_MS + 1, ...more }));
    expect(await take("suspend", { suspendedFor: "user" })).toBeUndefined();
    expect(await take("provisioned")).toMatchObject({ status: "ACTIVE", generation: 1 });
    expect(await take("provisioned")).toBeUndefined();
    expect(await take("suspend", { suspendedFor: "quota" })).toMatchObject({
      status: "SUSPENDED",
      suspendedFor: "quota",
      generation: 2,
    });
    expect(await take("destroy", { eraseAtMs: 7 })).toMatchObject({ status: "DELETING", eraseAtMs: 7, suspendedFor: "quota" });
    expect(await take("undeleteSuspended")).toMatchObject({ status: "SUSPENDED", eraseAtMs: undefined, suspendedFor: "quota" });
    expect(await take("resume")).toMatchObject({ status: "ACTIVE", suspendedFor: undefined, generation: 5 });
    expect(await take("destroy")).toMatchObject({ status: "DELETING" });
    expect(await take("erased")).toMatchObject({ status: "DELETED" });
    expect(await take("undelete")).toBeUndefined();
  });

  test("names are one account's own, and free again when one is being deleted", async () => {
    const account = await anAccount();
    const first = await anEnvironment(account);
    await anEnvironment(await anAccount());
    expect(await outcomeOf(anEnvironment(account))).toMatchObject({ constraint: "perdure_environments_by_name" });
    await db.tables.environments.take(first, { event: "provisioned", nowMs: 1 });
    await db.tables.environments.take(first, { event: "destroy", nowMs: 1 });
    const second = await anEnvironment(account);
    expect(await outcomeOf(db.tables.environments.take(first, { event: "undelete", nowMs: 1 }))).toBeInstanceOf(AlreadyThere);
    expect((await db.tables.environments.ofAccount(account)).map(({ id }) => id)).toEqual([first, second].sort());
    expect(await db.tables.environments.countOf(account)).toBe(1);
  });

  test("that are made at once get ports of their own, and the lowest number that is free", async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => anEnvironment(await anAccount(), "dev", true)));
    const slotOf = async (id: EnvironmentId) => (await db.tables.environments.get(id))?.slot;
    const slots = await Promise.all(ids.map(slotOf));
    expect([...slots].sort()).toEqual([0, 1, 2]);
    const gone = ids[slots.indexOf(1)] as EnvironmentId;
    for (const event of ["provisioned", "destroy", "erased"] as const)
      await db.tables.environments.take(gone, { event, nowMs: 1 });
    expect(await slotOf(await anEnvironment(await anAccount(), "dev", true))).toBe(1);
  });

  test("are made anew for another plan: their runtimes have other limits", async () => {
    const account = await anAccount();
    const id = await anEnvironment(account);
    expect(await db.change((tables) => tables.accounts.setPlan(account, "team"))).toBe(true);
    expect(await db.tables.environments.get(id)).toMatchObject({ generation: 2, status: "PENDING" });
  });

  test("failures are counted once for each generation", async () => {
    const id = await anEnvironment(await anAccount());
    await db.tables.environments.failed(id, 1, "no memory");
    await db.tables.environments.failed(id, 1, "no memory");
    expect(await db.tables.environments.get(id)).toMatchObject({ tries: 1, generation: 2, failure: "no memory" });
  });

  test("one that is shredded keeps nothing that could be opened", async () => {
    const id = await anEnvironment(await anAccount());
    const key = {
      environmentId: id,
      publicKey: `publickeyv1_${id}`,
      state: "CURRENT",
      createdAtMs: 1,
      replacedAtMs: undefined,
    } as const;
    await db.tables.signingKeys.insert({ ...key, privateKey: new Uint8Array([9]) });
    await db.tables.environments.shred(id);
    expect((await db.tables.environments.get(id))?.dataKey).toBeUndefined();
    expect(await db.tables.signingKeys.of(id)).toEqual([{ ...key, privateKey: undefined }]);
  });

  test("signing keys go from next to current to previous, one of each", async () => {
    const id = await anEnvironment(await anAccount());
    const insert = (publicKey: string, state: "CURRENT" | "NEXT") =>
      db.tables.signingKeys.insert({
        environmentId: id,
        publicKey,
        state,
        privateKey: undefined,
        createdAtMs: 1,
        replacedAtMs: undefined,
      });
    const states = async () =>
      (await db.tables.signingKeys.of(id)).map(({ publicKey, state }) => `${publicKey.slice(0, 1)} ${state}`);
    await insert(`a${id}`, "CURRENT");
    await insert(`b${id}`, "NEXT");
    expect(await outcomeOf(insert(`c${id}`, "NEXT"))).toBeInstanceOf(AlreadyThere);
    await db.change((tables) => tables.signingKeys.promote(id, 5));
    expect(await states()).toEqual(["b CURRENT", "a PREVIOUS"]);
    await insert(`c${id}`, "NEXT");
    expect(await outcomeOf(db.change((tables) => tables.signingKeys.promote(id, 6)))).toBeInstanceOf(AlreadyThere);
    expect(await states()).toEqual(["b CURRENT", "c NEXT", "a PREVIOUS"]);
    await db.tables.signingKeys.remove(`a${id}`);
    await db.change((tables) => tables.signingKeys.promote(id, 7));
    expect(await states()).toEqual(["c CURRENT", "b PREVIOUS"]);
  });
});

describe("keys, usage and audit in PostgreSQL", () => {
  test("API keys are deleted once, and their last use is written now and then", async () => {
    const accountId = await anAccount();
    const environmentId = await anEnvironment(accountId);
    const id = newApiKeyId(systemRandom);
    const key = {
      id,
      environmentId,
      accountId,
      role: "rst:role::FullAccess",
      secretHash: Buffer.from([1, 2]),
      pepperVersion: 1,
    } as const;
    const record = { ...key, description: "ci", createdBy: await aUser(), createdAtMs: 5, expiresAtMs: 9, ratePerSecond: 7 };
    await db.tables.apiKeys.insert({ ...record, lastUsedAtMs: undefined, deletedAtMs: undefined });
    await db.tables.apiKeys.used(id, 1_000_000, 300_000);
    await db.tables.apiKeys.used(id, 1_300_000, 300_000);
    expect(await db.tables.apiKeys.of(environmentId)).toEqual([{ ...record, lastUsedAtMs: 1_000_000, deletedAtMs: undefined }]);
    await db.tables.apiKeys.used(id, 1_300_001, 300_000);
    expect((await db.tables.apiKeys.get(id))?.lastUsedAtMs).toBe(1_300_001);
    expect(await db.tables.apiKeys.delete(id, newEnvironmentId(1, systemRandom), 10)).toBe(false);
    expect(await db.tables.apiKeys.delete(id, environmentId, 10)).toBe(true);
    expect(await db.tables.apiKeys.delete(id, environmentId, 11)).toBe(false);
    expect(await db.tables.apiKeys.of(environmentId)).toEqual([]);
  });

  test("usage counts what is new of each source, once, whatever the order and however often it is reported", async () => {
    const accountId = await anAccount();
    const id = await anEnvironment(accountId);
    const totals = (n: number) => ({
      actions: n,
      ingressRequests: 2 * n,
      adminRequests: 0,
      bytesIn: n,
      bytesOut: 0,
      tunnelBytes: 0,
    });
    const reports = [10, 20, 30, 20, 30, 10, 30].map((n) => db.tables.usage.report(id, "a", NOW_MS, totals(n), undefined));
    await Promise.all([...reports, db.tables.usage.report(id, "b", NOW_MS, totals(5), 700)]);
    await db.tables.usage.report(id, "b", NOW_MS, totals(5), 300);
    await db.tables.usage.report(id, "a", NOW_MS + 86_400_000, totals(31), undefined);
    const days = await db.tables.usage.days(accountId, undefined, "2026-11-01", "2026-11-30");
    expect(days).toMatchObject([
      {
        environmentId: id,
        day: "2026-11-21",
        actions: 35,
        ingressRequests: 70,
        bytesIn: 35,
        storedBytes: 300,
        storedBytesPeak: 700,
      },
      { day: "2026-11-22", actions: 1, ingressRequests: 2, storedBytes: 0 },
    ]);
    expect(await db.tables.usage.ofMonth(NOW_MS)).toContainEqual(expect.objectContaining({ accountId, actions: 36 }));
    expect(await db.tables.usage.days(accountId, undefined, "2026-11-22", "2026-11-22")).toHaveLength(1);
    expect((await db.tables.environments.get(id))?.lastTrafficAtMs).toBe(NOW_MS + 86_400_000);
    await db.tables.usage.report(newEnvironmentId(1, systemRandom), "a", NOW_MS, totals(1), 1); // Of an unknown environment: not counted.
  });

  test("the audit log takes lines and gives none up", async () => {
    const accountId = await anAccount();
    const line = (action: string, atMs: number) => ({
      ...{ atMs, accountId, environmentId: undefined, actorKind: "user" as const, actorId: "user_1", action, target: "x" },
      ...{ details: { from: 1 }, requestId: "r", remoteAddress: undefined },
    });
    for (let n = 0; n < 5; n++) await db.tables.audit.append(line(n % 2 === 0 ? "key.create" : "key.delete", n));
    const all = await db.tables.audit.list({ accountId }, 10);
    expect(all.map(({ atMs }) => atMs)).toEqual([4, 3, 2, 1, 0]);
    expect(all[0]).toEqual({ number: all[0]?.number, ...line("key.create", 4) });
    expect((await db.tables.audit.list({ accountId, action: "key.delete" }, 10)).map(({ atMs }) => atMs)).toEqual([3, 1]);
    expect((await db.tables.audit.list({ accountId, fromMs: 1, toMs: 3 }, 10)).map(({ atMs }) => atMs)).toEqual([2, 1]);
    expect(await db.tables.audit.list({ accountId, before: all[1]?.number }, 2)).toEqual(all.slice(2, 4));
    for (const statement of ["UPDATE perdure_audit SET action = ''", "DELETE FROM perdure_audit", "TRUNCATE perdure_audit"]) {
      expect(await outcomeOf(db.tables.session.write(statement))).toMatchObject({
        message: expect.stringContaining("append-only"),
      });
    }
    expect(await db.tables.audit.list({ accountId }, 10)).toEqual(all);
  });

  test("tunnels are those of each relay's last report", async () => {
    const environmentId = await anEnvironment(await anAccount());
    const made = { environmentId, name: "t", id: "1", clientVersion: undefined, workerId: "w", connectedAtMs: 5, inFlight: 2 };
    const one: typeof made & { readonly ports?: readonly number[] } = made;
    const report = (...connections: (typeof one)[]) =>
      db.change((tables) => tables.tunnels.replace({ relay: "r1", atMs: 0, connections }, NOW_MS));
    await report(one, { ...one, id: "2", name: "a" });
    await report({ ...one, inFlight: 3 }, { ...one, id: "2", ports: [9080, 443] }, { ...one, id: "3", ports: [] });
    const { environmentId: _, ...expected } = one;
    expect(await db.tables.tunnels.of(environmentId, NOW_MS)).toEqual([
      { ...expected, relay: "r1", inFlight: 3 },
      { ...expected, relay: "r1", id: "2", ports: [9080, 443] },
      { ...expected, relay: "r1", id: "3", ports: [] },
    ]);
    expect(await db.tables.tunnels.of(environmentId, NOW_MS + 1)).toEqual([]);
  });
});

test("gateways are those of each last report, in its region, while they report", async () => {
  const environmentId = newEnvironmentId(1, systemRandom);
  const report = (gateway: string, perSecond: number, region = "us") => ({
    gateway,
    region,
    demands: [{ environmentId, door: "ingress" as const, perSecond }],
  });
  const { gateways } = db.tables;
  await gateways.replace(report("g1", 1), NOW_MS);
  await gateways.replace(report("g2", 2), NOW_MS + 1);
  await gateways.replace(report("g3", 3, "eu"), NOW_MS + 1);
  await gateways.replace(report("g1", 4), NOW_MS + 2);
  expect(await gateways.of("us", NOW_MS)).toEqual([report("g1", 4), report("g2", 2)]);
  expect(await gateways.of("us", NOW_MS + 2)).toEqual([report("g1", 4)]);
  await gateways.replace(report("g4", 1), NOW_MS + 86_400_000);
  expect(await gateways.of("us", 0)).toEqual([report("g4", 1)]); // Those that are long gone are swept out.
});

describe("transactions and change events", () => {
  test("what fails leaves no trace and is not announced; what is committed is, to other processes", async () => {
    await using other = await openTenancyDatabase(database.url, silentLogger);
    const received: TenancyChange[] = [];
    const listening = Promise.withResolvers<void>();
    const notified = Promise.withResolvers<void>();
    other.onChange((event) => {
      received.push(event);
      if (event.kind === "everything") listening.resolve();
      else notified.resolve();
    });
    await listening.promise;
    const account = await anAccount();
    const user = await aUser();
    const failing = db.change(async (tables) => {
      await tables.accounts.addMember({ accountId: account, userId: user, role: "viewer", sinceMs: 1 });
      throw new Error("no");
    });
    expect(await outcomeOf(failing)).toMatchObject({ message: "no" });
    expect(await db.tables.accounts.roleOf(account, user)).toBeUndefined();
    const id = await anEnvironment(account);
    await notified.promise;
    expect(received.slice(1)).toEqual([{ kind: "environment", id }]);
  });
});
