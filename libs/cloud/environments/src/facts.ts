/** Joins the facts about an environment that gateways and relays need from several tables. */
import { type EnvironmentFacts, type EnvironmentLimits, parseEnvironmentId, type Upstream } from "@perdure/cloud";
import type { EnvironmentRecord, SigningKeyRecord } from "@perdure/postgres";
import type { EnvironmentPorts } from "./ports.js";

/** Context under which upstream secrets are sealed. */
export const UPSTREAM_SECRET = "upstream secret";

type FactsPorts = Pick<EnvironmentPorts, "keys" | "addresses" | "hibernation">;

export function factsOf(
  ports: FactsPorts,
  environment: EnvironmentRecord,
  signingKeys: readonly SigningKeyRecord[],
  limits: EnvironmentLimits,
): EnvironmentFacts {
  const sleep = ports.hibernation?.sleepOf(environment.id);
  return {
    id: environment.id,
    accountId: environment.accountId,
    region: environment.region,
    status: environment.status,
    upstream: upstreamOf(ports, environment),
    ...(sleep === undefined ? {} : { sleep }),
    ingressUrl: ports.addresses.ingressUrl(environment),
    adminUrl: ports.addresses.adminUrl(environment),
    signingPublicKeys: signingKeys.map(({ publicKey }) => publicKey),
    limits,
    corsOrigins: environment.corsOrigins,
    isThrottled: environment.isThrottled,
    forwardsForeignAuthorization: environment.forwardsForeignAuthorization,
  };
}

export function upstreamOf({ keys }: Pick<FactsPorts, "keys">, environment: EnvironmentRecord): Upstream | undefined {
  const { upstreamIngress: ingress, upstreamAdmin: admin, upstreamSecret } = environment;
  if (ingress === undefined || admin === undefined) return undefined;
  if (upstreamSecret === undefined) return { ingress, admin };
  return { ingress, admin, secret: keys.openText(environment, upstreamSecret, UPSTREAM_SECRET) };
}

/** Gateways serve environments that exist: one that is being deleted answers like an unknown one (cloud.md §5.2). */
export function isServed({ id, status }: EnvironmentRecord): boolean {
  return status !== "DELETING" && status !== "DELETED" && parseEnvironmentId(id) !== undefined;
}
