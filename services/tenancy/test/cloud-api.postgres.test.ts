import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import {
  type AccountId,
  type EnvironmentId,
  memberRoles,
  newAccountId,
  newApiKeyId,
  newEnvironmentId,
  newUserId,
  parseApiKey,
} from "@perdure/cloud";
import { type AccountOperations, accountOperations, CloudClient, userOperations } from "@perdure/cloud-client";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { openTestTenancy, type TestTenancy, type TestUser } from "../src/testing/index.js";

let server: PostgresServer;
let cloud: TestTenancy;
beforeAll(async () => {
  server = await startPostgres();
  cloud = await openTestTenancy(server.url);
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { [field: string]: unknown };
}

async function ask(
  path: string,
  token: string | undefined,
  body: string | undefined = "{}",
  more: RequestInit = {},
): Promise<Answer> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  const response = await fetch(`${cloud.origin}${path}`, {
    method: "POST",
    headers,
    ...(body === undefined ? {} : { body }),
    ...more,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Answer["body"] };
}

/** What of an answer does not differ from one request to the next. */
const same = ({ status, body: { request_id: _, ...rest } }: Answer) => ({ status, rest });

async function environmentOf(user: TestUser, account: AccountId, name = "dev"): Promise<EnvironmentId> {
  return (await user.client.account(account, "CreateEnvironment", { name, region: "us" })).environmentId;
}

/** As if its runtime had come up. */
async function activate(id: EnvironmentId): Promise<void> {
  await cloud.ports.database.tables.environments.take(id, { event: "provisioned", nowMs: cloud.clock.nowMs() });
}

describe("who may call", () => {
  test("the official command line's calls, with an empty body and nothing about its length", async () => {
    const user = await cloud.user();
    const account = await user.account();
    const id = await environmentOf(user, account);
    const accounts = await ask("/cloud/ListAccounts", user.token, undefined);
    expect(accounts).toMatchObject({ status: 200, body: { accounts: [{ accountId: account, name: "Acme" }] } });
    const environments = await ask(`/cloud/${account}/ListEnvironments`, user.token, undefined);
    expect(environments).toMatchObject({ status: 200, body: { environments: [{ environmentId: id, name: "dev" }] } });
    const { body } = await ask(`/cloud/${account}/DescribeEnvironment`, user.token, JSON.stringify({ environmentId: id }));
    const host = `${id.slice(4)}.env.us.perdure.test`;
    expect(body).toMatchObject({
      environmentId: id,
      name: "dev",
      ingressBaseUrl: `https://${host}:8080`,
      adminBaseUrl: `https://${host}:9070`,
      proxyBaseUrl: "https://tunnel.us.perdure.test:9080",
      tunnelSrv: "tunnel.us.perdure.test",
      signingPublicKey: expect.stringMatching(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]{40,44}$/),
      status: "PENDING",
      lambdaExternalId: id,
    });
  });

  test("foreign and unknown accounts answer the same, whatever is asked", async () => {
    const [owner, stranger] = [await cloud.user(), await cloud.user()];
    const account = await owner.account();
    const answers = await Promise.all(
      [account, newAccountId(systemRandom), "acc_nonsense", "..%2f"].flatMap((id) =>
        [...Object.keys(accountOperations), "ExportAuditEvents", "Nonsense"].map((name) =>
          ask(`/cloud/${id}/${name}`, stranger.token),
        ),
      ),
    );
    const distinct = new Set(answers.map((answer) => JSON.stringify(same(answer))));
    expect([...distinct].map((text) => JSON.parse(text))).toEqual([
      { status: 403, rest: { code: 403, message: "You are not a member of this account", restate_code: "PERD0403" } },
    ]);
    const update = await ask("/cloud/UpdateAccount", stranger.token, JSON.stringify({ accountId: account, name: "Mine" }));
    expect(same(update)).toEqual(same(answers[0] as Answer));
  });

  test("T30: foreign accounts and accounts that are not there take the same time", async () => {
    const [member, stranger] = [await cloud.user(), await cloud.user()];
    const foreign = await member.account();
    await environmentOf(member, foreign);
    const paths = [foreign, newAccountId(systemRandom)].map((account) => `/cloud/${account}/ListEnvironments`);
    const took = paths.map(() => [] as number[]);
    for (let round = 0; round < 120; round++) {
      // In turns, so that whatever else the machine does concerns both.
      for (const [which, path] of paths.entries()) {
        const startedAtMs = performance.now();
        await ask(path, stranger.token);
        took[which]?.push(performance.now() - startedAtMs);
      }
    }
    const [one = 0, other = 0] = took.map((times) => times.sort((a, b) => a - b)[times.length / 2]);
    expect(Math.max(one, other) / Math.min(one, other)).toBeLessThan(1.5);
  });

  test("nobody without a good token of ours, at any operation", async () => {
    const user = await cloud.user();
    const parts = user.token.split(".");
    const forged = [
      undefined,
      "",
      "key_abc",
      user.token.slice(0, -3),
      `${parts[0]}.${parts[1]}.`,
      `${Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")}.${parts[1]}.`,
    ];
    for (const token of forged) {
      for (const name of [...Object.keys(userOperations), `${newAccountId(systemRandom)}/ListEnvironments`]) {
        const answer = await ask(`/cloud/${name}`, token);
        expect(answer).toMatchObject({ status: 401, body: { code: 401, restate_code: "PERD0401" } });
        expect(answer.headers.get("www-authenticate")).toContain('Bearer realm="perdure"');
      }
    }
  });

  test("members by their role, for every operation", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const allowed: Record<string, string> = {};
    for (const role of memberRoles) {
      const member = await cloud.user();
      await cloud.ports.database.tables.accounts.addMember({ accountId: account, userId: member.id, role, sinceMs: 1 });
      for (const name of Object.keys(accountOperations)) {
        // With nothing in the body: who may not is told so before anything is looked at.
        const { status } = await ask(`/cloud/${account}/${name}`, member.token);
        if (status !== 403) allowed[name] = (allowed[name] ?? "") + role[0];
      }
    }
    expect(allowed).toEqual({
      DescribeAccount: "oadvb",
      ListEnvironments: "oadv",
      DescribeEnvironment: "oadv",
      CreateEnvironment: "oa",
      UpdateEnvironment: "oa",
      DestroyEnvironment: "oa",
      UndeleteEnvironment: "oa",
      SuspendEnvironment: "oa",
      ResumeEnvironment: "oa",
      CreateApiKey: "oad",
      ListApiKeys: "oadv",
      DescribeApiKey: "oadv",
      DeleteApiKey: "oad",
      GetEnvironmentLogs: "oadv",
      ChangePlan: "ob",
      ListMembers: "oadv",
      InviteMember: "oa",
      WithdrawInvitation: "oa",
      UpdateMember: "oa",
      RemoveMember: "oadvb",
      RotateSigningKey: "oa",
      PromoteSigningKey: "oa",
      RetireSigningKey: "oa",
      ListTunnels: "oadv",
      GetUsage: "oadvb",
      ListAuditEvents: "oa",
    });
  });

  test("every error has the same form", async () => {
    const user = await cloud.user();
    const account = await user.account();
    const cases: readonly (readonly [path: string, body: string, status: number, code: string])[] = [
      ["/nowhere", "{}", 404, "PERD0404"],
      ["/cloud/Nonsense", "{}", 404, "PERD0404"],
      ["/cloud/toString", "{}", 404, "PERD0404"],
      [`/cloud/${account}/constructor`, "{}", 404, "PERD0404"],
      [`/cloud/${account}/CreateEnvironment`, "{", 400, "PERD0400"],
      [`/cloud/${account}/CreateEnvironment`, "[]", 400, "PERD0400"],
      [`/cloud/${account}/CreateEnvironment`, `"${"x".repeat(70_000)}"`, 413, "PERD0413"],
      ["/cloud/%E0%A4%A", "{}", 400, "PERD0400"],
    ];
    for (const [path, body, status, code] of cases) {
      const answer = await ask(path, user.token, body);
      expect([path, answer.status, answer.body["restate_code"]]).toEqual([path, status, code]);
      expect(answer.body).toEqual({
        code: status,
        message: expect.any(String),
        restate_code: code,
        request_id: expect.any(String),
      });
      expect(answer.headers.get("content-type")).toBe("application/json");
    }
    const get = await fetch(`${cloud.origin}/cloud/ListAccounts`);
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

/** What an operation says about an environment that is foreign, unknown, or no id at all, and about wrong bodies. */
const NEEDS_ENVIRONMENT: readonly (readonly [name: keyof AccountOperations, rest: object])[] = [
  ["DescribeEnvironment", {}],
  ["UpdateEnvironment", { description: "x" }],
  ["DestroyEnvironment", { confirmName: "dev" }],
  ["UndeleteEnvironment", {}],
  ["SuspendEnvironment", {}],
  ["ResumeEnvironment", {}],
  ["CreateApiKey", { roleId: "rst:role::FullAccess" }],
  ["ListApiKeys", {}],
  ["DescribeApiKey", { keyId: newApiKeyId(systemRandom) }],
  ["DeleteApiKey", { keyId: newApiKeyId(systemRandom) }],
  ["GetEnvironmentLogs", { start: 0, end: 1 }],
  ["RotateSigningKey", {}],
  ["PromoteSigningKey", {}],
  ["RetireSigningKey", {}],
  ["ListTunnels", {}],
  ["GetUsage", {}],
];

describe("environments of others", () => {
  test.each(NEEDS_ENVIRONMENT)("%s knows only those of the account", async (name, rest) => {
    const [mine, theirs] = [await cloud.user(), await cloud.user()];
    const account = await mine.account();
    const foreign = await environmentOf(theirs, await theirs.account());
    const gone = await environmentOf(mine, account, "gone");
    for (const event of ["provisioned", "destroy", "erased"] as const) {
      await cloud.ports.database.tables.environments.take(gone, { event, nowMs: 1 });
    }
    const answers = await Promise.all(
      [foreign, newEnvironmentId(1, systemRandom), gone].map((environmentId) =>
        ask(`/cloud/${account}/${name}`, mine.token, JSON.stringify({ environmentId, ...rest })),
      ),
    );
    expect(answers.map(same)).toEqual(Array(3).fill(same(answers[0] as Answer)));
    expect(answers[0]).toMatchObject({ status: 404, body: { message: "Unknown environment", restate_code: "PERD0404" } });
    for (const environmentId of ["env_x", 7, null, `${foreign}'--`]) {
      const answer = await ask(`/cloud/${account}/${name}`, mine.token, JSON.stringify({ ...rest, environmentId }));
      expect(answer).toMatchObject({ status: 400, body: { restate_code: "PERD0400" } });
    }
  });
});

describe("environments", () => {
  test("bad wishes are refused by name", async () => {
    const user = await cloud.user();
    const account = await user.account("team");
    const create = (body: object) => ask(`/cloud/${account}/CreateEnvironment`, user.token, JSON.stringify(body));
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

  test("many requests at once: a key makes one, and the plan's number is never exceeded", async () => {
    const user = await cloud.user();
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

  test("live through suspension, deletion and coming back", async () => {
    const [owner, admin] = [await cloud.user(), await cloud.user()];
    const account = await owner.account();
    await cloud.ports.database.tables.accounts.addMember({ accountId: account, userId: admin.id, role: "admin", sinceMs: 1 });
    const environmentId = await environmentOf(owner, account);
    const as =
      (user: TestUser) =>
      (name: keyof AccountOperations, more: object = {}) =>
        ask(`/cloud/${account}/${name}`, user.token, JSON.stringify({ environmentId, ...more }));
    const call = as(owner);
    expect(await call("SuspendEnvironment")).toMatchObject({ status: 409 });
    await activate(environmentId);
    expect(await call("SuspendEnvironment")).toMatchObject({ status: 200, body: { status: "SUSPENDED", suspendedFor: "user" } });
    expect(await call("SuspendEnvironment")).toMatchObject({ status: 409 });
    expect(await call("ResumeEnvironment")).toMatchObject({ status: 200, body: { status: "ACTIVE" } });
    const key = await owner.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
    expect(await call("DestroyEnvironment", { confirmName: "dve" })).toMatchObject({ status: 400 });
    expect(await call("DestroyEnvironment", { confirmName: "dev" })).toMatchObject({
      status: 200,
      body: { result: { ok: true } },
    });
    expect(await cloud.tenancy.authenticate(key.apiKey, environmentId)).toEqual({ kind: "unknown" });
    for (const name of ["CreateApiKey", "RotateSigningKey", "UpdateEnvironment"] as const) {
      expect(await call(name, { roleId: "rst:role::FullAccess" })).toMatchObject({ status: 409 });
    }
    expect(await as(admin)("UndeleteEnvironment")).toMatchObject({ status: 403 });
    const other = await environmentOf(owner, account);
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

  test("one that quotas suspended cannot be resumed by hand, also not through deletion", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const environmentId = await environmentOf(owner, account);
    await activate(environmentId);
    await cloud.ports.database.tables.environments.take(environmentId, { event: "suspend", suspendedFor: "quota", nowMs: 1 });
    const resume = () => ask(`/cloud/${account}/ResumeEnvironment`, owner.token, JSON.stringify({ environmentId }));
    expect(await resume()).toMatchObject({ status: 403, body: { restate_code: "PERD0201" } });
    await owner.client.account(account, "DestroyEnvironment", { environmentId, confirmName: "dev" });
    const back = await owner.client.account(account, "UndeleteEnvironment", { environmentId });
    expect(back).toMatchObject({ status: "SUSPENDED", suspendedFor: "quota" });
  });

  test("settings of its doors are changed and shown", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const environmentId = await environmentOf(owner, account);
    const update = (body: object) =>
      ask(`/cloud/${account}/UpdateEnvironment`, owner.token, JSON.stringify({ environmentId, ...body }));
    const changes = { name: "prod", corsOrigins: ["https://app.example"], forwardsForeignAuthorization: true };
    expect(await update(changes)).toMatchObject({ status: 200, body: changes });
    expect(await update({ corsOrigins: ["app.example"] })).toMatchObject({ status: 400 });
    const facts = await cloud.tenancy.environment(environmentId.slice(4) as never);
    expect(facts).toMatchObject({ corsOrigins: ["https://app.example"], forwardsForeignAuthorization: true });
  });
});

describe("API keys", () => {
  test("are shown once, listed without their secret, bounded by the plan, and deleted", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const environmentId = await environmentOf(owner, account);
    const create = (more = {}) =>
      owner.client.account(account, "CreateApiKey", { environmentId, roleId: "rst:role::IngressAccess", ...more });
    const made = await create({ description: "ci", expiresAt: 4_000_000_000 });
    expect(parseApiKey(made.apiKey)?.id).toBe(made.keyId);
    const secret = made.apiKey.split(".")[1] as string;
    const { apiKey: _, ...shown } = made;
    expect(await owner.client.account(account, "DescribeApiKey", { environmentId, keyId: made.keyId })).toEqual(shown);
    expect((await owner.client.account(account, "ListApiKeys", { environmentId })).apiKeys).toEqual([shown]);
    expect(JSON.stringify(await cloud.ports.database.tables.apiKeys.get(made.keyId))).not.toContain(secret);
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

  test("developers delete their own, admins everybody's", async () => {
    const [owner, developer] = [await cloud.user(), await cloud.user()];
    const account = await owner.account();
    await cloud.ports.database.tables.accounts.addMember({
      accountId: account,
      userId: developer.id,
      role: "developer",
      sinceMs: 1,
    });
    const environmentId = await environmentOf(owner, account);
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
  test("are rotated without a moment in which services would refuse us", async () => {
    const owner = await cloud.user();
    const account = await owner.account();
    const environmentId = await environmentOf(owner, account);
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
    expect((await cloud.tenancy.environment(environmentId.slice(4) as never))?.signingPublicKeys).toEqual([second, first]);
    expect((await cloud.ports.database.tables.environments.get(environmentId))?.generation).toBe(2);
    expect(await failing(step("RetireSigningKey"))).toBe(409);
    const { previousSigningPublicKey, previousRetirableAt = 0 } = await described();
    expect(previousSigningPublicKey).toBe(first);
    expect(Math.abs(previousRetirableAt - 86_400 - cloud.clock.nowMs() / 1_000)).toBeLessThan(60);
    expect(await step("RetireSigningKey", { force: true })).toMatchObject({ signingPublicKeys: [second] });
    expect(JSON.stringify([rotated, promoted])).not.toContain("PRIVATE");
  });
});

describe("members", () => {
  test("are invited, join with their own address, change roles and leave", async () => {
    const [owner, guest, stranger] = [await cloud.user(), await cloud.user(), await cloud.user()];
    const account = await owner.account();
    const invite = (email: string, role: "viewer" | "owner" = "viewer") =>
      owner.client.account(account, "InviteMember", { email, role });
    const { token: old } = await invite(guest.email);
    const { token } = await invite(guest.email.toUpperCase());
    const accept = (by: TestUser, text: string) =>
      by.client.user("AcceptInvitation", { token: text }).catch(({ status }: { status: number }) => status);
    expect(await accept(guest, old)).toBe(404);
    expect(await accept(stranger, token)).toBe(404);
    expect(await accept(guest, token)).toEqual({ accountId: account, role: "viewer" });
    expect(await accept(guest, token)).toBe(404);
    expect(await invite(guest.email).catch((e) => e)).toMatchObject({ status: 409 });
    await owner.client.account(account, "UpdateMember", { userId: guest.id, role: "admin" });
    const byGuest = (name: "UpdateMember" | "RemoveMember", body: object) =>
      ask(`/cloud/${account}/${name}`, guest.token, JSON.stringify(body));
    expect(await byGuest("UpdateMember", { userId: owner.id, role: "viewer" })).toMatchObject({ status: 403 });
    expect(await byGuest("UpdateMember", { userId: guest.id, role: "owner" })).toMatchObject({ status: 403 });
    expect(await byGuest("RemoveMember", { userId: owner.id })).toMatchObject({ status: 403 });
    expect(await byGuest("RemoveMember", { userId: newUserId(1, systemRandom) })).toMatchObject({ status: 404 });
    expect(await owner.client.account(account, "RemoveMember", { userId: owner.id }).catch((e) => e)).toMatchObject({
      status: 409,
    });
    expect(await byGuest("RemoveMember", { userId: guest.id })).toMatchObject({ status: 200 });
    expect(await byGuest("RemoveMember", { userId: guest.id })).toMatchObject({ status: 403 });
    expect((await owner.client.account(account, "ListMembers", {})).members.map(({ userId }) => userId)).toEqual([owner.id]);
  });

  test("T14: who is removed, or made less, leaves no invitation behind that they could not give any more", async () => {
    const [owner, admin, friend, other] = [await cloud.user(), await cloud.user(), await cloud.user(), await cloud.user()];
    const account = await owner.account();
    const join = async (by: TestUser, role: "owner" | "admin" | "viewer", of: TestUser) => {
      const { token } = await by.client.account(account, "InviteMember", { email: of.email, role });
      return () => of.client.user("AcceptInvitation", { token }).catch(({ status }: { status: number }) => status);
    };
    await (await join(owner, "owner", admin))();
    const [asOwner, asViewer, byOwner] = [
      await join(admin, "owner", friend),
      await join(admin, "viewer", other),
      await join(owner, "viewer", await cloud.user()),
    ];
    await owner.client.account(account, "UpdateMember", { userId: admin.id, role: "admin" });
    const open = async () => (await owner.client.account(account, "ListMembers", {})).invitations.map(({ email }) => email);
    expect([await asOwner(), (await open()).includes(other.email), (await open()).length]).toEqual([404, true, 2]);
    await owner.client.account(account, "RemoveMember", { userId: admin.id });
    expect([await asViewer(), (await open()).length]).toEqual([404, 1]);
    expect(await byOwner()).toMatchObject({ role: "viewer" });
    const told = await owner.client.account(account, "ListAuditEvents", { action: "member.withdraw-invitation" });
    expect(told.events.map(({ target }) => target)).toEqual([other.email, friend.email]);
  });

  test("invitations end after a week, or when they are withdrawn", async () => {
    const [owner, guest] = [await cloud.user(), await cloud.user()];
    const account = await owner.account();
    const invitation = await owner.client.account(account, "InviteMember", { email: guest.email, role: "viewer" });
    const tokenHash = createHash("sha256").update(invitation.token).digest();
    const late = invitation.expiresAt * 1_000 + 1_000;
    expect(await cloud.ports.database.tables.invitations.accept(tokenHash, guest.email, guest.id, late)).toBeUndefined();
    await owner.client.account(account, "WithdrawInvitation", { email: guest.email });
    expect(await guest.client.user("AcceptInvitation", { token: invitation.token }).catch((e) => e)).toMatchObject({
      status: 404,
    });
    expect(await owner.client.account(account, "WithdrawInvitation", { email: guest.email }).catch((e) => e)).toMatchObject({
      status: 404,
    });
  });
});

describe("accounts, usage and the audit log", () => {
  test("a user's plan bounds the accounts, also for requests at once", async () => {
    const user = await cloud.user();
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
    const user = await cloud.user();
    const account = await user.account();
    const environmentId = await environmentOf(user, account);
    const atMs = cloud.clock.nowMs();
    const totals = { ingressRequests: 3, adminRequests: 1, bytesIn: 10, bytesOut: 20, tunnelBytes: 0 };
    const report = { source: "gateway-1", environmentId, atMs, totals };
    await cloud.tenancy.report([report, report]);
    await cloud.tenancy.report([{ ...report, totals: { ...totals, bytesIn: 15 } }]);
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
    const user = await cloud.user();
    const account = await user.account("team");
    const environmentId = await environmentOf(user, account);
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

  test("tunnels are listed by name as relays tell of them", async () => {
    const user = await cloud.user();
    const account = await user.account();
    const environmentId = await environmentOf(user, account);
    const one = {
      environmentId,
      name: "laptop",
      clientVersion: "1.7.12",
      workerId: undefined,
      connectedAtMs: 5_000,
      inFlight: 1,
    };
    await cloud.tenancy.reportTunnels({
      relay: "r1",
      atMs: 0,
      connections: [
        { ...one, id: "a" },
        { ...one, id: "b" },
      ],
    });
    await cloud.tenancy.reportTunnels({ relay: "r2", atMs: 0, connections: [{ ...one, id: "a" }] });
    const { tunnels } = await user.client.account(account, "ListTunnels", { environmentId });
    expect(tunnels).toHaveLength(1);
    expect(tunnels[0]?.connections.map(({ server: relay, id }) => `${relay}${id}`).sort()).toEqual(["r1a", "r1b", "r2a"]);
  });
});

test("the client tells apart what the API refused and what never reached it", async () => {
  const user = await cloud.user();
  const nobody = new CloudClient({
    baseUrl: "http://127.0.0.1:1/some/path",
    accessToken: () => ({ reveal: () => user.token }) as never,
  });
  await expect(nobody.user("ListAccounts", {})).rejects.toMatchObject({ status: 0, code: undefined });
  const prefixed = new CloudClient({
    baseUrl: `${cloud.origin}/some/path`,
    accessToken: () => ({ reveal: () => user.token }) as never,
  });
  expect(await prefixed.user("ListAccounts", {})).toEqual({ accounts: [] });
});
