/** The registry's state as it travels: what the data path looks up and, for those who manage it, the records behind it. */
import type { RegistrySnapshot } from "@perdure/control";
import type {
  DeploymentRecord,
  EffectiveOptions,
  KafkaClusterRecord,
  LocatedRevision,
  Registry,
  RuleRecord,
  SubscriptionRecord,
} from "@perdure/metadata";
import { fromJson, toJson } from "./json.js";

export interface RegistryRecords {
  /** Oldest first. */
  readonly deployments: readonly DeploymentRecord[];
  /** Of every revision of every deployment, by `revisionKey`. */
  readonly effective: ReadonlyMap<string, EffectiveOptions>;
  /** Deployment and name of each latest revision, by name. */
  readonly latest: readonly { readonly deploymentId: string; readonly name: string }[];
  readonly kafkaClusters: readonly KafkaClusterRecord[];
  readonly subscriptions: readonly SubscriptionRecord[];
  readonly rules: readonly RuleRecord[];
}

export interface TravellingState {
  readonly snapshot: RegistrySnapshot;
  readonly records: RegistryRecords | undefined;
}

/** Changes by name; their arguments travel without the abort signal, which becomes the call's own. */
export const CHANGES = [
  "register",
  "checkRegistration",
  "checkDeployment",
  "update",
  "remove",
  "modifyService",
  "createKafkaCluster",
  "updateKafkaCluster",
  "removeKafkaCluster",
  "createSubscription",
  "removeSubscription",
  "pauseSubscription",
  "skipRecord",
  "putRules",
  "deleteRules",
] as const satisfies readonly (keyof Registry)[];
export type ChangeMethod = (typeof CHANGES)[number];

export function revisionKey({ deployment, revision }: LocatedRevision): string {
  return `${deployment.id}/${revision.definition.name}`;
}

export function recordsOf(registry: Registry): RegistryRecords {
  const deployments = registry.deployments();
  const effective = new Map<string, EffectiveOptions>();
  for (const deployment of deployments) {
    for (const revision of deployment.services) {
      const located = { deployment, revision };
      effective.set(revisionKey(located), registry.effective(located));
    }
  }
  const latest = registry
    .services()
    .map(({ deployment, revision }) => ({ deploymentId: deployment.id, name: revision.definition.name }));
  return {
    deployments,
    effective,
    latest,
    kafkaClusters: registry.kafkaClusters(),
    subscriptions: registry.subscriptions(),
    rules: registry.rules(),
  };
}

/** What a change resolved with, and what no state may show: the options of revisions that a dry run only looked at. */
export interface ChangeResult {
  readonly value: unknown;
  /** In the order of the services of the deployment that `value` is or holds; empty when it names none. */
  readonly effective: readonly EffectiveOptions[];
}

export function changeResultOf(registry: Registry, value: unknown): ChangeResult {
  const deployment = deploymentIn(value);
  const services = deployment?.services ?? [];
  return {
    value,
    effective: services.map((revision) => registry.effective({ deployment: deployment as DeploymentRecord, revision })),
  };
}

/** Changes resolve with a deployment, with something that has one, or with something else. */
export function deploymentIn(value: unknown): DeploymentRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const found = "deployment" in value ? value.deployment : value;
  const isDeployment = typeof found === "object" && found !== null && "services" in found && Array.isArray(found.services);
  return isDeployment ? (found as DeploymentRecord) : undefined;
}

export function encodeState(state: TravellingState): Uint8Array {
  return toJson(state);
}

/** Fields that were `undefined` are missing afterwards; nobody asks for the difference. */
export function decodeState(bytes: Uint8Array): TravellingState {
  const { snapshot, records } = fromJson(bytes) as TravellingState;
  return { snapshot, records };
}
