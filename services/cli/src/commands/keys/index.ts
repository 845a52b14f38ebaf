/** `perdure keys`: keys of an environment, with which applications and CI authenticate. A key is shown once. */

import { present } from "@perdure/base";
import { type KeyRole, keyRoles, parseApiKeyId, type UserId } from "@perdure/cloud";
import { KEY_RATE_MAX } from "@perdure/cloud-client";
import type { Command } from "commander";
import { Option } from "commander";
import { chooseEnvironment, ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { timeAhead, wholeNumber } from "../../options.js";
import { showTime, showWhen } from "../../output/index.js";

/** Names of roles on the command line. */
const ROLES: Readonly<Record<string, KeyRole>> = {
  full: "rst:role::FullAccess",
  ingress: "rst:role::IngressAccess",
  admin: "rst:role::AdminAccess",
  awakeables: "rst:role::ResolveAwakeableAccess",
  "read-only": "perdure:role::AdminReadOnly",
};

interface KeyCreateFlags {
  readonly role: string;
  readonly description?: string;
  readonly expires?: number;
  readonly rate?: number;
}

export function register(program: Command, context: Context): void {
  const keys = program.command("keys").helpGroup("Cloud:").description("API keys of an environment");
  keys
    .command("create")
    .description("create a key; it is shown once")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .addOption(new Option("--role <role>", "what it permits").choices([...Object.keys(ROLES), ...keyRoles]).default("full"))
    .option("--description <text>", "what it is for")
    .option("--expires <time>", "duration or date (default: never)", timeAhead(context.clock))
    .option(
      "--rate <number>",
      "maximum number of requests per second (default: that of the environment)",
      wholeNumber(1, KEY_RATE_MAX),
    )
    .action((environment: string | undefined, flags: KeyCreateFlags) => create(context, environment, flags));
  keys
    .command("list")
    .description("list keys")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => list(context, environment));
  keys
    .command("revoke")
    .description("revoke a key everywhere, within seconds")
    .argument("<key>", "its id: key_…")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((key: string, environment: string | undefined) => revoke(context, key, environment));
}

async function create(context: Context, reference: string | undefined, flags: KeyCreateFlags): Promise<void> {
  const { output } = context;
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  const body = {
    environmentId,
    roleId: present(ROLES[flags.role] ?? keyRoles.find((role) => role === flags.role)),
    ...(flags.description === undefined ? {} : { description: flags.description }),
    ...(flags.expires === undefined ? {} : { expiresAt: flags.expires }),
    ...(flags.rate === undefined ? {} : { ratePerSecond: flags.rate }),
  };
  const key = await client.account(accountId, "CreateApiKey", body, { signal: context.signal });
  output.result(key, () => {
    output.print(key.apiKey);
    const rate = flags.rate === undefined ? "" : `, ${flags.rate} requests per second`;
    output.note(
      `This is the only time it is shown. Id ${key.keyId}, role ${roleText(key.roleId)}${rate}, expires ${showTime(key.expiresAt)}.`,
    );
  });
}

async function list(context: Context, reference: string | undefined): Promise<void> {
  const { output, clock } = context;
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  const { signal } = context;
  const [{ apiKeys }, { members }] = await Promise.all([
    client.account(accountId, "ListApiKeys", { environmentId }, { signal }),
    client.account(accountId, "ListMembers", {}, { signal }),
  ]);
  // A key outlives the membership of its creator.
  const makerOf = (userId: UserId) => members.find((one) => one.userId === userId)?.email ?? `${userId} (no member any more)`;
  const when = (seconds: number | undefined) => (seconds === undefined ? undefined : showWhen(seconds * 1_000, clock.nowMs()));
  output.result({ apiKeys }, () =>
    output.table(
      [
        { title: "ID", show: ({ keyId }) => keyId },
        { title: "ROLE", show: ({ roleId }) => roleText(roleId) },
        { title: "CREATED", show: ({ createdAt }) => when(createdAt) },
        { title: "BY", show: ({ createdBy }) => makerOf(createdBy) },
        { title: "LAST USED", show: ({ lastUsedAt }) => when(lastUsedAt) },
        { title: "RATE", show: ({ ratePerSecond }) => (ratePerSecond === undefined ? undefined : `${ratePerSecond}/s`) },
        { title: "EXPIRES", show: ({ expiresAt }) => when(expiresAt) },
        { title: "DESCRIPTION", cutTo: 12, show: ({ description }) => description },
      ],
      apiKeys.filter(({ state }) => state === "ACTIVE"),
      "There is no key. Create one: perdure keys create",
    ),
  );
}

async function revoke(context: Context, keyOrId: string, reference: string | undefined): Promise<void> {
  // A whole key is accepted in place of its id.
  const keyId = parseApiKeyId(keyOrId.split(".")[0] ?? "");
  if (keyId === undefined)
    context.fail(USAGE, `'${keyOrId.slice(0, 8)}…' is not the id of a key`, "List them: perdure keys list");
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  if (!context.yes && context.prompts.isInteractive) {
    const agreed = await context.prompts.confirm(`Revoke ${keyId}? Its users lose access.`, "Revoke it with --yes");
    if (!agreed) context.fail(FAILED, "Nothing was done");
  }
  await client.account(accountId, "DeleteApiKey", { environmentId, keyId }, { signal: context.signal });
  context.output.result({ keyId, state: "DELETED" }, () =>
    context.output.print(`Revoked ${keyId}; gateways refuse it within 30 s.`),
  );
}

function roleText(role: string): string {
  return Object.entries(ROLES).find(([, id]) => id === role)?.[0] ?? role;
}
