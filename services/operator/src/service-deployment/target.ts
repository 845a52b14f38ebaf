/** Resolves the register target of a service, which a spec names in one of four ways, or explains why it does not resolve. */
import type { Secret } from "@perdure/base";
import { type CloudEnvironment, objectNameOf, type ServiceDeployment } from "@perdure/custom-resources";
import type { KubernetesClient } from "@perdure/kubernetes";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import { apiKeyOf } from "../cloud-environment/credentials.js";
import type { OperatorAddresses, VersionLocation } from "./addresses.js";
import type { TunnelIdentity } from "./names.js";
import type { RegisterTarget } from "./version.js";

/** A management API. */
export interface AdminTarget {
  readonly url: string;
  readonly token: Secret | undefined;
}

export type RegistrationTarget =
  | { readonly kind: "known"; readonly admin: AdminTarget; readonly cloud: CloudEnvironment | undefined }
  /** `isGone`: the target is deleted, so nothing there needs a version any more. */
  | { readonly kind: "unknown"; readonly reason: string; readonly message: string; readonly isGone: boolean };

export interface TargetPorts {
  readonly client: KubernetesClient;
  readonly caches: Pick<Caches, "environments" | "cloudEnvironments">;
  readonly cell: Pick<Cell, "namespace">;
  readonly addresses: OperatorAddresses;
}

const REFERENCE = "InvalidReference";
const unknown = (reason: string, message: string, isGone: boolean): RegistrationTarget => ({
  kind: "unknown",
  reason,
  message,
  isGone,
});
const resolvedTarget = (url: string, token?: Secret, cloud?: CloudEnvironment): RegistrationTarget => ({
  kind: "known",
  admin: { url, token },
  cloud,
});

/** Rejects with the API server's error. */
export async function targetOf(register: RegisterTarget, ports: TargetPorts, signal: AbortSignal): Promise<RegistrationTarget> {
  const { caches, addresses } = ports;
  if (register.url !== undefined) return resolvedTarget(register.url.replace(/\/+$/, ""));
  if (register.service !== undefined) return resolvedTarget(addresses.adminOfService(register.service));
  if (register.environment !== undefined) {
    const environment = caches.environments.get(objectNameOf(register.environment));
    if (environment === undefined) return unknown(REFERENCE, `there is no environment ${register.environment} here`, true);
    return resolvedTarget(addresses.adminOfEnvironment(register.environment));
  }
  const name = register.cloudEnvironment ?? "";
  const cloud = caches.cloudEnvironments.get(name);
  if (cloud === undefined) return unknown(REFERENCE, `there is no CloudEnvironment '${name}'`, true);
  const key = await apiKeyOf(cloud, ports, signal);
  if (key.kind === "missing") return unknown(REFERENCE, `CloudEnvironment '${name}': ${key.message}`, false);
  return resolvedTarget(addresses.adminOfCloud(cloud), key.secret, cloud);
}

/** Identity of the pods' own tunnel; undefined without one, or before it is known. */
export function tunnelIdentityOf(
  { metadata, spec }: ServiceDeployment,
  cloud: CloudEnvironment | undefined,
): TunnelIdentity | undefined {
  if (spec.perdure.tunnelMode !== "in-process" || cloud === undefined) return undefined;
  const { environmentId, region, signingPublicKey } = cloud.spec;
  return { environmentId, region, signingPublicKey, namespace: metadata.namespace ?? "" };
}

/** The URL at which the runtime reaches a version. */
export function serviceUrl(
  { spec }: ServiceDeployment,
  place: VersionLocation,
  cloud: CloudEnvironment | undefined,
  addresses: OperatorAddresses,
): string {
  const { tunnelMode, servicePath } = spec.perdure;
  if (cloud === undefined) return `${addresses.endpoint(place)}${servicePath}`;
  const base = tunnelMode === "in-process" ? addresses.inProcess(cloud, place) : addresses.tunnelled(cloud, place);
  return `${base}${servicePath}`;
}
