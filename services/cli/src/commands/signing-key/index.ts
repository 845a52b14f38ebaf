/**
 * `perdure signing-key`: the key that signs requests to services, and its rotation (cloud.md §3.5): services must accept the next key
 * before it signs.
 */

import type { AccountOperations, ResponseOf } from "@perdure/cloud-client";
import type { Command } from "commander";
import { chooseEnvironment, describeEnvironment, ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";

type SigningKeySet = ResponseOf<AccountOperations["RotateSigningKey"]>;

export function register(program: Command, context: Context): void {
  const group = program
    .command("signing-key")
    .helpGroup("Cloud:")
    .description("the key that requests to your services are signed with");
  group
    .command("show")
    .description("public keys that your services should accept")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => show(context, environment));
  group
    .command("rotate")
    .description("create the next key; it does not sign yet")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => change(context, environment, "RotateSigningKey"));
  group
    .command("promote")
    .description("sign with the next key from now on; all services must accept it by now")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => change(context, environment, "PromoteSigningKey"));
  group
    .command("retire")
    .description("delete the previous key")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--force", "also when invocations may still be signed with it")
    .action((environment: string | undefined, { force }: { force?: boolean }) => retire(context, environment, force === true));
}

async function show(context: Context, reference: string | undefined): Promise<void> {
  const { output } = context;
  const client = context.session.client();
  const facts = await describeEnvironment(context, client, await chooseEnvironment(context, client, reference));
  const { environmentId, signingPublicKey, signingPublicKeys } = facts;
  output.result({ environmentId, signingPublicKey, signingPublicKeys }, () => {
    for (const key of signingPublicKeys) output.print(key);
    output.note(`${signingPublicKey.slice(0, 20)}… signs now. Give all of them to your services (identityKeys).`);
  });
}

async function change(
  context: Context,
  reference: string | undefined,
  operation: "RotateSigningKey" | "PromoteSigningKey",
): Promise<void> {
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  const keys = await client.account(accountId, operation, { environmentId }, { signal: context.signal });
  const next =
    operation === "RotateSigningKey"
      ? "Give the next key to all services, then: perdure signing-key promote"
      : "When nothing is signed with the previous key any more: perdure signing-key retire";
  showKeys(context, keys, next);
}

async function retire(context: Context, reference: string | undefined, force: boolean): Promise<void> {
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  const keys = await client.account(accountId, "RetireSigningKey", { environmentId, force }, { signal: context.signal });
  showKeys(context, keys, "Services may remove the retired key.");
}

function showKeys(context: Context, keys: SigningKeySet, next: string): void {
  const { output } = context;
  output.result(keys, () => {
    output.facts([
      ["Signs now", keys.signingPublicKey],
      ["Next", keys.nextSigningPublicKey],
      ["Previous", keys.previousSigningPublicKey],
    ]);
    output.note(next);
  });
}
