/**
 * Writes the profile of a cloud environment for this command line and the official one: exactly the two tables of cloud.md §1.1, with a key
 * in them where a login cannot be used.
 */
import type { Secret } from "@perdure/base";
import type { Context } from "../context.js";
import { FAILED, USAGE } from "../errors.js";
import type { EnvironmentDescription } from "./environments.js";

/** Names that have another meaning in the file. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(["global", "local", "default"]);

interface ProfileOptions {
  readonly name: string;
  /** Stored in the profile as `bearer_token`: then no login is needed, and its tokens are not sent. */
  readonly apiKey: Secret | undefined;
  /** Whether this environment becomes the one in use. */
  readonly isUsed: boolean;
}

/** Returns the advice for a `[global.cloud]` that belongs to another provider (cloud.md §1.7). */
export function foreignAdvice(reference: string): string {
  return [
    "Its values would win over every profile, and its token would be sent to this cloud. Either",
    "    keep profiles of this cloud apart:  perdure login --restate-home",
    `    or give the profile a key:          perdure env configure ${reference} --with-key`,
  ].join("\n");
}

/** Whether the official command line would send the token of another provider. */
export function isForeignLogin(context: Context): boolean {
  return !context.session.isOfficialOurs(context.session.apiOrigin);
}

/**
 * Ends the command when another environment has this name and the user does not confirm to replace it, or when the login of another
 * provider is in `[global.cloud]`.
 */
export async function writeProfile(context: Context, facts: EnvironmentDescription, options: ProfileOptions): Promise<void> {
  const { name, apiKey, isUsed } = options;
  if (RESERVED_NAMES.has(name) || name.trim() !== name || name === "" || /[\p{Cc}/]/u.test(name)) {
    context.fail(USAGE, `A profile cannot be called '${name}'`, "Choose another name: --name NAME");
  }
  if (apiKey === undefined && isForeignLogin(context)) {
    const message = `${context.official.paths.config} holds the login of another provider ([global.cloud])`;
    context.fail(FAILED, message, foreignAdvice(facts.name));
  }
  const before = context.official.profile(name);
  if (before !== undefined && before.environmentId !== facts.environmentId && !context.yes) {
    const instead = `Choose another name with --name, or replace it with --yes.`;
    const agreed = await context.prompts.confirm(`The profile '${name}' is another environment. Replace it?`, instead);
    if (!agreed) context.fail(FAILED, "Nothing was done");
  }
  const cloud = [name, "cloud"];
  await context.official.edit(() => [
    { table: [name], key: "environment_type", value: "cloud" },
    { table: [name], key: "ingress_base_url", value: facts.ingressBaseUrl },
    { table: [name], key: "admin_base_url", value: facts.adminBaseUrl },
    { table: [name], key: "bearer_token", value: apiKey?.reveal() },
    { table: cloud, key: "account_id", value: facts.accountId },
    { table: cloud, key: "environment_id", value: facts.environmentId },
  ]);
  if (isUsed) await context.official.use(name);
}

/** Name of the environment's profile on this machine; undefined when it has none. */
export function profileOf(context: Context, environmentId: string): string | undefined {
  return context.official.profiles().find((profile) => profile.environmentId === environmentId)?.name;
}
