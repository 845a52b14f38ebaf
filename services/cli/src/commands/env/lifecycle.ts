/** Changes of a cloud environment: suspend, resume, delete, restore, rename. */
import type { CloudClient } from "@perdure/cloud-client";
import {
  type CloudEnvironmentRef,
  chooseEnvironment,
  describeEnvironment,
  type EnvironmentDescription,
  profileOf,
} from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { FAILED, USAGE } from "../../errors.js";
import { showTime } from "../../output/index.js";
import { waitFor } from "./create.js";

interface ChosenEnvironment {
  readonly client: CloudClient;
  readonly target: CloudEnvironmentRef;
}

async function chosen(context: Context, reference: string | undefined): Promise<ChosenEnvironment> {
  const client = context.session.client();
  return { client, target: await chooseEnvironment(context, client, reference) };
}

function show(context: Context, facts: EnvironmentDescription, line: string): void {
  context.output.result(facts, () => context.output.print(line));
}

export async function suspend(context: Context, reference: string | undefined): Promise<void> {
  const { client, target } = await chosen(context, reference);
  const { environmentId } = target;
  const facts = await client.account(target.accountId, "SuspendEnvironment", { environmentId }, { signal: context.signal });
  show(context, facts, `'${facts.name}' is suspended. Resume it: perdure env resume ${facts.name}`);
}

export async function resume(context: Context, reference: string | undefined): Promise<void> {
  const { client, target } = await chosen(context, reference);
  const { environmentId } = target;
  const response = await client.account(target.accountId, "ResumeEnvironment", { environmentId }, { signal: context.signal });
  const facts = response.status === "ACTIVE" ? response : await waitFor(context, client, target, response.name);
  show(context, facts, `'${facts.name}' is resumed.`);
}

/** Treatments by the gateway of an `Authorization` header that is not one of the cloud. */
export const FORWARDING = ["forward", "remove"] as const;

export interface EnvUpdateFlags {
  readonly rename?: string;
  readonly description?: string;
  readonly corsOrigin?: readonly string[];
  readonly foreignAuthorization?: (typeof FORWARDING)[number];
}

export async function update(context: Context, reference: string | undefined, flags: EnvUpdateFlags): Promise<void> {
  const changes = {
    ...(flags.rename === undefined ? {} : { name: flags.rename }),
    ...(flags.description === undefined ? {} : { description: flags.description }),
    ...(flags.corsOrigin === undefined ? {} : { corsOrigins: flags.corsOrigin.filter((origin) => origin !== "none") }),
    ...(flags.foreignAuthorization === undefined
      ? {}
      : { forwardsForeignAuthorization: flags.foreignAuthorization === "forward" }),
  };
  if (Object.keys(changes).length === 0) {
    context.fail(USAGE, "Nothing is to be changed", "Give --rename, --description, --cors-origin or --foreign-authorization.");
  }
  const { client, target } = await chosen(context, reference);
  const body = { environmentId: target.environmentId, ...changes };
  const facts = await client.account(target.accountId, "UpdateEnvironment", body, { signal: context.signal });
  show(context, facts, `Changed '${facts.name}'.`);
}

/** Deletes an environment; the user types its name, or passes `--yes`. */
export async function destroy(context: Context, reference: string): Promise<void> {
  const { client, target } = await chosen(context, reference);
  const facts = await describeEnvironment(context, client, target);
  if (!context.yes) {
    const question = `This ends '${facts.name}' and everything that runs in it. Type its name to delete it`;
    const typed = await context.prompts.text(question, "Delete it without questions: --yes");
    if (typed !== facts.name) context.fail(FAILED, "Nothing was done: that is not its name");
  }
  const body = { environmentId: target.environmentId, confirmName: facts.name };
  await client.account(target.accountId, "DestroyEnvironment", body, { signal: context.signal });
  const profile = profileOf(context, facts.environmentId);
  const wasUsed = profile !== undefined && context.official.activeName() === profile;
  if (wasUsed) await context.official.use(LOCAL);
  const after = await describeEnvironment(context, client, target);
  show(
    context,
    after,
    `Deleted '${facts.name}'. Its data go ${after.erasedAt === undefined ? "in some days" : showTime(after.erasedAt)}.`,
  );
  context.output.note(`Until then an owner can take it back: perdure env undelete ${facts.environmentId}`);
  if (wasUsed) context.output.note("'local' is in use now.");
}

export async function undelete(context: Context, reference: string, rename: string | undefined): Promise<void> {
  const { client, target } = await chosen(context, reference);
  const body = { environmentId: target.environmentId, ...(rename === undefined ? {} : { name: rename }) };
  const facts = await client.account(target.accountId, "UndeleteEnvironment", body, { signal: context.signal });
  show(context, facts, `'${facts.name}' is back and ${facts.status}. Its keys are gone; make new ones: perdure keys create`);
}
