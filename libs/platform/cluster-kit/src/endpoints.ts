/** The connection to user endpoints, the same for all roles that call them (discovery, attempts, requests from the console). */
import { type Clock, Secret } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import { createRequestIdentity, type EndpointTransport, type RequestIdentity } from "@perdure/endpoint-transport";
import { createHttpTransport, type TransportConnectionCounts } from "@perdure/http-client";
import { createLambdaTransport } from "@perdure/lambda";
import {
  type EgressSettings,
  egressGuardOf,
  type ProcessPorts,
  readSettingFile,
  type TunnelSettings,
  tunnelsOf,
} from "@perdure/process-kit";
import { createTunnelTransport, TunnelRoutes } from "@perdure/tunnel";

/** The members that `endpointSettings` adds to settings. */
interface EndpointSettings {
  readonly requestIdentityPrivateKeyPemFile?: string | undefined;
  readonly awsAssumeRoleExternalId?: string | undefined;
  readonly egress: EgressSettings;
  readonly clusterName: string;
  /** Settings of roles that reach services behind tunnels; undefined for the other roles. */
  readonly tunnels?: TunnelSettings["tunnels"];
}

export interface Endpoints {
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
  /** Connections to endpoints over HTTP, without those to the proxy of tunnels. */
  readonly connections: () => TransportConnectionCounts;
  /** Undefined: requests are not signed. */
  readonly identity: RequestIdentity | undefined;
  /** Undefined: connections may go anywhere. */
  readonly guard: EgressGuard | undefined;
  /** The addresses that lead through tunnels. */
  readonly tunnels: TunnelRoutes;
}

/**
 * Parts of the lifecycle. Rejects with OPS0001 when the key cannot be read or is not one Ed25519 key, or when the settings of tunnels are
 * incomplete.
 */
export async function openEndpoints(settings: EndpointSettings, ports: ProcessPorts): Promise<Endpoints> {
  const { lifecycle, clock, random, logger } = ports;
  const guard = egressGuardOf(settings.egress, logger);
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId, rolesOnly: guard !== undefined };
  const tunnels = await lifecycle.prepare(() =>
    tunnelsOf({ clusterName: settings.clusterName, tunnels: settings.tunnels ?? {} }),
  );
  const plain = createHttpTransport({ clock, random, guard });
  const http: EndpointTransport = await lifecycle.start("endpoint transport", () => {
    if (tunnels === undefined) return plain;
    // The proxy belongs to the platform, so no guard checks it.
    const toProxy = createHttpTransport({ clock, random }, tunnels.ca === undefined ? {} : { trustedCertificates: tunnels.ca });
    return createTunnelTransport({ plain, toProxy }, tunnels.access);
  });
  const lambda: EndpointTransport = await lifecycle.start("Lambda transport", () => createLambdaTransport(lambdaOptions));
  const routes = new TunnelRoutes(tunnels?.access);
  return { transports: { http, lambda }, connections: () => plain.connections(), identity, guard, tunnels: routes };
}

function identityOf({ requestIdentityPrivateKeyPemFile: file }: EndpointSettings, clock: Clock) {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}
