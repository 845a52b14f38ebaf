/** The audit log is complete: each operation of the Cloud API either only reads, or adds a record with the actor and the change. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { accountOperations, userOperations } from "@perdure/cloud-client";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { openTestTenancy, type TestTenancy, type TestUser } from "../src/testing/index.js";

let database: EmptyDatabase;
let cloud: TestTenancy;
beforeAll(async () => {
  database = await startDatabase();
  cloud = await openTestTenancy(database.url);
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

type Operation = keyof typeof userOperations | keyof typeof accountOperations;

/** The action in the audit record of each operation; undefined: it only reads. A new operation does not compile until it is listed here. */
const ACTIONS: Readonly<Record<Operation, string | undefined>> = {
  GetUserIdentity: undefined,
  ListAccounts: undefined,
  CreateAccount: "account.create",
  UpdateAccount: "account.update",
  AcceptInvitation: "member.join",
  DescribeAccount: undefined,
  ChangePlan: "account.change-plan",
  ListEnvironments: undefined,
  DescribeEnvironment: undefined,
  CreateEnvironment: "environment.create",
  UpdateEnvironment: "environment.update",
  DestroyEnvironment: "environment.destroy",
  UndeleteEnvironment: "environment.undelete",
  SuspendEnvironment: "environment.suspend",
  ResumeEnvironment: "environment.resume",
  CreateApiKey: "key.create",
  ListApiKeys: undefined,
  DescribeApiKey: undefined,
  DeleteApiKey: "key.delete",
  GetEnvironmentLogs: undefined,
  ListMembers: undefined,
  InviteMember: "member.invite",
  WithdrawInvitation: "member.withdraw-invitation",
  UpdateMember: "member.update",
  RemoveMember: "member.remove",
  RotateSigningKey: "signing-key.rotate",
  PromoteSigningKey: "signing-key.promote",
  RetireSigningKey: "signing-key.retire",
  ListTunnels: undefined,
  GetUsage: undefined,
  ListAuditEvents: undefined,
};

interface Line {
  readonly action: string;
  readonly account: string;
  readonly actorKind: string;
  readonly actorId: string;
  readonly details: string;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
  /** Audit records of this request. */
  readonly lines: readonly Line[];
}

async function call(user: TestUser, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${cloud.origin}/cloud/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${user.token}` },
    body: JSON.stringify(body),
  });
  const text = `SELECT action, account_id AS account, actor_kind AS "actorKind", actor_id AS "actorId", details
    FROM perdure_audit WHERE request_id = $1 ORDER BY number`;
  const answer = (await response.json()) as Answer["body"];
  const lines = await cloud.ports.database.tables.session.rows<Line>(text, [response.headers.get("x-request-id")]);
  return { status: response.status, body: answer, lines };
}

test("every operation that changes something adds one record with its caller; those that read add none", async () => {
  const [owner, invitee] = [await cloud.user(), await cloud.user()];
  const auditTargets: Partial<Record<Operation, string | undefined>> = {};
  const secrets: string[] = [];
  const written: string[] = [];
  let account = "";

  const succeed = async (name: Operation, body: object = {}, user = owner): Promise<Answer["body"]> => {
    const answer = await call(user, name in accountOperations ? `${account}/${name}` : name, body);
    expect([name, answer.status, answer.lines.length]).toEqual([name, 200, ACTIONS[name] === undefined ? 0 : 1]);
    if (name === "CreateAccount") account = answer.body["accountId"] as string;
    for (const { actorKind, actorId, account: of } of answer.lines) {
      expect([name, actorKind, actorId, of]).toEqual([name, "user", user.id, account]);
    }
    auditTargets[name] = answer.lines[0]?.action;
    written.push(...answer.lines.map(({ details }) => details));
    return answer.body;
  };

  await succeed("GetUserIdentity");
  await succeed("CreateAccount", { name: "Acme" });
  await succeed("UpdateAccount", { accountId: account, name: "Acme & Co" });
  await succeed("ListAccounts");
  await cloud.ports.database.tables.accounts.setPlan(account as never, "team");
  await succeed("ChangePlan", { planId: "free" });
  await cloud.ports.database.tables.accounts.setPlan(account as never, "team");
  await succeed("DescribeAccount");

  const invitation = { email: invitee.email, role: "viewer" };
  secrets.push((await succeed("InviteMember", invitation))["token"] as string);
  await succeed("WithdrawInvitation", { email: invitee.email });
  const { token = "" } = await succeed("InviteMember", invitation);
  secrets.push(token);
  await succeed("AcceptInvitation", { token }, invitee);
  const refused = await call(invitee, `${account}/CreateEnvironment`, { name: "dev", region: "us" });
  expect([refused.status, refused.lines]).toEqual([403, []]);
  await succeed("UpdateMember", { userId: invitee.id, role: "developer" });
  await succeed("ListMembers");
  await succeed("RemoveMember", { userId: invitee.id });

  const { environmentId = "" } = await succeed("CreateEnvironment", { name: "dev", region: "us" });
  const nowMs = cloud.clock.nowMs();
  await cloud.ports.database.tables.environments.take(environmentId as never, { event: "provisioned", nowMs });
  await succeed("ListEnvironments");
  await succeed("DescribeEnvironment", { environmentId });
  await succeed("UpdateEnvironment", { environmentId, description: "for a test" });
  const { keyId, apiKey = "" } = await succeed("CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
  secrets.push(apiKey.slice(apiKey.indexOf(".") + 1));
  await succeed("ListApiKeys", { environmentId });
  await succeed("DescribeApiKey", { environmentId, keyId });
  await succeed("DeleteApiKey", { environmentId, keyId });
  await succeed("RotateSigningKey", { environmentId });
  await succeed("PromoteSigningKey", { environmentId });
  await succeed("RetireSigningKey", { environmentId, force: true });
  await succeed("SuspendEnvironment", { environmentId });
  await succeed("ResumeEnvironment", { environmentId });
  await succeed("GetEnvironmentLogs", { environmentId, start: 0, end: 1 });
  await succeed("ListTunnels", { environmentId });
  await succeed("GetUsage");
  await succeed("DestroyEnvironment", { environmentId, confirmName: "dev" });
  await succeed("UndeleteEnvironment", { environmentId });
  await succeed("ListAuditEvents");

  expect(auditTargets).toEqual(ACTIONS);
  expect(Object.keys(ACTIONS).toSorted()).toEqual([...Object.keys(userOperations), ...Object.keys(accountOperations)].toSorted());
  expect(secrets.every((secret) => secret.length > 20)).toBe(true);
  expect(written.filter((details) => secrets.some((secret) => details.includes(secret)))).toEqual([]);
}, 60_000);
