/** The page of the Cloud API, from the shapes with which the server checks requests. */
import { accountPowers } from "@perdure/cloud-api";
import {
  type AccountOperations,
  accountOperations,
  exportAuditEventsRequest,
  type UserOperations,
  userOperations,
} from "@perdure/cloud-client";
import type { z } from "zod";
import { code, type Page, page, prose } from "./markdown.js";
import { fieldTable, schemaOf, typeName } from "./schema.js";

const OF_USER: Readonly<Record<keyof UserOperations, string>> = {
  GetUserIdentity: "Returns the user of the token.",
  ListAccounts: "Lists the accounts of which the user is a member.",
  CreateAccount: "Creates an account; the user becomes its owner.",
  UpdateAccount: "Changes name and description of an account.",
  AcceptInvitation: "Makes the user a member of the account that the invitation is for.",
};

const OF_ACCOUNT: Readonly<Record<keyof AccountOperations, string>> = {
  DescribeAccount: "Returns the account with its plan, the plans that members may choose, and the regions.",
  ChangePlan: "Changes the plan to one that members may choose; its limits apply at once.",
  ListEnvironments: "Lists the environments of the account.",
  DescribeEnvironment: "Returns an environment with its addresses, status and signing keys.",
  CreateEnvironment: "Requests an environment; its status says when it is ready.",
  UpdateEnvironment: "Changes name, description, CORS origins or the forwarding of the header authorization.",
  DestroyEnvironment: "Deletes an environment; `confirmName` must be its name. It can be restored for a while.",
  UndeleteEnvironment: "Restores a deleted environment, with another name when its name was taken meanwhile.",
  SuspendEnvironment: "Stops an environment: it accepts no work and runs nothing.",
  ResumeEnvironment: "Starts a suspended environment, and creates a failed one again.",
  CreateApiKey: "Creates an API key. Only this response has the key itself.",
  ListApiKeys: "Lists the API keys of an environment, without the keys themselves.",
  DescribeApiKey: "Returns an API key, without the key itself.",
  DeleteApiKey: "Deletes an API key; gateways refuse it from then on.",
  GetEnvironmentLogs: "Returns log lines of the runtime and of gateways for a period.",
  ListMembers: "Lists members and open invitations.",
  InviteMember: "Invites a user by mail address. Only this response has the token of the invitation.",
  WithdrawInvitation: "Withdraws an invitation.",
  UpdateMember: "Changes the role of a member. With `dryRun`, only lists the API keys that the change would delete.",
  RemoveMember: "Removes a member and, unless `keepApiKeys` is set, the API keys that the member made.",
  RotateSigningKey: "Creates the next key for signed requests; endpoints must learn its public part.",
  PromoteSigningKey: "Signs with the next key from now on.",
  RetireSigningKey: "Deletes the previous signing key.",
  ListTunnels: "Lists the tunnels that are connected for an environment.",
  GetUsage: "Returns usage by day and in total.",
  ListAuditEvents: "Lists events of the audit log, newest first.",
};

const INTRODUCTION = `The Cloud API serves accounts, members, environments, API keys, usage and the audit log of a [platform](../operating/cloud.md). Every operation is a \`POST\` with a JSON body and the header
\`authorization: Bearer <token>\`, where the token is that of a login (\`perdure login\`). Times are seconds since 1970 (UTC), days \`YYYY-MM-DD\`.

An error is \`{"error": {"code": "PERD0403", "message": "…"}}\` with the HTTP status that the last three digits of the code name, except PERD0201 (403).`;

export function cloudApiPage(): Page {
  const ofUser = Object.entries(userOperations).flatMap(([name, shapes]) =>
    blocks(`/cloud/${name}`, sentenceOf(OF_USER, name), undefined, shapes),
  );
  const ofAccount = Object.entries(accountOperations).flatMap(([name, shapes]) =>
    blocks(`/cloud/{accountId}/${name}`, sentenceOf(OF_ACCOUNT, name), accountPowers.get(name), shapes),
  );
  return page("cloud-api.md", "Cloud API", [
    INTRODUCTION,
    "## Operations of a user",
    ...ofUser,
    "## Operations of an account",
    "The user must be a member; *permission* is the one that the member's role must have.",
    ...ofAccount,
    ...blocks(
      "/cloud/{accountId}/ExportAuditEvents",
      "Returns events of the audit log as a file: JSON lines or CSV, newest first.",
      "members",
      { request: exportAuditEventsRequest },
    ),
  ]);
}

function sentenceOf(sentences: Readonly<Record<string, string>>, name: string): string {
  return sentences[name] ?? "";
}

function blocks(
  path: string,
  sentence: string,
  power: string | undefined,
  { request, response }: { readonly request: z.ZodType; readonly response?: z.ZodType },
): string[] {
  const input = schemaOf(request, "input");
  const output = response === undefined ? undefined : schemaOf(response, "output");
  const permission = power === undefined ? "" : ` Permission: ${code(power)}.`;
  const inputFields = fieldTable(input, "Required");
  return [
    `### ${code(`POST ${path}`)}`,
    `${prose(sentence)}${permission}`,
    ...(inputFields === "" ? ["Request: an empty object."] : ["Request:", inputFields]),
    ...(output === undefined ? [] : ["Response:", fieldTable(output, "Always there") || typeName(output)]),
  ];
}
