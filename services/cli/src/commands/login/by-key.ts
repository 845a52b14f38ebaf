/** Login of machines, without a user to approve it: a profile with the key of one environment is the login. */
import { parseApiKey } from "@perdure/cloud";
import type { Context } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { FAILED, USAGE } from "../../errors.js";
import { REQUEST_MS_MAX } from "../../limits.js";
import type { EnvironmentVariable } from "../../variables.js";

/**
 * Checks the key with the environment from the shell (`PERDURE_ADMIN_URL`) or `--env`, and writes a profile with it. Ends the command when
 * the key is refused.
 */
export async function loginByKey(
  context: Context,
  variable: EnvironmentVariable,
  profileName: string | undefined,
): Promise<void> {
  if (parseApiKey(variable.value) === undefined) {
    context.fail(USAGE, `${variable.name} is not an API key`, "A key looks like key_….…; create one: perdure keys create");
  }
  const environment = context.environment();
  if (environment.kind === "local" && context.variables.find("PERDURE_ADMIN_URL", "RESTATE_ADMIN_URL") === undefined) {
    const advice = "Set the address of the environment: PERDURE_ADMIN_URL and PERDURE_INGRESS_URL, or --env NAME of a profile.";
    context.fail(USAGE, `${variable.name} is set, but no environment is named that it belongs to`, advice);
  }
  const credential = await environment.credential(environment.adminUrl);
  if (credential === undefined) {
    context.fail(
      FAILED,
      `The key may not be sent to ${environment.adminUrl}`,
      "Set PERDURE_ADMIN_URL in the shell, not in .env.",
    );
  }
  await check(context, environment.adminUrl, credential.reveal());
  const name = profileName ?? (environment.name === LOCAL ? "cloud" : environment.name);
  await context.official.edit(() => [
    { table: [name], key: "environment_type", value: environment.kind === "cloud" ? "cloud" : "default" },
    { table: [name], key: "ingress_base_url", value: environment.ingressUrl },
    { table: [name], key: "admin_base_url", value: environment.adminUrl },
    { table: [name], key: "bearer_token", value: credential.reveal() },
  ]);
  await context.official.use(name);
  const result = { event: "logged-in", profile: name, adminUrl: environment.adminUrl, ingressUrl: environment.ingressUrl };
  context.output.event(result, () => context.output.print(`The profile '${name}' holds the key and is in use.`));
}

async function check(context: Context, adminUrl: string, key: string): Promise<void> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
  let status: number;
  try {
    const headers = { authorization: `Bearer ${key}` };
    const response = await context.fetch(`${adminUrl}/health`, { headers, signal, redirect: "error" });
    await response.body?.cancel();
    status = response.status;
  } catch (cause) {
    context.signal.throwIfAborted();
    context.fail(FAILED, `${adminUrl} does not answer`, "Is the address right?", cause);
  }
  if (status === 401)
    context.fail(FAILED, "The key is not known there", "Was it revoked, or has it expired? perdure keys create");
  // A key for the ingress alone may not use the management API; it is valid nevertheless.
  if (status !== 403 && status >= 400) context.fail(FAILED, `${adminUrl} answered ${status}`, "Try again later.");
}
