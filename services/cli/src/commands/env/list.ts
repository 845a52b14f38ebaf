/** Lists environments and describes one. */
import {
  chooseAccount,
  chooseEnvironment,
  describeEnvironment,
  type EnvironmentSummary,
  listEnvironments,
} from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { showTime } from "../../output/index.js";

interface EnvironmentLine {
  readonly profile: string | undefined;
  readonly name: string;
  readonly account: string | undefined;
  readonly region: string | undefined;
  readonly status: string | undefined;
  readonly environmentId: string | undefined;
  readonly adminUrl: string | undefined;
  readonly isUsed: boolean;
}

export async function list(context: Context): Promise<void> {
  const { official, output } = context;
  const used = usedName(context);
  const profiles = official.profiles();
  const local = profiles.find(({ name }) => name === LOCAL);
  const lines: EnvironmentLine[] = [];
  const shownProfiles = new Set<string>();
  for (const { account, environment } of await ofCloud(context)) {
    const mine = profiles.filter(({ environmentId }) => environmentId === environment.environmentId);
    for (const profile of mine.length > 0 ? mine : [undefined]) {
      if (profile !== undefined) shownProfiles.add(profile.name);
      lines.push({
        profile: profile?.name,
        name: environment.name,
        account,
        region: environment.region,
        status: environment.status,
        environmentId: environment.environmentId,
        adminUrl: profile?.adminUrl,
        isUsed: profile?.name === used,
      });
    }
  }
  for (const { name, adminUrl, environmentId } of [
    ...(local === undefined ? [{ name: LOCAL, adminUrl: undefined, environmentId: undefined }] : []),
    ...profiles,
  ]) {
    if (shownProfiles.has(name)) continue;
    const where = { account: undefined, region: undefined, status: undefined };
    lines.push({ profile: name, name, ...where, environmentId, adminUrl, isUsed: name === used });
  }
  output.result({ environments: lines, inUse: used }, () => {
    output.table(
      [
        { title: "", show: ({ isUsed }) => (isUsed ? output.paint("green", "*") : "") },
        { title: "PROFILE", show: ({ profile }) => profile },
        { title: "ENVIRONMENT", show: ({ name, account }) => (account === undefined ? undefined : `${account}/${name}`) },
        { title: "REGION", show: ({ region }) => region },
        { title: "STATUS", show: ({ status }) => status },
        { title: "ID", show: ({ environmentId }) => environmentId },
      ],
      lines,
      "There is none.",
    );
    if (context.session.login === undefined) output.note("Those of the cloud are listed after: perdure login");
  });
}

/** The name that commands would use, whether or not it has a profile. */
function usedName(context: Context): string {
  const variable = context.variables.find("PERDURE_ENVIRONMENT", "RESTATE_ENVIRONMENT");
  return context.requestedEnvironment ?? variable?.value ?? context.official.activeName() ?? LOCAL;
}

async function ofCloud(context: Context): Promise<readonly { account: string; environment: EnvironmentSummary }[]> {
  if (context.session.login === undefined) return [];
  const client = context.session.client();
  const accounts =
    context.requestedAccount === undefined
      ? (await client.user("ListAccounts", {}, { signal: context.signal })).accounts
      : [await chooseAccount(context, client)];
  const rows: { account: string; environment: EnvironmentSummary }[] = [];
  for (const account of accounts) {
    for (const environment of await listEnvironments(context, client, account)) {
      if (environment.status !== "DELETED") rows.push({ account: account.name, environment });
    }
  }
  return rows;
}

export async function current(context: Context): Promise<void> {
  const { name, kind, chosenBy, adminUrl, ingressUrl, accountId, environmentId } = context.environment();
  const { output } = context;
  output.result({ name, kind, chosenBy, adminUrl, ingressUrl, accountId, environmentId }, () =>
    output.facts([
      ["Environment", name],
      ["Chosen by", chosenBy],
      ["Management API", adminUrl],
      ["Ingress", ingressUrl],
      ["Id", environmentId],
      ["Account", accountId],
    ]),
  );
}

export async function describe(context: Context, reference: string | undefined): Promise<void> {
  const { output } = context;
  const client = context.session.client();
  const facts = await describeEnvironment(context, client, await chooseEnvironment(context, client, reference));
  output.result({ ...facts, adminUrl: facts.adminBaseUrl, ingressUrl: facts.ingressBaseUrl }, () =>
    output.facts([
      ["Name", facts.name],
      ["Id", facts.environmentId],
      ["Account", facts.accountId],
      ["Description", facts.description],
      ["Region", facts.region],
      ["Status", facts.suspendedFor === undefined ? facts.status : `${facts.status} (${facts.suspendedFor})`],
      ["Failure", facts.failure],
      ["Made", showTime(facts.createdAt)],
      ["Data erased", facts.erasedAt === undefined ? undefined : showTime(facts.erasedAt)],
      ["Plan", facts.planId],
      ["Ingress", facts.ingressBaseUrl],
      ["Management API", facts.adminBaseUrl],
      ["Tunnels", facts.tunnelSrv],
      ["Signing keys", facts.signingPublicKeys.join(", ")],
      ["Browsers from", facts.corsOrigins.length === 0 ? undefined : facts.corsOrigins.join(", ")],
      ["Authorization", facts.forwardsForeignAuthorization ? "of other systems is passed on to handlers" : undefined],
      ["AWS external id", facts.lambdaExternalId],
    ]),
  );
}
