/** Chooses the account of a command: the named one, else the one in use, else the only one. */
import type { CloudClient, ResponseOf, UserOperations } from "@perdure/cloud-client";
import type { Context } from "../context.js";
import { FAILED, USAGE } from "../errors.js";

export type Account = ResponseOf<UserOperations["ListAccounts"]>["accounts"][number];

/** `idOrName`: an id or a name; undefined when the command named none. Ends the command when the choice is ambiguous. */
export async function chooseAccount(
  context: Context,
  client: CloudClient,
  idOrName = context.requestedAccount,
): Promise<Account> {
  const { accounts } = await client.user("ListAccounts", {}, { signal: context.signal });
  if (idOrName !== undefined) return accountNamed(context, accounts, idOrName);
  const inUse = context.session.login?.accountId;
  const match = accounts.find((account) => account.accountId === inUse) ?? (accounts.length === 1 ? accounts[0] : undefined);
  if (match !== undefined) return match;
  if (accounts.length === 0) return context.fail(FAILED, "You are in no account", "Create one: perdure account create NAME");
  const choices = accounts.map(({ accountId, name, role }) => ({ value: accountId, label: name, hint: role }));
  const instead = `Name one of ${shown(accounts)} with --account, or choose a default: perdure account use NAME`;
  const chosen = await context.prompts.choose("Which account?", choices, instead);
  return accountNamed(context, accounts, chosen);
}

export function accountNamed(context: Context, accounts: readonly Account[], idOrName: string): Account {
  const byId = accounts.find((account) => account.accountId === idOrName);
  const byName = accounts.filter((account) => account.name === idOrName);
  if (byId !== undefined) return byId;
  if (byName.length > 1) context.fail(USAGE, `Several of your accounts are called '${idOrName}'`, `Give the id: ${ids(byName)}`);
  return byName[0] ?? context.fail(FAILED, `You are in no account '${idOrName}'`, `You are in ${shown(accounts)}`);
}

const ids = (accounts: readonly Account[]): string => accounts.map(({ accountId }) => accountId).join(", ");
const shown = (accounts: readonly Account[]): string => accounts.map(({ name }) => `'${name}'`).join(", ") || "none yet";
