/** Chooses the environment of the cloud for a command, and waits until it is ready. */
import type { AccountId, EnvironmentId } from "@perdure/cloud";
import { parseAccountId, parseEnvironmentId } from "@perdure/cloud";
import type { AccountOperations, CloudClient, ResponseOf } from "@perdure/cloud-client";
import type { Context } from "../context.js";
import { FAILED, USAGE } from "../errors.js";
import { ACTIVE_POLL_MS, ACTIVE_WAIT_MS_MAX } from "../limits.js";
import type { ProgressIndicator } from "../output/index.js";
import { pause } from "../pause.js";
import { type Account, chooseAccount } from "./accounts.js";

export type EnvironmentSummary = ResponseOf<AccountOperations["ListEnvironments"]>["environments"][number];
export type EnvironmentDescription = ResponseOf<AccountOperations["DescribeEnvironment"]>;

/** An environment as the Cloud API addresses it. */
export interface CloudEnvironmentRef {
  readonly accountId: AccountId;
  readonly environmentId: EnvironmentId;
}

export const ENVIRONMENT_ARGUMENT = "[ACCOUNT/]ENV by id or name; by default the environment in use";

/**
 * `reference`: `[ACCOUNT/]ENV`, each by id or name; the name of a profile is accepted as well. Without one it is the environment in use.
 * Ends the command when that environment is not in the cloud.
 */
export async function chooseEnvironment(context: Context, client: CloudClient, reference?: string): Promise<CloudEnvironmentRef> {
  if (reference === undefined) return environmentInUse(context);
  const slash = reference.indexOf("/");
  const idOrName = reference.slice(slash + 1);
  const account = await chooseAccount(context, client, slash < 0 ? context.requestedAccount : reference.slice(0, slash));
  const environments = await listEnvironments(context, client, account);
  const match = environmentNamed(context, environments, idOrName);
  if (match !== undefined) return { accountId: account.accountId, environmentId: match.environmentId };
  const profile = slash < 0 ? profileTarget(context, idOrName) : undefined;
  if (profile !== undefined) return profile;
  const names = environments.map(({ name }) => name).join(", ");
  return context.fail(
    FAILED,
    `The account '${account.name}' has no environment '${idOrName}'`,
    `It has ${names === "" ? "none" : names}. Create it: perdure env create ${idOrName}`,
  );
}

export async function listEnvironments(
  context: Context,
  client: CloudClient,
  account: Account,
): Promise<readonly EnvironmentSummary[]> {
  return (await client.account(account.accountId, "ListEnvironments", {}, { signal: context.signal })).environments;
}

/** Returns the environment with this id, else with this name; of several with the name the one that is not being deleted. */
function environmentNamed(
  context: Context,
  all: readonly EnvironmentSummary[],
  idOrName: string,
): EnvironmentSummary | undefined {
  const byId = all.find(({ environmentId }) => environmentId === idOrName);
  if (byId !== undefined) return byId;
  const byName = all.filter(({ name }) => name === idOrName);
  const alive = byName.filter(({ status }) => status !== "DELETING" && status !== "DELETED");
  const candidates = alive.length > 0 ? alive : byName;
  if (candidates.length <= 1) return candidates[0];
  return context.fail(
    USAGE,
    `Several environments are called '${idOrName}'`,
    `Give the id: ${candidates.map(({ environmentId }) => environmentId).join(", ")}`,
  );
}

function profileTarget(context: Context, name: string): CloudEnvironmentRef | undefined {
  const profile = context.official.profile(name);
  return profile === undefined ? undefined : targetOf(profile.accountId, profile.environmentId);
}

/** The environment of `--environment`, else of `--env`, else undefined: the whole account. */
export async function narrowedTo(
  context: Context,
  client: CloudClient,
  reference?: string,
): Promise<CloudEnvironmentRef | undefined> {
  if (reference !== undefined) return await chooseEnvironment(context, client, reference);
  return context.requestedEnvironment === undefined ? undefined : environmentInUse(context);
}

/** Ends the command when the environment in use is not in the cloud. */
function environmentInUse(context: Context): CloudEnvironmentRef {
  const { name, chosenBy, accountId, environmentId } = context.environment();
  const target = targetOf(accountId, environmentId);
  const advice = "Name one: --env NAME, or use it: perdure env use NAME. What there is: perdure env list";
  return (
    target ?? context.fail(FAILED, `The environment in use, '${name}' (${chosenBy}), is not an environment of the cloud`, advice)
  );
}

function targetOf(account: string | undefined, environment: string | undefined): CloudEnvironmentRef | undefined {
  const accountId = account === undefined ? undefined : parseAccountId(account);
  const environmentId = environment === undefined ? undefined : parseEnvironmentId(environment);
  return accountId === undefined || environmentId === undefined ? undefined : { accountId, environmentId };
}

/** Describes the environment, and stores that our tokens may be sent to its addresses. */
export async function describeEnvironment(
  context: Context,
  client: CloudClient,
  { accountId, environmentId }: CloudEnvironmentRef,
): Promise<EnvironmentDescription> {
  const facts = await client.account(accountId, "DescribeEnvironment", { environmentId }, { signal: context.signal });
  await context.session.bind([facts.adminBaseUrl, facts.ingressBaseUrl]);
  return facts;
}

const WAITS: Readonly<Record<string, string>> = {
  PENDING: "its runtime is being made",
  SUSPENDED: "it is suspended",
  DELETING: "it is being deleted",
};

/** Waits until it serves requests. Ends the command when creation failed or takes too long. */
export async function untilActive(
  context: Context,
  client: CloudClient,
  environment: CloudEnvironmentRef,
  progress: ProgressIndicator,
): Promise<EnvironmentDescription> {
  const deadlineMs = context.clock.monotonicMs() + ACTIVE_WAIT_MS_MAX;
  for (;;) {
    const facts = await describeEnvironment(context, client, environment);
    if (facts.status === "ACTIVE") return facts;
    if (facts.status === "FAILED") {
      const advice = `Try again: perdure env resume ${facts.name}`;
      context.fail(FAILED, `The environment could not be created: ${facts.failure ?? "no reason was given"}`, advice);
    }
    if (context.clock.monotonicMs() > deadlineMs) {
      context.fail(FAILED, `The environment is still ${facts.status}`, `Check again later: perdure env describe ${facts.name}`);
    }
    progress.step(`${facts.name}: ${WAITS[facts.status] ?? facts.status}`);
    await pause(context, ACTIVE_POLL_MS);
  }
}
