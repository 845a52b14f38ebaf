/** Local copies of the cluster that the operator decides on: its own kinds, and every object that it created, found by label. */
import {
  type CloudEnvironment,
  ENVIRONMENT_LABEL,
  type EnvironmentResource,
  type ServiceDeployment,
} from "@perdure/custom-resources";
import {
  type KubeObject,
  type MetadataOnly,
  type ObjectCache,
  Reflector,
  type ReflectorPorts,
  type Resource,
  resources,
} from "@perdure/kubernetes";
import { MANAGED_SELECTOR } from "./desired/labels.js";
import type { OperatorMetrics } from "./metrics.js";

export interface CachesOptions {
  /** The operator's own: Secrets that environments refer to, and notes. */
  readonly namespace: string;
  readonly resyncMs?: number;
  readonly idleMs?: number;
}

/** Kinds whose whole objects are needed, not just the fact of a change. */
const WHOLE = [
  resources.namespaces,
  resources.statefulSets,
  resources.deployments,
  resources.replicaSets,
  resources.volumeClaims,
  resources.resourceQuotas,
] as const;
const METADATA = [
  resources.services,
  resources.configMaps,
  resources.serviceAccounts,
  resources.networkPolicies,
  resources.disruptionBudgets,
  resources.autoscalers,
  resources.limitRanges,
] as const;

export class Caches {
  readonly environments: Reflector<EnvironmentResource>;
  readonly serviceDeployments: Reflector<ServiceDeployment>;
  readonly cloudEnvironments: Reflector<CloudEnvironment>;
  readonly namespaces: Reflector<KubeObject>;
  readonly statefulSets: Reflector<KubeObject>;
  readonly deployments: Reflector<KubeObject>;
  readonly replicaSets: Reflector<KubeObject>;
  readonly volumeClaims: Reflector<KubeObject>;
  /** Secrets of the operator's namespace; only the fact of a change is used. */
  readonly secrets: ObjectCache;
  /** ConfigMaps of the operator's namespace: notes of deleted environments. */
  readonly ownConfigMaps: ObjectCache;
  readonly #children = new Map<Resource, ObjectCache>();

  constructor(options: CachesOptions, ports: ReflectorPorts, metrics: Pick<OperatorMetrics, "watchRestarts" | "observed">) {
    const { namespace, ...common } = options;
    const labels = MANAGED_SELECTOR;
    const open = <T extends MetadataOnly>(more: ConstructorParameters<typeof Reflector>[0]): Reflector<T> => {
      const reflector = new Reflector<T>({ ...common, ...more }, ports);
      reflector.onWatchEnd((end) => metrics.watchRestarts.inc(reflector.resource.kind, end));
      return reflector;
    };
    this.environments = open<EnvironmentResource>({ resource: resources.environments });
    this.serviceDeployments = open<ServiceDeployment>({ resource: resources.serviceDeployments });
    this.cloudEnvironments = open<CloudEnvironment>({ resource: resources.cloudEnvironments });
    this.secrets = open<MetadataOnly>({ resource: resources.secrets, namespace, metadataOnly: true });
    this.ownConfigMaps = open<MetadataOnly>({ resource: resources.configMaps, namespace, metadataOnly: true });
    const whole = WHOLE.map((resource) => open<KubeObject>({ resource, labels }));
    const [namespaces, statefulSets, deployments, replicaSets, volumeClaims] = whole;
    this.namespaces = namespaces as Reflector<KubeObject>;
    this.statefulSets = statefulSets as Reflector<KubeObject>;
    this.deployments = deployments as Reflector<KubeObject>;
    this.replicaSets = replicaSets as Reflector<KubeObject>;
    this.volumeClaims = volumeClaims as Reflector<KubeObject>;
    for (const reflector of whole) this.#children.set(reflector.resource, reflector);
    for (const resource of METADATA) this.#children.set(resource, open<MetadataOnly>({ resource, labels, metadataOnly: true }));
    // Metrics have one series for each kind: the ConfigMaps of environments.
    metrics.observed.caches.push(...this.all().filter((cache) => cache !== this.ownConfigMaps));
    metrics.observed.environments = this.environments;
  }

  /** Copy of a kind that environments consist of; undefined for uncached kinds. */
  of(resource: Resource): ObjectCache | undefined {
    return this.#children.get(resource);
  }

  all(): readonly ObjectCache[] {
    const ofOwnNamespace = [this.secrets, this.ownConfigMaps];
    return [this.environments, this.serviceDeployments, this.cloudEnvironments, ...ofOwnNamespace, ...this.#children.values()];
  }

  /**
   * Calls `onChanged` with the name of each environment one of whose parts has changed. `referring`: environments that refer to a Secret of
   * this name.
   */
  onPartChange(onChanged: (environment: string, isGone: boolean) => void, referring: (secret: string) => Iterable<string>): void {
    for (const reflector of this.#children.values()) {
      reflector.onChange(({ metadata }, change) => {
        const bare = metadata.labels?.[ENVIRONMENT_LABEL];
        if (bare !== undefined && change !== "resync") onChanged(`env-${bare}`, change === "deleted"); // Environments come by themselves.
      });
    }
    this.secrets.onChange(({ metadata }, change) => {
      if (change === "resync") return;
      for (const name of referring(metadata.name)) onChanged(name, false);
    });
  }
}
