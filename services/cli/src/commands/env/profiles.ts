/** Profiles: names of environments on this machine, and which one is in use. */
import { text } from "node:stream/consumers";
import { Secret } from "@perdure/base";
import { parseApiKey } from "@perdure/cloud";
import type { CloudClient } from "@perdure/cloud-client";
import {
  type CloudEnvironmentRef,
  chooseAccount,
  chooseEnvironment,
  describeEnvironment,
  type EnvironmentDescription,
  listEnvironments,
  writeProfile,
} from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { FAILED, USAGE } from "../../errors.js";

export interface ConfigureFlags {
  readonly name?: string;
  readonly apiKey?: string;
  readonly withKey?: boolean;
  readonly use: boolean;
}

export async function configure(context: Context, reference: string | undefined, flags: ConfigureFlags): Promise<void> {
  const { output } = context;
  const client = context.session.client();
  const target =
    reference === undefined ? await chooseEnvironmentOf(context, client) : await chooseEnvironment(context, client, reference);
  const facts = await describeEnvironment(context, client, target);
  const name = flags.name ?? context.requestedEnvironment ?? facts.name;
  const apiKey = await keyFor(context, client, facts, name, flags);
  await writeProfile(context, facts, { name, apiKey, isUsed: flags.use });
  const result = {
    profile: name,
    accountId: facts.accountId,
    environmentId: facts.environmentId,
    adminUrl: facts.adminBaseUrl,
    ingressUrl: facts.ingressBaseUrl,
    config: context.official.paths.config,
    isUsed: flags.use,
  };
  output.result(result, () => {
    output.print(`Wrote the profile '${name}' to ${result.config}${flags.use ? "; it is in use" : ""}.`);
    if (facts.status !== "ACTIVE") output.note(`The environment is ${facts.status}.`);
  });
}

async function chooseEnvironmentOf(context: Context, client: CloudClient): Promise<CloudEnvironmentRef> {
  const account = await chooseAccount(context, client);
  const environments = (await listEnvironments(context, client, account)).filter(({ status }) => status !== "DELETED");
  if (environments.length === 0) {
    context.fail(FAILED, `The account '${account.name}' has no environment`, "Create one: perdure env create NAME");
  }
  const choices = environments.map(({ environmentId, name, region, status }) => ({
    value: environmentId,
    label: name,
    hint: `${region}, ${status}`,
  }));
  const environmentId = await context.prompts.choose("Which environment?", choices, "Name it: perdure env configure ENV");
  return { accountId: account.accountId, environmentId };
}

async function keyFor(
  context: Context,
  client: CloudClient,
  facts: EnvironmentDescription,
  profile: string,
  flags: ConfigureFlags,
): Promise<Secret | undefined> {
  if (flags.apiKey !== undefined && flags.withKey === true) {
    context.fail(USAGE, "--api-key and --with-key exclude each other", "Give one of them.");
  }
  if (flags.withKey === true) {
    const description = `profile '${profile}'`;
    const { accountId, environmentId } = facts;
    const body = { environmentId, roleId: "rst:role::FullAccess" as const, description };
    return new Secret((await client.account(accountId, "CreateApiKey", body, { signal: context.signal })).apiKey);
  }
  if (flags.apiKey === undefined) return undefined;
  const given = flags.apiKey === "-" ? (await text(process.stdin)).trim() : flags.apiKey;
  if (parseApiKey(given) === undefined)
    context.fail(USAGE, "This is not an API key", "A key looks like key_….…; create one: perdure keys create");
  return new Secret(given);
}

export async function use(context: Context, name: string): Promise<void> {
  const { official, output } = context;
  if (name !== LOCAL && official.profile(name) === undefined) {
    const names = [LOCAL, ...official.profiles().map((one) => one.name)];
    const advice = `There is ${[...new Set(names)].join(", ")}. One of the cloud gets a profile by: perdure env configure ${name}`;
    context.fail(FAILED, `There is no profile '${name}'`, advice);
  }
  await official.use(name);
  output.result({ environment: name }, () => output.print(`'${name}' is in use.`));
  const variable = context.variables.find("PERDURE_ENVIRONMENT", "RESTATE_ENVIRONMENT");
  if (variable !== undefined && variable.value !== name) {
    output.warn(`${variable.name} is set to '${variable.value}' and has precedence here.`);
  }
}
