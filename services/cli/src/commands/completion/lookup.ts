/** Candidates from the environment. The user waits for them after Tab, so each is one small request. */
import type { AdminClient } from "@perdure/admin-client";
import { catalogue } from "@perdure/base/errors";
import { listEnvironments } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { COMPLETION_VALUES_MAX } from "../../limits.js";
import { adminOf } from "../manage/connect.js";
import { textOf } from "../manage/texts.js";
import type { CompletionLookup } from "./candidates.js";
import type { CompletionSlot } from "./slots.js";

type CompletionOptions = Readonly<{ signal: AbortSignal }>;

export function lookupIn(context: Context, signal: AbortSignal): CompletionLookup {
  return async (slot, parents, last) => (await valuesOf(context, { signal }, slot, parents, last)).filter(isPlain);
}

/** A shell would interpret other characters, and names from other users end on the user's command line. */
function isPlain(value: string): boolean {
  return /^[\w@%+,./][\w@%+,./:=~-]*$/.test(value);
}

async function valuesOf(
  context: Context,
  caller: CompletionOptions,
  slot: CompletionSlot,
  parents: readonly string[],
  last: string,
): Promise<readonly string[]> {
  switch (slot) {
    case "code":
      return Object.keys(catalogue);
    case "profile":
      return profileNames(context);
    case "account":
      return (await accountsOf(context, caller)).map(({ name }) => name);
    case "environment":
      return [...new Set([...profileNames(context, true), ...(await environmentNames(context, caller))])];
    default:
      return await ofRuntime(adminOf(context), caller, slot, parents, last);
  }
}

function profileNames(context: Context, isOfCloud = false): readonly string[] {
  const profiles = context.official.profiles();
  if (isOfCloud) return profiles.filter(({ isCloud }) => isCloud).map(({ name }) => name);
  return [...new Set([LOCAL, ...profiles.map(({ name }) => name)])];
}

async function accountsOf({ session }: Context, caller: CompletionOptions) {
  if (session.login === undefined) return [];
  return (await session.client().user("ListAccounts", {}, caller)).accounts;
}

async function environmentNames(context: Context, caller: CompletionOptions): Promise<readonly string[]> {
  const { session, requestedAccount } = context;
  const accounts = await accountsOf(context, caller);
  const selected = accounts.filter(
    ({ name, accountId }) => requestedAccount === undefined || [name, accountId].includes(requestedAccount),
  );
  const lists = await Promise.all(selected.map((account) => listEnvironments(context, session.client(), account)));
  return lists.flat().map(({ name }) => name);
}

async function ofRuntime(
  admin: AdminClient,
  caller: CompletionOptions,
  slot: Exclude<CompletionSlot, "code" | "profile" | "account" | "environment">,
  parents: readonly string[],
  last: string,
): Promise<readonly string[]> {
  switch (slot) {
    case "service":
      return (await admin.services.list(caller)).map(({ name }) => name);
    case "workflow":
      return (await admin.services.list(caller)).filter(({ ty }) => ty === "Workflow").map(({ name }) => name);
    case "handler":
      return (await admin.services.list(caller)).flatMap(({ name, handlers }) => handlers.map((one) => `${name}/${one.name}`));
    case "target":
      return await targets(admin, caller, last);
    case "key":
      return await keysOf(admin, caller, parents[0] ?? "");
    case "deployment":
      return (await admin.deployments.list(caller)).map(({ id }) => id);
    case "deploymentChoice":
      return ["keep", "latest", ...(await admin.deployments.list(caller)).map(({ id }) => id)];
    case "kafkaCluster":
      return (await admin.kafkaClusters.list(caller)).map(({ name }) => name);
    case "subscription":
      return (await admin.subscriptions.list(caller)).map(({ id }) => id);
    case "rule":
      return await column(admin, caller, "SELECT pattern AS value FROM sys_rules");
    case "schedule":
      return await column(admin, caller, "SELECT name AS value FROM sys_schedule ORDER BY name");
    case "queue":
      return await column(admin, caller, "SELECT id AS value FROM sys_vqueues");
    case "batch":
      return (await admin.batches.list(caller)).map(({ id }) => id);
    case "operation":
      return (await admin.operations.list(caller)).map(({ id }) => id);
    case "invocation":
      return await invocations(admin, caller, last, undefined);
    case "invocationUnfinished":
      return await invocations(admin, caller, last, "status != 'completed'");
    case "invocationPaused":
      return await invocations(admin, caller, last, "status = 'paused'");
    case "invocationCompleted":
      return await invocations(admin, caller, last, "status = 'completed'");
  }
}

/** `Service/handler`; for objects and workflows first `Object/`, then the keys that have state, then the handlers. */
async function targets(admin: AdminClient, caller: CompletionOptions, last: string): Promise<readonly string[]> {
  const services = await admin.services.list(caller);
  const [name = "", key, handler] = last.split("/");
  const keyed = services.find((service) => service.name === name && service.ty !== "Service");
  if (keyed !== undefined && handler !== undefined) return keyed.handlers.map((one) => `${name}/${key}/${one.name}`);
  if (keyed !== undefined && key !== undefined) return (await keysOf(admin, caller, name)).map((one) => `${name}/${one}/`);
  return services.flatMap((service) =>
    service.ty === "Service" ? service.handlers.map((one) => `${service.name}/${one.name}`) : [`${service.name}/`],
  );
}

async function keysOf(admin: AdminClient, caller: CompletionOptions, service: string): Promise<readonly string[]> {
  if (!isName(service)) return [];
  return await column(admin, caller, `SELECT DISTINCT service_key AS value FROM state WHERE service_name = '${service}'`);
}

/** The newest invocations. */
async function invocations(
  admin: AdminClient,
  caller: CompletionOptions,
  last: string,
  condition: string | undefined,
): Promise<readonly string[]> {
  if (last !== "" && !isName(last)) return [];
  const conditions = [condition, last === "" ? undefined : `starts_with(id, '${last}')`].filter((one) => one !== undefined);
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return await column(admin, caller, `SELECT id AS value FROM sys_invocation${where} ORDER BY created_at DESC`);
}

/** Texts that need no escaping inside quotes in SQL. */
const isName = (text: string): boolean => /^[\w.-]+$/.test(text);

async function column(admin: AdminClient, caller: CompletionOptions, statement: string): Promise<readonly string[]> {
  const rows = await admin.sql.query(`${statement} LIMIT ${COMPLETION_VALUES_MAX}`, caller);
  return rows.flatMap((row) => textOf(row, "value") ?? []);
}
