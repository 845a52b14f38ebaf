/** Accounts, their members and their usage, by the operations of the Cloud API. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { type AccountId, newEnvironmentId, newUserId } from "@perdure/cloud";
import type { TestUser } from "../src/testing/index.js";
import { CloudWorld } from "./cloud-world.js";

let world: CloudWorld;
beforeAll(async () => {
  world = await CloudWorld.open();
}, 120_000);
afterAll(() => world[Symbol.asyncDispose]());

describe("members", () => {
  test("are invited, join with their own address, change roles and leave", async () => {
    const [owner, invitee, otherUser] = [await world.cloud.user(), await world.cloud.user(), await world.cloud.user()];
    const account = await owner.account();
    const invite = (email: string, role: "viewer" | "owner" = "viewer") =>
      owner.client.account(account, "InviteMember", { email, role });
    const { token: old } = await invite(invitee.email);
    const { token } = await invite(invitee.email.toUpperCase());
    const accept = (by: TestUser, text: string) =>
      by.client.user("AcceptInvitation", { token: text }).catch(({ status }: { status: number }) => status);
    expect(await accept(invitee, old)).toBe(404);
    expect(await accept(otherUser, token)).toBe(404);
    expect(await accept(invitee, token)).toEqual({ accountId: account, role: "viewer" });
    expect(await accept(invitee, token)).toBe(404);
    expect(await invite(invitee.email).catch((e) => e)).toMatchObject({ status: 409 });
    await owner.client.account(account, "UpdateMember", { userId: invitee.id, role: "admin" });
    const asInvitee = (name: "UpdateMember" | "RemoveMember", body: object) =>
      world.call(`/cloud/${account}/${name}`, invitee.token, JSON.stringify(body));
    expect(await asInvitee("UpdateMember", { userId: owner.id, role: "viewer" })).toMatchObject({ status: 403 });
    expect(await asInvitee("UpdateMember", { userId: invitee.id, role: "owner" })).toMatchObject({ status: 403 });
    expect(await asInvitee("RemoveMember", { userId: owner.id })).toMatchObject({ status: 403 });
    expect(await asInvitee("RemoveMember", { userId: newUserId(1, systemRandom) })).toMatchObject({ status: 404 });
    expect(await owner.client.account(account, "RemoveMember", { userId: owner.id }).catch((e) => e)).toMatchObject({
      status: 409,
    });
    expect(await asInvitee("RemoveMember", { userId: invitee.id })).toMatchObject({ status: 200 });
    expect(await asInvitee("RemoveMember", { userId: invitee.id })).toMatchObject({ status: 403 });
    expect((await owner.client.account(account, "ListMembers", {})).members.map(({ userId }) => userId)).toEqual([owner.id]);
  });

  test("T14: keys that a member made are listed and deleted when the member leaves or may not make keys any more", async () => {
    const [owner, maker] = [await world.cloud.user(), await world.cloud.user()];
    const account = await owner.account();
    const { token } = await owner.client.account(account, "InviteMember", { email: maker.email, role: "developer" });
    await maker.client.user("AcceptInvitation", { token });
    const environmentId = await world.environmentOf(owner, account);
    await world.activate(environmentId);
    const keyOf = (user: TestUser) =>
      user.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
    const isGood = async ({ apiKey }: { apiKey: string }): Promise<boolean> =>
      (await world.cloud.tenancy.authenticate(apiKey, environmentId)).kind !== "unknown";
    const [theirs, mine] = [await keyOf(maker), await keyOf(owner)];
    const request = (name: "UpdateMember" | "RemoveMember", more: object) =>
      owner.client.account(account, name, { userId: maker.id, role: "viewer", ...more } as never);
    const shown = { apiKeys: [{ keyId: theirs.keyId, createdBy: maker.id }] };
    expect(await request("RemoveMember", { dryRun: true })).toMatchObject({ ...shown, apiKeysDeleted: false });
    expect(await request("UpdateMember", { role: "admin" })).toMatchObject({ apiKeys: [] }); // Admins make keys as well.
    expect(await isGood(theirs)).toBe(true);
    expect(await request("UpdateMember", { keepApiKeys: true })).toMatchObject({ ...shown, apiKeysDeleted: false });
    expect(await isGood(theirs)).toBe(true);
    expect(await request("UpdateMember", {})).toMatchObject({ ...shown, apiKeysDeleted: true });
    expect([await isGood(theirs), await isGood(mine)]).toEqual([false, true]);
    expect(await request("RemoveMember", {})).toMatchObject({ apiKeys: [] });
  });

  test("invitations are bounded per address and per account", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account("team");
    const invite = (of: TestUser, to: AccountId, email: string) =>
      of.client.account(to, "InviteMember", { email, role: "viewer" }).then(
        () => 200,
        ({ status }: { status: number }) => status,
      );
    for (let n = 0; n < 3; n++) expect(await invite(owner, account, "victim@perdure.test")).toBe(200);
    expect(await invite(owner, account, "Victim@perdure.test")).toBe(429);
    world.cloud.clock.aheadMs += 3_600_000;
    expect(await invite(owner, account, "victim@perdure.test")).toBe(200);
    // Other accounts may invite the same address, but in bounded number.
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) {
      const other = await world.cloud.user();
      const theirs = await other.account();
      for (let m = 0; m < 2; m++) statuses.push(await invite(other, theirs, "victim@perdure.test"));
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    world.cloud.clock.aheadMs += 86_400_000;
    const later = await world.cloud.user();
    expect(await invite(later, await later.account(), "victim@perdure.test")).toBe(200);
  });

  test("T14: removing or demoting a member withdraws invitations that the member could not make any more", async () => {
    const [owner, admin, friend, other] = [
      await world.cloud.user(),
      await world.cloud.user(),
      await world.cloud.user(),
      await world.cloud.user(),
    ];
    const account = await owner.account();
    const join = async (by: TestUser, role: "owner" | "admin" | "viewer", of: TestUser) => {
      const { token } = await by.client.account(account, "InviteMember", { email: of.email, role });
      return () => of.client.user("AcceptInvitation", { token }).catch(({ status }: { status: number }) => status);
    };
    await (await join(owner, "owner", admin))();
    const [asOwner, asViewer, byOwner] = [
      await join(admin, "owner", friend),
      await join(admin, "viewer", other),
      await join(owner, "viewer", await world.cloud.user()),
    ];
    await owner.client.account(account, "UpdateMember", { userId: admin.id, role: "admin" });
    const open = async () => (await owner.client.account(account, "ListMembers", {})).invitations.map(({ email }) => email);
    expect([await asOwner(), (await open()).includes(other.email), (await open()).length]).toEqual([404, true, 2]);
    await owner.client.account(account, "RemoveMember", { userId: admin.id });
    expect([await asViewer(), (await open()).length]).toEqual([404, 1]);
    expect(await byOwner()).toMatchObject({ role: "viewer" });
    const listed = await owner.client.account(account, "ListAuditEvents", { action: "member.withdraw-invitation" });
    expect(listed.events.map(({ target }) => target)).toEqual([other.email, friend.email]);
  });

  test("invitations end after a week, or when they are withdrawn", async () => {
    const [owner, invitee] = [await world.cloud.user(), await world.cloud.user()];
    const account = await owner.account();
    const invitation = await owner.client.account(account, "InviteMember", { email: invitee.email, role: "viewer" });
    const tokenHash = createHash("sha256").update(invitation.token).digest();
    const expiredAtMs = invitation.expiresAt * 1_000 + 1_000;
    expect(
      await world.cloud.ports.database.tables.invitations.accept(tokenHash, invitee.email, invitee.id, expiredAtMs),
    ).toBeUndefined();
    await owner.client.account(account, "WithdrawInvitation", { email: invitee.email });
    expect(await invitee.client.user("AcceptInvitation", { token: invitation.token }).catch((e) => e)).toMatchObject({
      status: 404,
    });
    expect(await owner.client.account(account, "WithdrawInvitation", { email: invitee.email }).catch((e) => e)).toMatchObject({
      status: 404,
    });
  });
});

describe("accounts, usage and the audit log", () => {
  test("a user's plan bounds the accounts, also for concurrent requests", async () => {
    const user = await world.cloud.user();
    expect(await user.client.user("GetUserIdentity", {})).toMatchObject({ userId: user.id, email: user.email });
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => user.client.user("CreateAccount", { name: "Mine" })));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const { accounts } = await user.client.user("ListAccounts", {});
    const accountId = accounts[0]?.accountId as AccountId;
    expect(await user.client.user("UpdateAccount", { accountId, name: "Ours", description: "d" })).toEqual({
      accountId,
      name: "Ours",
      description: "d",
    });
    expect(await user.client.account(accountId, "DescribeAccount", {})).toMatchObject({
      name: "Ours",
      role: "owner",
      plan: { planId: "free", limits: { apiKeysMax: 5, actionsPerMonth: 50_000 } },
      plans: expect.arrayContaining([expect.objectContaining({ planId: "free", name: expect.any(String) })]),
      regions: ["us", "eu"],
    });
  });

  test("usage is shown by day and summed up", async () => {
    const user = await world.cloud.user();
    const account = await user.account();
    const environmentId = await world.environmentOf(user, account);
    const atMs = world.cloud.clock.nowMs();
    const totals = { ingressRequests: 3, adminRequests: 1, bytesIn: 10, bytesOut: 20, tunnelBytes: 0 };
    const report = { source: "gateway-1", environmentId, atMs, totals };
    await world.cloud.tenancy.report([report, report]);
    await world.cloud.tenancy.report([{ ...report, totals: { ...totals, bytesIn: 15 } }]);
    const usage = await user.client.account(account, "GetUsage", { environmentId });
    expect(usage).toMatchObject({
      totals: { ingressRequests: 3, bytesIn: 15, bytesOut: 20 },
      days: [{ environmentId }],
      actionsPerMonth: 50_000,
    });
    const span = (from: string, to: string) => user.client.account(account, "GetUsage", { from, to }).catch((e) => e);
    expect(await span("2020-01-02", "2020-01-01")).toMatchObject({ status: 400 });
    expect(await span("2020-01-01", "2026-01-01")).toMatchObject({ status: 400 });
    expect(await span("2020-01-01", "2020-01-31")).toMatchObject({ days: [], totals: { actions: 0 } });
    expect(await span("yesterday", "2020-01-31")).toMatchObject({ status: 400 });
  });

  test("the audit log is paged, filtered and exported", async () => {
    const user = await world.cloud.user();
    const account = await user.account("team");
    const environmentId = await world.environmentOf(user, account);
    for (let n = 0; n < 3; n++) {
      await user.client.account(account, "UpdateEnvironment", { environmentId, description: n === 2 ? '=cmd, "x"' : `${n}` });
    }
    const list = (body: object) => user.client.account(account, "ListAuditEvents", body);
    const all = (await list({})).events;
    expect(all.map(({ action }) => action)).toEqual([
      ...Array(3).fill("environment.update"),
      "environment.create",
      "account.create",
    ]);
    expect(all[0]).toMatchObject({
      actorKind: "user",
      actorId: user.id,
      environmentId,
      remoteAddress: expect.any(String),
      requestId: expect.any(String),
    });
    const page = await list({ limit: 2 });
    expect([...page.events, ...(await list({ limit: 10, before: page.before })).events]).toEqual(all);
    expect((await list({ action: "account.create" })).events).toHaveLength(1);
    expect((await list({ environmentId })).events).toHaveLength(4);
    expect((await list({ to: 1 })).events).toEqual([]);
    const text = async (format: "jsonl" | "csv") => new Response(await user.client.exportAuditEvents(account, { format })).text();
    const lines = (await text("jsonl"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual(all);
    const csv = (await text("csv")).split("\r\n");
    expect(csv[0]).toBe("number,at,actorKind,actorId,action,environmentId,target,details,requestId,remoteAddress");
    expect(csv).toHaveLength(all.length + 2);
    const logs = await user.client.account(account, "GetEnvironmentLogs", { environmentId, start: 0, end: 4_000_000_000 });
    expect(logs.lines[0]).toMatchObject({
      unixNanos: expect.stringMatching(/^\d{19}$/),
      line: expect.stringContaining("environment.create dev"),
    });
  });

  test("tunnels are listed by name as relays report them, and the audit log records who opened, closed or was refused one", async () => {
    const user = await world.cloud.user();
    const account = await user.account();
    const environmentId = await world.environmentOf(user, account);
    const one = {
      environmentId,
      name: "laptop",
      clientVersion: "1.7.12",
      workerId: undefined,
      connectedAtMs: 5_000,
      inFlight: 1,
    };
    await world.cloud.tenancy.reportTunnels({
      relay: "r1",
      atMs: 0,
      connections: [
        { ...one, id: "a", ports: [9080, 9081] },
        { ...one, id: "b" },
      ],
    });
    await world.cloud.tenancy.reportTunnels({ relay: "r2", atMs: 0, connections: [{ ...one, id: "a" }] });
    const address = "192.0.2.7";
    const key = { kind: "key", id: "key_1" } as const;
    const events = [
      {
        kind: "opened",
        atMs: 1_000,
        environmentId,
        name: "laptop",
        id: "a",
        caller: { kind: "member", id: user.id },
        address,
        omitted: 0,
      },
      { kind: "closed", atMs: 2_000, environmentId, name: "laptop", id: "b", caller: key, address, omitted: 0 },
      { kind: "refused", atMs: 3_000, environmentId, name: "x", reason: "the credential is unknown", address, omitted: 4 },
      { kind: "refused", atMs: 3_000, environmentId: newEnvironmentId(0, systemRandom), address, omitted: 0 },
    ] as const;
    await world.cloud.tenancy.reportTunnels({ relay: "r3", atMs: 0, connections: [], events });
    const auditEvents = (await user.client.account(account, "ListAuditEvents", {})).events;
    const system = { actorKind: "system", environmentId, remoteAddress: address };
    const tunnelEvents = auditEvents.filter(({ action }) => action.startsWith("tunnel.")).sort((a, b) => a.at - b.at);
    expect(tunnelEvents).toMatchObject([
      { ...system, at: 1, action: "tunnel.open", actorKind: "user", actorId: user.id, target: "laptop" },
      { ...system, at: 2, action: "tunnel.close", actorId: "key_1", target: "laptop", details: { relay: "r3", connection: "b" } },
      {
        ...system,
        action: "tunnel.refuse",
        actorId: "tunnel-relay",
        target: "x",
        details: { relay: "r3", reason: "the credential is unknown", omitted: 4 },
      },
    ]);
    const { tunnels } = await user.client.account(account, "ListTunnels", { environmentId });
    expect(tunnels).toHaveLength(1);
    expect(tunnels[0]?.connections.map(({ server: relay, id }) => `${relay}${id}`).sort()).toEqual(["r1a", "r1b", "r2a"]);
    const declared = tunnels[0]?.connections.map(({ server, id, ports }) => [`${server}${id}`, ports]);
    expect(Object.fromEntries(declared ?? [])).toEqual({ r1a: [9080, 9081], r1b: undefined, r2a: undefined });
  });
});
