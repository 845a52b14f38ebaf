/** Deployments as JSON (admin-api.md §3.2). Clients distinguish the kinds by the fields that are present. */
import type { DeploymentDetailShape, DeploymentSummaryShape, RegistrationShape } from "@perdure/admin-contract";
import { formatTimestampNanos } from "@perdure/base";
import type { DeploymentRecord, Registry, Verification } from "@perdure/metadata";
import type { ViewOf } from "./response.js";
import { serviceView, unlessEmpty } from "./service-view.js";
import { verificationView } from "./verification-view.js";

/** Returns a deployment for lists: services by name and revision only. */
export function deploymentSummary(deployment: DeploymentRecord): ViewOf<typeof DeploymentSummaryShape> {
  return {
    ...deploymentFields(deployment),
    services: deployment.services.map(({ definition, revision }) => ({ name: definition.name, revision })),
  };
}

/** One deployment with all its services, in the revisions it was registered with. */
export function deploymentDetail(registry: Registry, deployment: DeploymentRecord): ViewOf<typeof DeploymentDetailShape> {
  return {
    ...deploymentFields(deployment),
    services: servicesOf(registry, deployment),
    verification: deployment.verification && verificationView(deployment.verification),
  };
}

/** The answer to a registration, with `verification` when it requested a check. */
export function registrationView(
  registry: Registry,
  deployment: DeploymentRecord,
  verification: Verification | undefined,
): ViewOf<typeof RegistrationShape> {
  return {
    id: deployment.id,
    services: servicesOf(registry, deployment),
    min_protocol_version: deployment.minProtocolVersion,
    max_protocol_version: deployment.maxProtocolVersion,
    sdk_version: deployment.sdkVersion,
    verification: verification && verificationView(verification),
  };
}

function servicesOf(registry: Registry, deployment: DeploymentRecord) {
  return deployment.services.map((revision) => serviceView(registry, { deployment, revision }));
}

function deploymentFields(deployment: DeploymentRecord) {
  return {
    id: deployment.id,
    ...addressFields(deployment),
    additional_headers: unlessEmpty(deployment.additionalHeaders),
    metadata: unlessEmpty(deployment.metadata),
    created_at: formatTimestampNanos(deployment.createdAtMs),
    min_protocol_version: deployment.minProtocolVersion,
    max_protocol_version: deployment.maxProtocolVersion,
    sdk_version: deployment.sdkVersion,
  };
}

function addressFields({ address, protocolType }: DeploymentRecord) {
  if (address.kind === "lambda") {
    const compression = address.compression === undefined ? undefined : ("Zstd" as const);
    return { arn: address.arn, assume_role_arn: address.assumeRoleArn, compression };
  }
  const type = protocolType === "bidiStream" ? ("BidiStream" as const) : ("RequestResponse" as const);
  return { uri: address.uri, protocol_type: type, http_version: address.httpVersion };
}
