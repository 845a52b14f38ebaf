/** `perdure members`: members of an account and their roles. */

import { type AccountId, type MemberRole, memberRoles, type UserId } from "@perdure/cloud";
import type { CloudClient } from "@perdure/cloud-client";
import type { Command } from "commander";
import { Option } from "commander";
import { chooseAccount } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { showTime } from "../../output/index.js";

const roleOption = () => new Option("--role <role>", "what they may do").choices(memberRoles);

export function register(program: Command, context: Context): void {
  const members = program.command("members").helpGroup("Cloud:").description("members of the account in use, and invitations");
  members
    .command("list")
    .description("members and open invitations")
    .action(() => list(context));
  members
    .command("invite")
    .description("invite a member; the printed token is for them")
    .argument("<email>")
    .addOption(roleOption().default("developer"))
    .action((email: string, flags: { role: MemberRole }) => invite(context, email, flags.role));
  members
    .command("withdraw")
    .description("withdraw an invitation")
    .argument("<email>")
    .action((email: string) => withdraw(context, email));
  members
    .command("update")
    .description("change the role of a member")
    .argument("<member>", "e-mail address or id")
    .addOption(roleOption().makeOptionMandatory())
    .option("--keep-keys", KEEP_KEYS)
    .action((member: string, flags: { role: MemberRole; keepKeys?: true }) => update(context, member, flags));
  members
    .command("remove")
    .description("remove a member; their logins and API keys stop working for this account")
    .argument("<member>", "e-mail address or id")
    .option("--keep-keys", KEEP_KEYS)
    .action((member: string, flags: { keepKeys?: true }) => remove(context, member, flags));
}

const KEEP_KEYS = "keep the API keys that the member created; otherwise those that the new role does not permit are deleted";

interface ChosenAccount {
  readonly client: CloudClient;
  readonly accountId: AccountId;
}

async function chosen(context: Context): Promise<ChosenAccount> {
  const client = context.session.client();
  return { client, accountId: (await chooseAccount(context, client)).accountId };
}

async function list(context: Context): Promise<void> {
  const { output } = context;
  const { client, accountId } = await chosen(context);
  const answer = await client.account(accountId, "ListMembers", {}, { signal: context.signal });
  output.result(answer, () => {
    output.table(
      [
        { title: "E-MAIL", show: ({ email }) => email },
        { title: "NAME", show: ({ name }) => name },
        { title: "ROLE", show: ({ role }) => role },
        { title: "SINCE", show: ({ since }) => showTime(since) },
        {
          title: "ACTIVE",
          show: ({ lastActiveAt }) => (lastActiveAt === undefined ? undefined : showTime(lastActiveAt).slice(0, 10)),
        },
        { title: "ID", show: ({ userId }) => userId },
      ],
      answer.members,
      "There is no member.",
    );
    if (answer.invitations.length === 0) return;
    output.print();
    output.table(
      [
        { title: "INVITED", show: ({ email }) => email },
        { title: "ROLE", show: ({ role }) => role },
        { title: "UNTIL", show: ({ expiresAt }) => showTime(expiresAt) },
      ],
      answer.invitations,
      "There are no open invitations.",
    );
  });
}

async function invite(context: Context, email: string, role: MemberRole): Promise<void> {
  const { output } = context;
  const { client, accountId } = await chosen(context);
  const answer = await client.account(accountId, "InviteMember", { email, role }, { signal: context.signal });
  output.result({ ...answer, email, role }, () => {
    output.print(answer.token);
    output.note(`Invited ${email} as ${role} until ${showTime(answer.expiresAt)}. The token is shown once. They join with it:`);
    output.note("    perdure account join TOKEN");
  });
}

async function withdraw(context: Context, email: string): Promise<void> {
  const { client, accountId } = await chosen(context);
  await client.account(accountId, "WithdrawInvitation", { email }, { signal: context.signal });
  context.output.result({ email }, () => context.output.print(`The invitation of ${email} is withdrawn.`));
}

interface KeysFlag {
  readonly keepKeys?: true;
}

async function update(context: Context, idOrEmail: string, { role, keepKeys }: KeysFlag & { role: MemberRole }): Promise<void> {
  const { client, accountId } = await chosen(context);
  const { userId, email } = await memberNamed(context, client, accountId, idOrEmail);
  const change = { userId, role, keepApiKeys: keepKeys === true };
  const { signal } = context;
  const { apiKeys } = await client.account(accountId, "UpdateMember", { ...change, dryRun: true }, { signal });
  if (apiKeys.length > 0) await agree(context, `Make ${email} ${role}${fateOf(apiKeys, keepKeys)}?`);
  const done = await client.account(accountId, "UpdateMember", change, { signal });
  context.output.result({ userId, email, role, ...keysOf(done) }, () => {
    context.output.print(`${email} is ${role} now.`);
    noteKeys(context, done);
  });
}

async function remove(context: Context, idOrEmail: string, { keepKeys }: KeysFlag): Promise<void> {
  const { client, accountId } = await chosen(context);
  const { userId, email } = await memberNamed(context, client, accountId, idOrEmail);
  const change = { userId, keepApiKeys: keepKeys === true };
  const { signal } = context;
  const { apiKeys } = await client.account(accountId, "RemoveMember", { ...change, dryRun: true }, { signal });
  await agree(context, `Remove ${email}${fateOf(apiKeys, keepKeys)}?`);
  const done = await client.account(accountId, "RemoveMember", change, { signal });
  context.output.result({ userId, email, ...keysOf(done) }, () => {
    context.output.print(`${email} is no longer a member.`);
    noteKeys(context, done);
  });
}

type MemberKeys = readonly { readonly keyId: string; readonly description?: string | undefined }[];

async function agree(context: Context, question: string): Promise<void> {
  if (context.yes || !context.prompts.isInteractive) return;
  if (!(await context.prompts.confirm(question, "Agree with --yes"))) context.fail(FAILED, "Nothing was done");
}

function fateOf(keys: MemberKeys, keepKeys: true | undefined): string {
  if (keys.length === 0) return "";
  const names = keys
    .map(({ keyId, description }) => (description === undefined ? keyId : `${keyId} (${description})`))
    .join(", ");
  return keepKeys === true ? `, and keep the API keys they made: ${names}` : `, and delete the API keys they made: ${names}`;
}

const keysOf = ({ apiKeys, apiKeysDeleted }: { readonly apiKeys: MemberKeys; readonly apiKeysDeleted: boolean }) => ({
  apiKeys: apiKeys.map(({ keyId }) => keyId),
  apiKeysDeleted,
});

function noteKeys(
  context: Context,
  { apiKeys, apiKeysDeleted }: { readonly apiKeys: MemberKeys; readonly apiKeysDeleted: boolean },
): void {
  if (apiKeys.length === 0) return;
  const ids = apiKeys.map(({ keyId }) => keyId).join(", ");
  context.output.note(apiKeysDeleted ? `Deleted the API keys they made: ${ids}` : `API keys they made still work: ${ids}`);
}

async function memberNamed(
  context: Context,
  client: CloudClient,
  accountId: AccountId,
  idOrEmail: string,
): Promise<{ readonly userId: UserId; readonly email: string }> {
  const { members } = await client.account(accountId, "ListMembers", {}, { signal: context.signal });
  const match = members.find(({ userId, email }) => userId === idOrEmail || email === idOrEmail.toLowerCase());
  return match ?? context.fail(FAILED, `'${idOrEmail}' is not a member of the account`, "List the members: perdure members list");
}
