/** Local copies of the cluster that the operator decides on: its own kinds, and every object that it created, found by label. */
import {
  type CloudEnvironment,
  ENVIRONMENT_LABEL,
  type EnvironmentResource,
  parseCloudEnvironment,
  parseEnvironment,
  parseServiceDeployment,
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
import {
  parseObject,
  parseQuota,
  parseVolumeClaim,
  parseWorkload,
  type Quota,
  type VolumeClaim,
  type Workload,
} from "./observed-objects.js";

export interface CachesOptions {
  /** The operator's own: Secrets that environments refer to, and notes. */
  readonly namespace: string;
  readonly resyncMs?: number;
  readonly idleMs?: number;
}

/** Kinds of which only the fact of a change is needed. */
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
  readonly statefulSets: Reflector<Workload>;
  readonly deployments: Reflector<Workload>;
  readonly replicaSets: Reflector<Workload>;
  readonly volumeClaims: Reflector<VolumeClaim>;
  readonly resourceQuotas: Reflector<Quota>;
  /** Secrets of the operator's namespace; only the fact of a change is used. */
  readonly secrets: ObjectCache;
  /** ConfigMaps of the operator's namespace: notes of deleted environments. */
  readonly ownConfigMaps: ObjectCache;
  readonly #children = new Map<Resource, ObjectCache>();

  constructor(options: CachesOptions, ports: ReflectorPorts, metrics: Pick<OperatorMetrics, "watchRestarts" | "observed">) {
    const { namespace, ...common } = options;
    const labels = MANAGED_SELECTOR;
    const open = <T extends MetadataOnly>(more: ConstructorParameters<typeof Reflector<T>>[0]): Reflector<T> => {
      const reflector = new Reflector<T>({ ...common, ...more }, ports);
      reflector.onWatchEnd((end) => metrics.watchRestarts.inc(reflector.resource.kind, end));
      return reflector;
    };
    this.environments = open({ resource: resources.environments, parse: parseEnvironment });
    this.serviceDeployments = open({ resource: resources.serviceDeployments, parse: parseServiceDeployment });
    this.cloudEnvironments = open({ resource: resources.cloudEnvironments, parse: parseCloudEnvironment });
    this.secrets = open<MetadataOnly>({ resource: resources.secrets, namespace, metadataOnly: true });
    this.ownConfigMaps = open<MetadataOnly>({ resource: resources.configMaps, namespace, metadataOnly: true });
    this.namespaces = open({ resource: resources.namespaces, labels, parse: parseObject });
    this.statefulSets = open({ resource: resources.statefulSets, labels, parse: parseWorkload });
    this.deployments = open({ resource: resources.deployments, labels, parse: parseWorkload });
    this.replicaSets = open({ resource: resources.replicaSets, labels, parse: parseWorkload });
    this.volumeClaims = open({ resource: resources.volumeClaims, labels, parse: parseVolumeClaim });
    this.resourceQuotas = open({ resource: resources.resourceQuotas, labels, parse: parseQuota });
    const whole = [
      this.namespaces,
      this.statefulSets,
      this.deployments,
      this.replicaSets,
      this.volumeClaims,
      this.resourceQuotas,
    ];
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
