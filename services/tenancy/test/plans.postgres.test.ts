/** Limits of plans, on a real database: warnings to owners, suspension, throttling, and how they end. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { type AccountId, apiKeyText, bareOf, type EnvironmentId, newApiKey } from "@perdure/cloud";
import { enforceQuotas } from "@perdure/environments";
import { sendDue } from "@perdure/mail";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { longestPauses } from "@perdure/testkit";
import { Mailbox, openTestTenancy, type TestTenancy, type TestUser } from "../src/testing/index.js";

const DAY_MS = 86_400_000;

let database: EmptyDatabase;
let cloud: TestTenancy;
const mailbox = new Mailbox();
const logs: { readonly atMs: number; readonly line: string }[] = [];
beforeAll(async () => {
  database = await startDatabase();
  cloud = await openTestTenancy(database.url, {
    readLogs: async (_id, { fromMs, toMs }) => logs.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
  });
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const tables = () => cloud.ports.database.tables;
const mailsTo = (user: TestUser) => mailbox.fetch(cloud.ports, user.email);

async function active(user: TestUser, account: AccountId, name = "dev"): Promise<EnvironmentId> {
  const { environmentId } = await user.client.account(account, "CreateEnvironment", { name, region: "us" });
  await tables().environments.take(environmentId, { event: "provisioned", nowMs: cloud.clock.nowMs() });
  return environmentId;
}

async function used(id: EnvironmentId, totals: { actions?: number; bytesOut?: number; tunnelBytes?: number }): Promise<void> {
  const nothing = { actions: 0, ingressRequests: 0, adminRequests: 0, bytesIn: 0, bytesOut: 0, tunnelBytes: 0 };
  await tables().usage.report(id, "r", cloud.clock.nowMs(), { ...nothing, ...totals }, undefined);
}

async function actionsOf(accountId: AccountId): Promise<string[]> {
  return (await tables().audit.list({ accountId }, 50)).map(({ action }) => action).toReversed();
}

const facts = (id: EnvironmentId) => cloud.tenancy.environment(bareOf(id));

describe("quotas of a month", () => {
  test("at 80 % owners get one mail, at 120 % a mail that environments are suspended", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const viewer = await cloud.user();
    await tables().accounts.addMember({ accountId: account, userId: viewer.id, role: "viewer", sinceMs: 1 });
    const [one, two] = [await active(owner, account), await active(owner, account, "two")];
    await used(one, { actions: 39_999 });
    await enforceQuotas(cloud.ports);
    expect(await mailsTo(owner)).toEqual([]);
    await used(two, { actions: 1 });
    await enforceQuotas(cloud.ports);
    await enforceQuotas(cloud.ports);
    const [warning, ...more] = await mailsTo(owner);
    expect(warning).toMatchObject({
      subject: "80 % of this month's actions are used",
      text: expect.stringContaining("40,000 of the 50,000"),
    });
    expect(more).toEqual([]);
    await used(one, { actions: 60_001 });
    await enforceQuotas(cloud.ports);
    await enforceQuotas(cloud.ports);
    expect((await mailsTo(owner)).map(({ subject }) => subject)).toEqual([
      "Environments are suspended: the month's actions are used up",
    ]);
    expect(await mailsTo(viewer)).toEqual([]);
    expect((await tables().environments.ofAccount(account)).map(({ status, suspendedFor }) => [status, suspendedFor])).toEqual([
      ["SUSPENDED", "quota"],
      ["SUSPENDED", "quota"],
    ]);
    expect((await actionsOf(account)).filter((action) => action !== "environment.create")).toEqual([
      "account.create",
      "quota.warn",
      "environment.suspend",
      "environment.suspend",
    ]);
  });

  test("traffic beyond the plan is throttled until the plan allows more, and gateways get that fact", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const id = await active(owner, account);
    const month = 5 * 1024 ** 3;
    await used(id, { bytesOut: month / 2, tunnelBytes: month / 2 - 1 });
    await enforceQuotas(cloud.ports);
    expect((await facts(id))?.isThrottled).toBe(false);
    expect((await mailsTo(owner)).map(({ subject }) => subject)).toEqual(["99 % of this month's bytes of traffic are used"]);
    await used(id, { bytesOut: month / 2, tunnelBytes: month / 2 });
    await enforceQuotas(cloud.ports);
    expect(await facts(id)).toMatchObject({ isThrottled: true, status: "ACTIVE" });
    await tables().accounts.setPlan(account, "team");
    await enforceQuotas(cloud.ports);
    expect((await facts(id))?.isThrottled).toBe(false);
    expect((await actionsOf(account)).slice(-2)).toEqual(["environment.throttle", "environment.unthrottle"]);
  });
});

describe("idle environments", () => {
  test("their owners get a mail four days before, they are suspended, and an authenticated request resumes them", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const id = await active(owner, account);
    const key = newApiKey(cloud.ports.random);
    const { hash: secretHash, pepperVersion } = cloud.ports.ring.hash(key.secret);
    const record = {
      id: key.id,
      environmentId: id,
      accountId: account,
      role: "perdure:role::AdminReadOnly" as const,
      secretHash,
      pepperVersion,
      description: undefined,
      createdBy: owner.id,
      createdAtMs: 1,
      expiresAtMs: undefined,
      ratePerSecond: undefined,
      lastUsedAtMs: undefined,
      deletedAtMs: undefined,
    };
    await tables().apiKeys.insert(record);
    const after = (days: number) => ({
      ...cloud.ports,
      clock: { ...systemClock, nowMs: () => cloud.clock.nowMs() + days * DAY_MS },
    });
    await enforceQuotas(after(9));
    expect(await mailsTo(owner)).toEqual([]);
    await enforceQuotas(after(10.5));
    await enforceQuotas(after(11));
    cloud.clock.aheadMs += 11 * DAY_MS; // A mail stays stored until it is due.
    expect((await mailsTo(owner)).map(({ subject }) => subject)).toEqual(["The environment dev will be suspended in 4 days"]);
    await enforceQuotas(after(4));
    expect(await tables().environments.get(id)).toMatchObject({ status: "SUSPENDED", suspendedFor: "idle" });

    // Neither a read-only nor an unauthenticated request resumes an environment.
    expect((await cloud.tenancy.authenticate(apiKeyText(key), id)).kind).toBe("caller");
    expect((await cloud.tenancy.authenticate((await cloud.user()).token, id)).kind).toBe("elsewhere");
    expect((await tables().environments.get(id))?.status).toBe("SUSPENDED");
    expect(cloud.demandedIds).toEqual([]);
    await tables().session.write("UPDATE perdure_api_keys SET role = 'rst:role::IngressAccess' WHERE id = $1", [key.id]);
    expect((await cloud.tenancy.authenticate(apiKeyText(key), id)).kind).toBe("caller");
    expect(await tables().environments.get(id)).toMatchObject({ status: "ACTIVE", suspendedFor: undefined });
    const totals = { ingressRequests: 1, adminRequests: 0, bytesIn: 0, bytesOut: 0, tunnelBytes: 0 };
    await cloud.tenancy.report([{ source: "gateway", environmentId: id, atMs: cloud.clock.nowMs(), totals }]);
    const relayed = { ...totals, ingressRequests: 0, tunnelBytes: 1 };
    await cloud.tenancy.report([{ source: "relay", environmentId: id, atMs: cloud.clock.nowMs(), totals: relayed }]);
    expect(cloud.demandedIds).toEqual([id, id]);
    expect((await actionsOf(account)).slice(-3)).toEqual(["environment.warn-idle", "environment.suspend", "environment.resume"]);
  });

  test("one that its owner suspended is not resumed", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const id = await active(owner, account);
    await owner.client.account(account, "SuspendEnvironment", { environmentId: id });
    await cloud.tenancy.authenticate(owner.token, id);
    expect(await tables().environments.get(id)).toMatchObject({ status: "SUSPENDED", suspendedFor: "user" });
  });
});

describe("plans", () => {
  test("owners choose self-service plans, if the account fits into them", async () => {
    const owner = await cloud.user();
    const account = await owner.account("team");
    const change = (planId: string) => owner.client.account(account, "ChangePlan", { planId });
    await expect(change("gold")).rejects.toMatchObject({ status: 404 });
    const environments = [
      await active(owner, account, "a"),
      await active(owner, account, "b"),
      await active(owner, account, "c"),
    ];
    await expect(change("free")).rejects.toMatchObject({
      status: 403,
      code: "PERD0201",
      message: expect.stringContaining("2 environments"),
    });
    await owner.client.account(account, "DestroyEnvironment", {
      environmentId: environments[0] as EnvironmentId,
      confirmName: "a",
    });
    const before = (await tables().environments.get(environments[1] as EnvironmentId))?.generation ?? 0;
    expect(await change("free")).toEqual({ accountId: account, planId: "free" });
    expect(await owner.client.account(account, "DescribeAccount", {})).toMatchObject({ planId: "free" });
    // Its runtime gets the new limits.
    expect((await tables().environments.get(environments[1] as EnvironmentId))?.generation).toBe(before + 1);
    await expect(change("team")).rejects.toMatchObject({ status: 403, code: "PERD0403" });
    expect((await actionsOf(account)).at(-1)).toBe("account.change-plan");
  });

  test("the members of an account are bounded, open invitations included, and an invited address gets a mail", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const invitees = await Promise.all(Array.from({ length: 5 }, () => cloud.user()));
    for (const invitee of invitees.slice(0, 4)) {
      await owner.client.account(account, "InviteMember", { email: invitee.email, role: "developer" });
    }
    const invite = owner.client.account(account, "InviteMember", { email: invitees[4]?.email ?? "", role: "viewer" });
    await expect(invite).rejects.toMatchObject({ status: 403, code: "PERD0201", message: expect.stringContaining("5 members") });
    for (const invitee of invitees.slice(0, 4)) {
      const [mail] = await mailsTo(invitee);
      expect(mail?.text).toContain(`${owner.email} invites you to the account "Acme" with the role developer`);
      const token = /token=(inv_\w+)/.exec(mail?.text ?? "")?.[1] ?? "";
      expect(await invitee.client.user("AcceptInvitation", { token })).toEqual({ accountId: account, role: "developer" });
    }
    expect(await mailsTo(invitees[4] as TestUser)).toEqual([]);
  });
});

describe("mail", () => {
  test("one that cannot be sent is retried with growing pauses, and is unreadable in the database", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    await owner.client.account(account, "InviteMember", { email: "guest@perdure.test", role: "viewer" });
    const stored = await tables().session.rows<{ sealed: Uint8Array }>("SELECT sealed FROM perdure_mails");
    expect(stored).toHaveLength(1);
    expect(Buffer.from(stored[0]?.sealed ?? []).toString("latin1")).not.toContain("guest");
    mailbox.isAway = true;
    const send = () => sendDue({ ...cloud.ports, mailer: mailbox, random: longestPauses });
    expect([await send(), await send()]).toEqual([1, 0]);
    cloud.clock.aheadMs += 61_000;
    expect([await send(), await send()]).toEqual([1, 0]);
    cloud.clock.aheadMs += 61_000;
    expect(await send()).toBe(0);
    mailbox.isAway = false;
    cloud.clock.aheadMs += 61_000;
    expect(await mailbox.fetch(cloud.ports, "guest@perdure.test")).toHaveLength(1);
    expect(await tables().mails.count()).toBe(0);
  });

  test("one that cannot be sent for a day is given up", async () => {
    const owner = await cloud.user();
    await owner.client.account(await owner.account(), "InviteMember", { email: "late@perdure.test", role: "viewer" });
    mailbox.isAway = true;
    cloud.clock.aheadMs += DAY_MS;
    await sendDue({ ...cloud.ports, mailer: mailbox });
    mailbox.isAway = false;
    expect(await tables().mails.count()).toBe(0);
  });
});

test("the log of an environment has its audit records and the lines of its runtime, in order", async () => {
  const owner = await cloud.user();
  const account = await owner.account();
  const environmentId = await active(owner, account);
  const nowMs = cloud.clock.nowMs();
  logs.push({ atMs: nowMs - 3_600_000, line: "long ago" }, { atMs: nowMs + 2_000, line: '{"msg":"ready"}' });
  cloud.clock.aheadMs += 5_000;
  await owner.client.account(account, "SuspendEnvironment", { environmentId });
  const start = Math.floor(nowMs / 1_000) - 60;
  const { lines } = await owner.client.account(account, "GetEnvironmentLogs", { environmentId, start, end: start + 600 });
  expect(lines.map(({ line }) => line.split(" ")[0])).toEqual(["environment.create", '{"msg":"ready"}', "environment.suspend"]);
  const numbers = lines.map(({ unixNanos }) => BigInt(unixNanos));
  expect(numbers).toEqual([...numbers].sort((a, b) => (a < b ? -1 : 1)));
});
