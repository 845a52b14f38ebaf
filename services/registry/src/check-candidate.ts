/** Determines which invocations concern new code: those of the code that it would replace, and those that could be moved to it by hand. */
import type { DeploymentRecord, RegisterOutcome } from "@perdure/metadata";
import type { Invocation, InvocationFacts, Pinned } from "@perdure/state-machine";
import type { Candidate } from "./check.js";
import type { ServiceDefaults } from "./defaults.js";
import type { RegistryState } from "./state.js";
import { deploymentView } from "./views.js";

/**
 * The effect of a registration: invocations of its services count, and those on the code that it replaces, also of services that it no
 * longer has.
 */
export function candidateOf(state: RegistryState, { kind, deployment }: RegisterOutcome, defaults: ServiceDefaults): Candidate {
  const replaced = kind === "created" ? undefined : deployment.id;
  const services = new Set(deployment.services.map(({ definition }) => definition.name));
  const rankOf = ({ target: { service } }: InvocationFacts, { deploymentId }: Pinned): number | undefined => {
    if (deploymentId === replaced) return 0;
    if (!services.has(service)) return undefined;
    return deploymentId === state.latest.get(service)?.deployment.id ? 1 : 2;
  };
  return { record: deployment, view: deploymentView(deployment, defaults), rankOf, isMeant: () => true };
}

/** Selects invocations that can be resumed on the deployment; one that runs cannot be (service-protocol.md §7.3). */
export function resumableOn(deployment: DeploymentRecord, defaults: ServiceDefaults): Candidate {
  const services = new Set(deployment.services.map(({ definition }) => definition.name));
  const rankOf = ({ target: { service } }: InvocationFacts, { deploymentId }: Pinned): number | undefined => {
    if (!services.has(service)) return undefined;
    return deploymentId === deployment.id ? 1 : 0;
  };
  const isMeant = (status: Invocation["status"]): boolean => status === "suspended" || status === "paused";
  return { record: deployment, view: deploymentView(deployment, defaults), rankOf, isMeant };
}
