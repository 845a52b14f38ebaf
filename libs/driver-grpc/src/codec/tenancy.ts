/** Why: facts of tenancy travel as JSON; the few secrets in them are put in and taken out here, at the two ends of mutual TLS. */
import { Secret } from "@perdure/base";
import type { EnvironmentFacts, Upstream } from "@perdure/cloud";

/** Methods of the Tenancy port that are one question and one answer. */
export const TENANCY_METHODS = [
  "environment",
  "environments",
  "authenticate",
  "report",
  "reportTunnels",
  "shareRates",
  "runtimeOf",
] as const;
export type TenancyMethod = (typeof TENANCY_METHODS)[number];

interface TravellingUpstream {
  readonly ingress: string;
  readonly admin: string;
  readonly secret: string | undefined;
}

export type TravellingFacts = Omit<EnvironmentFacts, "upstream"> & { readonly upstream: TravellingUpstream | undefined };

export function encodeFacts(facts: EnvironmentFacts): TravellingFacts {
  const { upstream } = facts;
  if (upstream === undefined) return { ...facts, upstream: undefined };
  return { ...facts, upstream: { ingress: upstream.ingress, admin: upstream.admin, secret: upstream.secret?.reveal() } };
}

/** JSON leaves out what is undefined; here it is there again. */
export function decodeFacts(facts: TravellingFacts): EnvironmentFacts {
  return { ...facts, upstream: facts.upstream === undefined ? undefined : decodeUpstream(facts.upstream) };
}

function decodeUpstream({ ingress, admin, secret }: TravellingUpstream): Upstream {
  return secret === undefined ? { ingress, admin } : { ingress, admin, secret: new Secret(secret) };
}
