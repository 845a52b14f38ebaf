/** Authorisation of the Cloud API, and that answers reveal nothing about foreign accounts. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { memberRoles, newAccountId, newApiKeyId, newEnvironmentId } from "@perdure/cloud";
import { type AccountOperations, accountOperations, CloudClient, userOperations } from "@perdure/cloud-client";
import { type Answer, CloudWorld, same } from "./cloud-world.js";

let world: CloudWorld;
beforeAll(async () => {
  world = await CloudWorld.open();
}, 120_000);
afterAll(() => world[Symbol.asyncDispose]());

describe("authorisation", () => {
  test("the official command line's calls, with an empty body and no header about its length", async () => {
    const user = await world.cloud.user();
    const account = await user.account();
    const id = await world.environmentOf(user, account);
    const accounts = await world.callBare("/cloud/ListAccounts", user.token);
    expect(accounts).toMatchObject({ status: 200, body: { accounts: [{ accountId: account, name: "Acme" }] } });
    const environments = await world.callBare(`/cloud/${account}/ListEnvironments`, user.token);
    expect(environments).toMatchObject({ status: 200, body: { environments: [{ environmentId: id, name: "dev" }] } });
    const { body } = await world.call(`/cloud/${account}/DescribeEnvironment`, user.token, JSON.stringify({ environmentId: id }));
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

  test("foreign and unknown accounts get the same answer at every path", async () => {
    const [owner, otherUser] = [await world.cloud.user(), await world.cloud.user()];
    const account = await owner.account();
    const answers = await Promise.all(
      [account, newAccountId(systemRandom), "acc_nonsense", "..%2f"].flatMap((id) =>
        [...Object.keys(accountOperations), "ExportAuditEvents", "Nonsense"].map((name) =>
          world.call(`/cloud/${id}/${name}`, otherUser.token),
        ),
      ),
    );
    const distinct = new Set(answers.map((answer) => JSON.stringify(same(answer))));
    expect([...distinct].map((text) => JSON.parse(text))).toEqual([
      { status: 403, rest: { code: 403, message: "You are not a member of this account", restate_code: "PERD0403" } },
    ]);
    const update = await world.call(
      "/cloud/UpdateAccount",
      otherUser.token,
      JSON.stringify({ accountId: account, name: "Mine" }),
    );
    expect(same(update)).toEqual(same(answers[0] as Answer));
  });

  test("T30: answers for foreign and for unknown accounts take the same time", async () => {
    const [member, otherUser] = [await world.cloud.user(), await world.cloud.user()];
    const foreign = await member.account();
    await world.environmentOf(member, foreign);
    const paths = [foreign, newAccountId(systemRandom)].map((account) => `/cloud/${account}/ListEnvironments`);
    const took = paths.map(() => [] as number[]);
    for (let round = 0; round < 120; round++) {
      // Alternating, so that other load of the machine affects both.
      for (const [which, path] of paths.entries()) {
        const startedAtMs = performance.now();
        await world.call(path, otherUser.token);
        took[which]?.push(performance.now() - startedAtMs);
      }
    }
    const [one = 0, other = 0] = took.map((times) => times.sort((a, b) => a - b)[times.length / 2]);
    expect(Math.max(one, other) / Math.min(one, other)).toBeLessThan(1.5);
  });

  test("a request without a valid token is refused at every operation", async () => {
    const user = await world.cloud.user();
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
        const answer = await world.call(`/cloud/${name}`, token);
        expect(answer).toMatchObject({ status: 401, body: { code: 401, restate_code: "PERD0401" } });
        expect(answer.headers.get("www-authenticate")).toContain('Bearer realm="perdure"');
      }
    }
  });

  test("members by their role, for every operation", async () => {
    const owner = await world.cloud.user();
    const account = await owner.account();
    const allowed: Record<string, string> = {};
    for (const role of memberRoles) {
      const member = await world.cloud.user();
      await world.cloud.ports.database.tables.accounts.addMember({ accountId: account, userId: member.id, role, sinceMs: 1 });
      for (const name of Object.keys(accountOperations)) {
        // With an empty body: missing permission is reported before the body is checked.
        const { status } = await world.call(`/cloud/${account}/${name}`, member.token);
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
    const user = await world.cloud.user();
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
      const answer = await world.call(path, user.token, body);
      expect([path, answer.status, answer.body["restate_code"]]).toEqual([path, status, code]);
      expect(answer.body).toEqual({
        code: status,
        message: expect.any(String),
        restate_code: code,
        request_id: expect.any(String),
      });
      expect(answer.headers.get("content-type")).toBe("application/json");
    }
    const get = await fetch(`${world.cloud.origin}/cloud/ListAccounts`);
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

/** Operations that must answer 404 for a foreign, unknown or malformed environment id, and 400 for a wrong body. */
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

describe("environments of other accounts", () => {
  test.each(NEEDS_ENVIRONMENT)("%s accepts only those of the account", async (name, rest) => {
    const [mine, theirs] = [await world.cloud.user(), await world.cloud.user()];
    const account = await mine.account();
    const foreign = await world.environmentOf(theirs, await theirs.account());
    const gone = await world.environmentOf(mine, account, "gone");
    for (const event of ["provisioned", "destroy", "erased"] as const) {
      await world.cloud.ports.database.tables.environments.take(gone, { event, nowMs: 1 });
    }
    const answers = await Promise.all(
      [foreign, newEnvironmentId(1, systemRandom), gone].map((environmentId) =>
        world.call(`/cloud/${account}/${name}`, mine.token, JSON.stringify({ environmentId, ...rest })),
      ),
    );
    expect(answers.map(same)).toEqual(Array(3).fill(same(answers[0] as Answer)));
    expect(answers[0]).toMatchObject({ status: 404, body: { message: "Unknown environment", restate_code: "PERD0404" } });
    for (const environmentId of ["env_x", 7, null, `${foreign}'--`]) {
      const answer = await world.call(`/cloud/${account}/${name}`, mine.token, JSON.stringify({ ...rest, environmentId }));
      expect(answer).toMatchObject({ status: 400, body: { restate_code: "PERD0400" } });
    }
  });
});

test("the client distinguishes a refusal of the API from a request that did not reach it", async () => {
  const user = await world.cloud.user();
  const unreachable = new CloudClient({
    baseUrl: "http://127.0.0.1:1/some/path",
    accessToken: () => ({ reveal: () => user.token }) as never,
  });
  await expect(unreachable.user("ListAccounts", {})).rejects.toMatchObject({ status: 0, code: undefined });
  const prefixed = new CloudClient({
    baseUrl: `${world.cloud.origin}/some/path`,
    accessToken: () => ({ reveal: () => user.token }) as never,
  });
  expect(await prefixed.user("ListAccounts", {})).toEqual({ accounts: [] });
});
