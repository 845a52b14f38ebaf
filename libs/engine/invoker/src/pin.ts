/**
 * Determines which deployment and protocol version an attempt uses (service-protocol §12), and how the registry describes the handler
 * there.
 */
import type { DeploymentView, HandlerView, RegistryView } from "@perdure/control";
import { isSupportedVersion, type ProtocolVersion, selectVersion } from "@perdure/service-protocol";
import type { Pinned, Target } from "@perdure/state-machine";
import { type AttemptFailure, failure } from "./attempt-failure.js";

export interface AttemptRoute {
  readonly kind: "route";
  readonly deployment: DeploymentView;
  readonly version: ProtocolVersion;
  /** Undefined when the deployment, edited in place, no longer describes the handler; the endpoint then decides. */
  readonly handler: HandlerView | undefined;
}

export type Routing = AttemptRoute | { readonly kind: "failed"; readonly failure: AttemptFailure };

/** The pinned deployment, or the latest one of the service. Failures: RT0011, RT0013, RT0014. */
export function routeOf(
  target: Target,
  pinned: Pinned | undefined,
  registry: RegistryView,
  versionMax: ProtocolVersion,
): Routing {
  const { deployments, services } = registry.current();
  if (pinned !== undefined) {
    const deployment = deployments.get(pinned.deploymentId);
    if (deployment === undefined) return unroutable("RT0011", `deployment ${pinned.deploymentId} has been removed`);
    const { protocolVersion } = pinned;
    if (!isSupportedVersion(protocolVersion)) {
      return unroutable(
        "RT0014",
        `the invocation is pinned to service protocol ${protocolVersion}, which is no longer supported`,
      );
    }
    return { kind: "route", deployment, version: protocolVersion, handler: handlerOf(deployment, target) };
  }
  const service = services.get(target.service);
  const deployment = service === undefined ? undefined : deployments.get(service.deploymentId);
  if (deployment === undefined) return unroutable("RT0011", `no deployment serves ${target.service}`);
  const { minProtocolVersion: min, maxProtocolVersion: max } = deployment;
  const choice = selectVersion(min, max, versionMax);
  if (choice.kind === "unsupported") {
    return unroutable(
      "RT0013",
      `deployment ${deployment.id} speaks service protocols ${min} to ${max}, this server up to ${versionMax}`,
    );
  }
  return { kind: "route", deployment, version: choice.version, handler: handlerOf(deployment, target) };
}

/** Handler options for the retry when no deployment could be chosen. */
export function handlerFor(target: Target, pinned: Pinned | undefined, registry: RegistryView): HandlerView | undefined {
  const { deployments, services } = registry.current();
  const deployment = pinned === undefined ? undefined : deployments.get(pinned.deploymentId);
  return (deployment && handlerOf(deployment, target)) ?? services.get(target.service)?.handlers.get(target.handler);
}

function handlerOf(deployment: DeploymentView, target: Target): HandlerView | undefined {
  return deployment.services.get(target.service)?.handlers.get(target.handler);
}

function unroutable(code: "RT0011" | "RT0013" | "RT0014", message: string): Routing {
  return { kind: "failed", failure: failure(code, message, { countsForSdk: false }) };
}
