/** Facts about the environment of a tunnel: from the Cloud API with a login, from variables on a machine that has only a key. */
import { type EnvironmentId, parseEnvironmentId } from "@perdure/cloud";
import { chooseEnvironment, describeEnvironment } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";

export interface TunnelTarget {
  readonly environmentId: EnvironmentId;
  /** Name of the environment for messages. */
  readonly name: string;
  readonly signingPublicKeys: readonly string[];
  /** SRV name of the relays; undefined when servers are given. */
  readonly srv: string | undefined;
  /** Relays that the Cloud API returned, where there are no SRV records. */
  readonly servers: readonly string[] | undefined;
  readonly adminUrl: string;
  readonly ingressUrl: string;
  /** Called for each connection and request. */
  readonly credential: () => Promise<string>;
}

/** Target for the environment in use, or for the named one. Ends the command when a tunnel cannot be opened to it. */
export async function tunnelTarget(context: Context, reference: string | undefined): Promise<TunnelTarget> {
  const key = context.variables.ofShell("PERDURE_API_KEY", "PERDURE_AUTH_TOKEN");
  if (context.session.login === undefined) return await targetOfVariables(context);
  const client = context.session.client();
  const target = await chooseEnvironment(context, client, reference);
  const facts = await describeEnvironment(context, client, target);
  if (facts.status !== "ACTIVE") {
    context.fail(FAILED, `'${facts.name}' is ${facts.status}`, `Resume it: perdure env resume ${facts.name}`);
  }
  return {
    environmentId: facts.environmentId,
    name: facts.name,
    signingPublicKeys: facts.signingPublicKeys,
    srv: facts.tunnelSrv,
    servers: facts.tunnelServers,
    adminUrl: facts.adminBaseUrl,
    ingressUrl: facts.ingressBaseUrl,
    credential: async () => key?.value ?? (await context.session.accessToken()).reveal(),
  };
}

async function targetOfVariables(context: Context): Promise<TunnelTarget> {
  const { variables } = context;
  const environment = context.environment();
  const token = await environment.credential(environment.adminUrl);
  if (token === undefined) {
    context.fail(
      FAILED,
      `There is no login and no key for '${environment.name}'`,
      "Log in: perdure login, or set PERDURE_API_KEY.",
    );
  }
  const id = variables.ofShell("PERDURE_ENVIRONMENT_ID")?.value ?? environment.environmentId;
  const environmentId = id === undefined ? undefined : parseEnvironmentId(id);
  const keys =
    variables
      .ofShell("PERDURE_SIGNING_PUBLIC_KEY")
      ?.value.split(/[\s,]+/)
      .filter((key) => key !== "") ?? [];
  if (environmentId === undefined || keys.length === 0) {
    const advice =
      "Set PERDURE_ENVIRONMENT_ID and PERDURE_SIGNING_PUBLIC_KEY (perdure env describe shows both), or log in: perdure login";
    context.fail(USAGE, "A key alone is not enough: the tunnel needs the environment and its signing keys", advice);
  }
  return {
    environmentId,
    name: environment.name,
    signingPublicKeys: keys,
    srv: undefined,
    servers: undefined,
    adminUrl: environment.adminUrl,
    ingressUrl: environment.ingressUrl,
    credential: async () => token.reveal(),
  };
}

/** Relays from `--server` or a variable of the shell; undefined: use SRV records. */
export function serversOf(context: Context, flags: readonly string[] | undefined): readonly string[] | undefined {
  if (flags !== undefined && flags.length > 0) return flags;
  return context.variables
    .ofShell("PERDURE_TUNNEL_SERVERS")
    ?.value.split(/[\s,]+/)
    .filter((server) => server !== "");
}
