/** `perdure env create`: creates an environment, waits until it answers and writes its profile. */
import { randomUUID } from "node:crypto";
import { CloudApiError, type CloudClient } from "@perdure/cloud-client";
import {
  type Account,
  type CloudEnvironmentRef,
  chooseAccount,
  describeEnvironment,
  type EnvironmentDescription,
  isForeignLogin,
  untilActive,
  writeProfile,
} from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { showDuration } from "../../output/index.js";

export interface EnvCreateFlags {
  readonly region: string;
  readonly description?: string;
  readonly wait: boolean;
  readonly configure: boolean;
  readonly use?: boolean;
}

export async function create(context: Context, name: string, flags: EnvCreateFlags): Promise<void> {
  const { output } = context;
  const client = context.session.client();
  const account = await chooseAccount(context, client);
  const made = await makeEnvironment(context, client, account, { name, ...flags });
  const facts = flags.wait ? await waitFor(context, client, made, name) : await describeEnvironment(context, client, made);
  const profile = flags.configure ? await configureNew(context, facts, flags.use === true) : undefined;
  output.result({ ...facts, profile }, () => {
    output.facts([
      ["Environment", `${facts.name} (${facts.environmentId}), ${facts.status}`],
      ["Ingress", facts.ingressBaseUrl],
      ["Management API", facts.adminBaseUrl],
      ["Signing key", facts.signingPublicKey],
      ["Profile", profile],
    ]);
    if (profile !== undefined && flags.use !== true) output.note(`Use it: perdure env use ${profile}`);
  });
}

/** Repeats the request once when there is no answer: the same request creates only one environment. */
export async function makeEnvironment(
  context: Context,
  client: CloudClient,
  { accountId }: Account,
  { name, region, description }: { readonly name: string; readonly region: string; readonly description?: string },
): Promise<CloudEnvironmentRef> {
  const body = { name, region, idempotencyKey: randomUUID(), ...(description === undefined ? {} : { description }) };
  const request = () => client.account(accountId, "CreateEnvironment", body, { signal: context.signal });
  try {
    return { accountId, environmentId: (await request()).environmentId };
  } catch (cause) {
    if (!(cause instanceof CloudApiError) || cause.status !== 0) throw cause;
    return { accountId, environmentId: (await request()).environmentId };
  }
}

export async function waitFor(
  context: Context,
  client: CloudClient,
  environment: CloudEnvironmentRef,
  name: string,
): Promise<EnvironmentDescription> {
  const startedMs = context.clock.monotonicMs();
  return await context.output.during(
    `${name}: waiting for its runtime`,
    (progress) => untilActive(context, client, environment, progress),
    () => `${name} is ready after ${showDuration(context.clock.monotonicMs() - startedMs)}`,
  );
}

/** Writes a profile under the environment's name, if that is possible; otherwise warns with the reason. Resolves with the name. */
export async function configureNew(
  context: Context,
  facts: EnvironmentDescription,
  isUsed: boolean,
): Promise<string | undefined> {
  const existing = context.official.profile(facts.name);
  const isNameOccupied = existing !== undefined && existing.environmentId !== facts.environmentId;
  if (isNameOccupied || isForeignLogin(context)) {
    const reason = isNameOccupied
      ? `the profile '${facts.name}' is another environment`
      : "another provider's login is in the way";
    context.output.warn(`It has no profile yet: ${reason}. Give it one: perdure env configure ${facts.name} --name NAME`);
    return undefined;
  }
  await writeProfile(context, facts, { name: facts.name, apiKey: undefined, isUsed });
  return facts.name;
}
