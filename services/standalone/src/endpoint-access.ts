/** Transports to endpoints. Each thread has its own. */
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { createHttpTransport, type HttpTransportDeps } from "@perdure/http-client";
import { createLambdaTransport } from "@perdure/lambda";
import { egressGuardOf, type ProcessPorts, type TunnelSetup } from "@perdure/process-kit";
import { createTunnelTransport } from "@perdure/tunnel";
import type { StandaloneSettings } from "./config.js";
import type { EndpointAccess } from "./parts.js";

export async function openEndpoints(
  settings: StandaloneSettings,
  tunnels: TunnelSetup | undefined,
  { lifecycle, clock, random, logger }: ProcessPorts,
): Promise<EndpointAccess> {
  const guard = egressGuardOf(settings.egress, logger);
  const plain = createHttpTransport({ clock, random, guard });
  const http = await lifecycle.start("endpoint transport", () => openTransport(tunnels, plain, { clock, random }));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId, rolesOnly: guard !== undefined };
  const lambda = await lifecycle.start("Lambda transport", () => createLambdaTransport(lambdaOptions));
  return { guard, plain, transports: { http, lambda } };
}

/** Reaches endpoints behind tunnels too, when there are some: the proxy belongs to the operator, so the guard does not check it. */
function openTransport(tunnels: TunnelSetup | undefined, plain: EndpointTransport, deps: HttpTransportDeps): EndpointTransport {
  if (tunnels === undefined) return plain;
  const { access, ca } = tunnels;
  const toProxy = createHttpTransport(deps, ca === undefined ? {} : { trustedCertificates: ca });
  return createTunnelTransport({ plain, toProxy }, access);
}
