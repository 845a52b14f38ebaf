/**
 * The world of the operator's suites: a control plane with our definitions, an operator with only its own rights, and a simulated kubelet.
 */
import { randomBytes } from "node:crypto";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { definitions, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import {
  connectKubernetes,
  type KubeObject,
  KubernetesApiError,
  type KubernetesClient,
  Reflector,
  resources,
} from "@perdure/kubernetes";
import { type ControlPlane, type LeasedControlPlane, leaseKubernetes } from "@perdure/servers";
import { Metrics } from "@perdure/telemetry";
import { type FrontProber, tcpFrontProber } from "../src/front-prober.js";
import { type Operator, type OperatorOptions, type OperatorPorts, operatorMetrics, startOperator } from "../src/index.js";
import { cell, OPERATOR_NAMESPACE, OPERATOR_USER } from "./cell.js";
import { eventually } from "./eventually.js";
import { FakeDatabase } from "./fake-database.js";
import { type Kubelet, playKubelet } from "./kubelet.js";
import {
  clusterRules,
  kedaRules,
  ownNamespaceRules,
  REMOVAL_ROLE,
  removalRules,
  SECRETS_ROLE,
  secretsRules,
  snapshotRules,
} from "./rbac.js";
import { RealKubelet } from "./real-kubelet/kubelet.js";

export { OPERATOR_NAMESPACE } from "./cell.js";

const ADMIN = "test";

export type EnvironmentSpecInput = Readonly<Record<string, unknown>>;

export class World<K extends AsyncDisposable = Kubelet> implements AsyncDisposable {
  readonly kubernetes: LeasedControlPlane;
  /** May do everything. */
  readonly client: KubernetesClient;
  readonly kubelet: K;
  readonly metrics: Metrics;
  readonly #environments: Reflector<EnvironmentResource>;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  /** Database in which the operators create roles; undefined: in the PostgreSQL of their Secret. */
  readonly database: FakeDatabase | undefined;
  #operators: readonly { readonly operator: Operator; readonly client: KubernetesClient }[] = [];

  private constructor(kubernetes: LeasedControlPlane, client: KubernetesClient, kubelet: K, database?: FakeDatabase) {
    this.database = database;
    this.kubernetes = kubernetes;
    this.client = client;
    this.kubelet = kubelet;
    this.metrics = new Metrics();
    this.#environments = new Reflector({ resource: resources.environments }, { ...ports, client });
    this.#watching = this.#environments.run(this.#stop.signal);
  }

  /** `kubernetes`: a control plane of its own, which goes with the world. */
  static async start(
    options: { readonly withDefinitions?: boolean; readonly postgresUrl?: string; readonly kubernetes?: LeasedControlPlane } = {},
  ): Promise<World> {
    const kubernetes = options.kubernetes ?? (await leaseKubernetes());
    const client = connectKubernetes(kubernetes.kubeconfig());
    await furnish(kubernetes, options.postgresUrl);
    if (options.withDefinitions !== false) await defineAll(client);
    const database = options.postgresUrl === undefined ? new FakeDatabase() : undefined;
    return new World(kubernetes, client, await playKubelet(client, ports), database);
  }

  /** Starts a world whose pods are processes, and keep their metadata in the database of that URL. */
  static async startReal(postgresUrl: string): Promise<World<RealKubelet>> {
    const kubernetes = await leaseKubernetes();
    const client = connectKubernetes(kubernetes.kubeconfig());
    await furnish(kubernetes, postgresUrl);
    await defineAll(client);
    return new World(kubernetes, client, await RealKubelet.start({ kubernetes, clusterDns: cell.clusterDns }, client, ports));
  }

  /** Starts an operator with its own rights, and shorter pauses than in production. */
  startOperator(
    changed: Partial<OperatorOptions> = {},
    metrics = new Metrics(),
    changedPorts: Partial<OperatorPorts> = {},
  ): Operator {
    const client = connectKubernetes(this.kubernetes.kubeconfig(OPERATOR_USER));
    const fatal = (cause: unknown): void => this.failures.push(cause) as unknown as void;
    // Leaders are not killed here, so no test waits for the end of a lease; a busy machine keeps it.
    const lease = { leaseMs: 30_000, renewWithinMs: 20_000, retryMs: 200 };
    const options = { cell, identity: randomBytes(4).toString("hex"), lease, keysPerSecond: 500, ...changed };
    const operator = startOperator(options, {
      ...ports,
      client,
      metrics: operatorMetrics(metrics, () => ports.clock.nowMs()),
      onFatal: fatal,
      ...(this.database === undefined ? {} : { database: this.database }),
      frontProber: this.kubelet instanceof RealKubelet ? frontProberOf(this.kubelet) : { connect: async () => "accepted" },
      ...changedPorts,
    });
    this.#operators = [...this.#operators, { operator, client }];
    return operator;
  }

  readonly failures: unknown[] = [];

  /** The object, as the API server has made it. */
  async create(spec: EnvironmentSpecInput = {}, id = `env_${randomBytes(8).toString("hex")}`): Promise<EnvironmentResource> {
    return (await this.client.create(anEnvironment(id, spec), { manager: ADMIN })) as unknown as EnvironmentResource;
  }

  /** Changes fields of the spec. */
  async change({ metadata }: EnvironmentResource, fields: Readonly<Record<string, unknown>>): Promise<void> {
    const body = { spec: fields };
    const path = `/apis/perdure.dev/v1alpha1/environments/${metadata.name}`;
    const { status, text } = await this.kubernetes.request({ method: "PATCH", path, body });
    if (status !== 200) throw new Error(text);
  }

  async delete({ metadata }: EnvironmentResource): Promise<void> {
    await this.client.delete(resources.environments, metadata.name, undefined);
  }

  /**
   * Resolves with the environment when `holds` returns true for it; undefined stands for a deleted one. Rejects with its state after a
   * while.
   */
  async until(
    name: string,
    holds: (environment: EnvironmentResource | undefined) => boolean,
    withinMs = 60_000,
  ): Promise<EnvironmentResource> {
    await this.#environments.synced;
    const now = (): EnvironmentResource | undefined => this.#environments.get(name);
    if (holds(now())) return now() as EnvironmentResource;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        isOver = true;
        reject(new Error(`${name} is ${JSON.stringify(now()?.status ?? now()?.metadata, undefined, 1)}`));
      }, withinMs);
      let isOver = false;
      this.#environments.onChange(({ metadata }) => {
        if (isOver || metadata.name !== name || !holds(now())) return;
        isOver = true;
        clearTimeout(timer);
        resolve(now() as EnvironmentResource);
      });
    });
  }

  untilReady({ metadata }: EnvironmentResource, withinMs?: number): Promise<EnvironmentResource> {
    return this.until(metadata.name, (one) => conditionOf(one, "Ready")?.status === "True", withinMs);
  }

  /** Stops all operators in an orderly way. */
  async endOperators(): Promise<void> {
    for (const { operator, client } of this.#operators) {
      await operator[Symbol.asyncDispose]();
      await client[Symbol.asyncDispose]();
    }
    this.#operators = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endOperators();
    this.#stop.abort();
    await this.#watching;
    try {
      await this.kubelet[Symbol.asyncDispose]();
    } finally {
      // A failure of the kubelet must leave no process.
      await this.client[Symbol.asyncDispose]();
      await this.kubernetes[Symbol.asyncDispose]();
    }
    if (this.failures.length > 0) throw this.failures[0];
  }
}

/** Names of the cluster resolve to addresses of this machine, which only the kubelet has. */
const frontProberOf = (kubelet: RealKubelet): FrontProber => ({
  async connect(host, port, signal) {
    try {
      return await tcpFrontProber.connect(kubelet.addressOf(host), port, signal);
    } catch {
      return "refused"; // It leads nowhere yet.
    }
  },
});

const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };

export function conditionOf(environment: EnvironmentResource | undefined, type: string) {
  return environment?.status?.conditions?.find((one) => one.type === type);
}

export function anEnvironment(environmentId: string, spec: EnvironmentSpecInput = {}): KubeObject {
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "Environment",
    metadata: { name: objectNameOf(environmentId) },
    spec: {
      environmentId,
      accountId: "acc_0123456789AbCdEf",
      region: cell.region,
      version: "1.4.0",
      redis: { bundled: {} },
      ...spec,
    },
  };
}

/** Resolves when the API server serves our kinds, which is a moment after it has accepted their definitions. */
export async function defineAll(client: KubernetesClient): Promise<void> {
  for (const definition of definitions) await client.apply(definition as unknown as KubeObject, { manager: ADMIN, force: true });
  for (const kind of [resources.environments, resources.serviceDeployments, resources.cloudEnvironments]) {
    await eventually(() =>
      client.list(kind).then(
        () => true,
        (cause) => {
          if (cause instanceof KubernetesApiError && cause.status === 404) return false;
          throw cause;
        },
      ),
    );
  }
}

/** Creates what a chart would install: namespaces, roles, the database's Secret. */
export async function furnish(
  kubernetes: ControlPlane,
  postgresUrl = "postgres://perdure@db.example.org/perdure",
): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const user = { kind: "User", name: OPERATOR_USER, apiGroup: rbac };
  const requests: readonly (readonly [string, object])[] = [
    ["/api/v1/namespaces", { metadata: { name: OPERATOR_NAMESPACE } }],
    [
      `/apis/${rbac}/v1/clusterroles`,
      { metadata: { name: "perdure-operator" }, rules: [...clusterRules, ...snapshotRules, ...kedaRules] },
    ],
    [`/apis/${rbac}/v1/clusterroles`, { metadata: { name: SECRETS_ROLE }, rules: secretsRules }],
    [`/apis/${rbac}/v1/clusterroles`, { metadata: { name: REMOVAL_ROLE }, rules: removalRules }],
    [
      `/apis/${rbac}/v1/clusterrolebindings`,
      {
        metadata: { name: "perdure-operator" },
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "perdure-operator" },
        subjects: [user],
      },
    ],
    [
      `/apis/${rbac}/v1/namespaces/${OPERATOR_NAMESPACE}/roles`,
      { metadata: { name: "perdure-operator" }, rules: ownNamespaceRules },
    ],
    [
      `/apis/${rbac}/v1/namespaces/${OPERATOR_NAMESPACE}/rolebindings`,
      {
        metadata: { name: "perdure-operator" },
        roleRef: { apiGroup: rbac, kind: "Role", name: "perdure-operator" },
        subjects: [user],
      },
    ],
    [`/api/v1/namespaces/${OPERATOR_NAMESPACE}/secrets`, { metadata: { name: "postgres" }, stringData: { url: postgresUrl } }],
  ];
  for (const [path, body] of requests) {
    const { status, text } = await kubernetes.request({ method: "POST", path, body });
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  }
}
