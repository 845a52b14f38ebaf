/**
 * Bounds of a plan on deployments, services and subscriptions of an environment (cloud.md §5.4). Checked where a change is decided, so
 * that two concurrent changes cannot both pass. What exceeds a bound already, after a change of plan, may stay but not grow.
 */
import { type DeploymentRecord, RegistryRefusal } from "@perdure/metadata";
import type { RegistryState } from "./state.js";

/** `undefined` = as many as the registry can hold. */
export interface PlanBounds {
  readonly deploymentsMax: number | undefined;
  readonly servicesMax: number | undefined;
  readonly subscriptionsMax: number | undefined;
}

export const NO_PLAN_BOUNDS: PlanBounds = { deploymentsMax: undefined, servicesMax: undefined, subscriptionsMax: undefined };

/** Checks a deployment as it would be stored, new or in place of the one with its id. Throws `RegistryRefusal` 403 TEN0002. */
export function checkDeployment(state: RegistryState, deployment: DeploymentRecord, bounds: PlanBounds): void {
  const { deploymentsMax, servicesMax } = bounds;
  if (!state.deployments.has(deployment.id)) refuseBeyond("deployments", state.deployments.size, 1, deploymentsMax);
  if (servicesMax === undefined) return;
  const names = new Set(deployment.services.map(({ definition }) => definition.name));
  for (const { record } of state.deployments.values()) {
    if (record.id !== deployment.id) for (const { definition } of record.services) names.add(definition.name);
  }
  refuseBeyond("services", state.latest.size, names.size - state.latest.size, servicesMax);
}

/** Throws `RegistryRefusal` 403 TEN0002 when the bound is reached. */
export function checkSubscription(state: RegistryState, { subscriptionsMax }: PlanBounds): void {
  refuseBeyond("subscriptions", state.subscriptions.size, 1, subscriptionsMax);
}

function refuseBeyond(what: string, present: number, added: number, max: number | undefined): void {
  if (max === undefined || added <= 0 || present + added <= max) return;
  throw new RegistryRefusal(403, "TEN0002", `the plan of this environment allows ${max} ${what}, and there are ${present}`);
}
