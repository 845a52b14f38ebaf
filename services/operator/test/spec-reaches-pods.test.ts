/** Each field of a spec arrives where something keeps to it: a setting of the program that enforces it, a template, or a policy. */
import { describe, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { serviceAccounts } from "../src/desired/namespace.js";
import { networkPolicies } from "../src/desired/network-policies.js";
import { quotas } from "../src/desired/quota.js";
import { bundledRedis } from "../src/desired/redis.js";
import { runtimeConfig } from "../src/desired/runtime-config.js";
import { quantityOf } from "../src/desired/sizes.js";
import { front, workers } from "../src/desired/workers.js";
import { BUNDLED, environmentWith } from "./an-environment.js";
import { cell } from "./cell.js";

type Spec = EnvironmentResource["spec"];

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly configMapKeyRef?: { readonly key: string } };
}

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly env: readonly Variable[];
  readonly resources: unknown;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Template {
  readonly metadata: {
    readonly annotations: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly containers: readonly Container[];
    readonly volumes: readonly { readonly name: string }[];
  };
}

const INPUTS = { config: "c", secrets: "s", replicas: 1 };
const templateOf = (object: KubeObject | undefined): Template => {
  const { template } = (object as KubeObject)["spec"] as { readonly template: Template };
  return template;
};
const workerTemplate = (environment: EnvironmentResource, within = cell): Template =>
  templateOf(workers(environment, within, INPUTS).find(({ kind }) => kind === "StatefulSet"));
const frontTemplate = (environment: EnvironmentResource, within = cell): Template =>
  templateOf(front(environment, within, INPUTS).find(({ kind }) => kind === "Deployment"));
const redisTemplate = (environment: EnvironmentResource): Template =>
  templateOf(bundledRedis(environment, cell, "h").find(({ kind }) => kind === "StatefulSet"));

/** Settings that a program receives from the ConfigMap, by the names of variables. */
function settingsOf(program: string, environment: EnvironmentResource, within = cell): Readonly<Record<string, string>> {
  const data = runtimeConfig(environment, within)["data"] as Readonly<Record<string, string>>;
  const containers = [workerTemplate(environment, within), frontTemplate(environment, within)].flatMap(
    ({ spec }) => spec.containers,
  );
  const { env } = containers.find(({ name }) => name === program) as Container;
  const entries = env.map(({ name, valueFrom }) => [name, valueFrom?.configMapKeyRef?.key] as const);
  return Object.fromEntries(
    entries.filter(([, key]) => key !== undefined).map(([name, key]) => [name, data[key as string] ?? ""]),
  );
}

const TUNNELS = { proxyUrl: "http://relay.example:9080", tokenSecretRef: { name: "t", key: "k" } };
const TUNNEL_SETTINGS = {
  PERDURE_TUNNELS__PROXY_URL: "http://relay.example:9080",
  PERDURE_TUNNELS__TOKEN_FILE: "/var/run/perdure/tunnels/token",
};

describe("limits and retention reach the programs that keep to them", () => {
  const limits = { maxBodyBytes: 4096, maxJournalEntries: 100 };
  test.each<[field: string, changes: Partial<Spec>, program: string, variables: Readonly<Record<string, string>>]>([
    [
      "retention",
      { retention: { completedJournal: "2h", idempotency: "3h", workflow: "4d" } },
      "registry",
      {
        PERDURE_WORKER__DEFAULT_JOURNAL_RETENTION: "7200s",
        PERDURE_WORKER__DEFAULT_IDEMPOTENCY_RETENTION: "10800s",
        PERDURE_WORKER__DEFAULT_WORKFLOW_RETENTION: "345600s",
      },
    ],
    [
      "limits.concurrentInvocations",
      { limits: { ...limits, concurrentInvocations: 7 } },
      "worker",
      { PERDURE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: "7" },
    ],
    ["limits.maxJournalEntries", { limits }, "worker", { PERDURE_WORKER__INVOKER__JOURNAL_ENTRIES_LIMIT: "100" }],
    ["limits.maxBodyBytes", { limits }, "gateway", { PERDURE_INGRESS__REQUEST_SIZE_LIMIT: "4096" }],
    [
      "limits.requestsPerSecond, half for each of two listeners",
      { size: "medium", limits: { ...limits, requestsPerSecond: 99 } },
      "gateway",
      { PERDURE_INGRESS__REQUESTS_PER_SECOND_LIMIT: "50" },
    ],
    [
      "workers.partitions",
      { workers: { partitions: 3, drainSeconds: 1, topologySpread: "zone" } },
      "worker",
      { PERDURE_WORKER__NUM_PARTITIONS: "3" },
    ],
    [
      "redis.external.keyPrefix",
      { redis: { external: { secretRef: { name: "r", key: "u" }, keyPrefix: "ours:" } } },
      "registry",
      { PERDURE_REDIS__KEY_PREFIX: "ours:" },
    ],
    [
      "redis.bundled.mode",
      { redis: { bundled: { ...BUNDLED, mode: "replicated" } } },
      "worker",
      { PERDURE_REDIS__REPLICAS: "1" },
    ],
    [
      "backup.restoreFrom",
      { backup: { keep: 7, restoreFrom: { snapshotId: "s" } } },
      "worker",
      { PERDURE_WORKER__INCARNATION: "uid-1" },
    ],
    [
      "limits of what may be registered",
      { limits: { ...limits, deployments: 3, services: 0, subscriptions: 2, maxRetention: "2d" } },
      "registry",
      {
        PERDURE_LIMITS__DEPLOYMENTS: "3",
        PERDURE_LIMITS__SERVICES: "0",
        PERDURE_LIMITS__SUBSCRIPTIONS: "2",
        PERDURE_LIMITS__RETENTION: "172800s",
      },
    ],
    ["tunnels, for attempts", { tunnels: TUNNELS }, "worker", TUNNEL_SETTINGS],
    ["tunnels, for discovery", { tunnels: TUNNELS }, "registry", TUNNEL_SETTINGS],
  ])("%s", (_field, changes, program, expected) => {
    expect(settingsOf(program, environmentWith(changes))).toMatchObject(expected);
  });

  test("every program receives the address for traces where the cell has a collector, and none where it has not", () => {
    const traced = { ...cell, tracingEndpoint: "http://collector.observability:4318" };
    for (const program of ["worker", "gateway", "admin", "registry"]) {
      const settings = settingsOf(program, environmentWith());
      const endpoint = { PERDURE_TRACING_ENDPOINT: "http://collector.observability:4318" };
      expect(settingsOf(program, environmentWith(), traced)).toEqual({ ...settings, ...endpoint });
      expect(Object.keys(settings)).not.toContain("PERDURE_TRACING_ENDPOINT");
    }
  });

  test("and no others: a program refuses to start with a setting that it does not declare", () => {
    const everything = environmentWith({
      redis: { external: { secretRef: { name: "r", key: "u" }, keyPrefix: "ours:" } },
      backup: { keep: 7, restoreFrom: { snapshotId: "s" } },
      tunnels: TUNNELS,
      limits: { ...limits, deployments: 1, services: 1, subscriptions: 1, maxRetention: "1h" },
    });
    const own = /^PERDURE_(CLUSTER_NAME|LOG_FORMAT|ENVIRONMENT_NAME)$/;
    const others = (program: string): string[] => Object.keys(settingsOf(program, everything)).filter((name) => !own.test(name));
    expect(others("gateway").every((name) => name.startsWith("PERDURE_INGRESS__"))).toBe(true);
    expect(others("registry").every((name) => /^PERDURE_(WORKER__DEFAULT_|REDIS__|TUNNELS__|LIMITS__)/.test(name))).toBe(true);
    expect(others("admin").every((name) => name.startsWith("PERDURE_REDIS__"))).toBe(true);
    expect(others("worker").every((name) => /^PERDURE_(WORKER|REDIS|TUNNELS)__/.test(name))).toBe(true);
  });
});

describe("what pods are given", () => {
  const security: Spec["security"] = {
    trustedCAs: [{ name: "ca", key: "pem" }],
    serviceAccountAnnotations: { "cloud.example.org/role": "worker" },
  };

  test("trusted authorities are mounted, and every process takes them", () => {
    for (const template of [workerTemplate(environmentWith({ security })), frontTemplate(environmentWith({ security }))]) {
      expect(template.spec.volumes).toContainEqual(
        expect.objectContaining({ name: "trusted-cas", secret: { secretName: "trusted-cas", defaultMode: 0o440 } }),
      );
      for (const { env, volumeMounts } of template.spec.containers) {
        const mount = volumeMounts.find(({ name }) => name === "trusted-cas");
        expect(env).toContainEqual({ name: "NODE_EXTRA_CA_CERTS", value: `${mount?.mountPath}/bundle.pem` });
      }
    }
    expect(JSON.stringify(workerTemplate(environmentWith()))).not.toMatch(/trusted-cas|NODE_EXTRA/);
  });

  test("the token for tunnels is a file of the programs that call services, and of no others", () => {
    const tunnels = environmentWith({ tunnels: TUNNELS });
    const templates = [workerTemplate(tunnels), frontTemplate(tunnels)];
    for (const { spec } of templates) {
      expect(spec.volumes).toContainEqual({ name: "tunnels", secret: { secretName: "tunnel-token", defaultMode: 0o440 } });
    }
    const mounted = templates
      .flatMap(({ spec }) => spec.containers)
      .filter(({ volumeMounts }) => volumeMounts.some(({ mountPath }) => mountPath === "/var/run/perdure/tunnels"));
    expect(mounted.map(({ name }) => name)).toEqual(["worker", "registry"]);
    for (const template of [workerTemplate(environmentWith()), frontTemplate(environmentWith())]) {
      expect(JSON.stringify(template)).not.toMatch(/tunnel/i);
    }
  });

  test("every pod may reach the relays of the platform", () => {
    const policies = networkPolicies(environmentWith({ tunnels: TUNNELS }), cell);
    const control = policies.find(({ metadata }) => metadata.name === "default") as KubeObject;
    const { egress } = control["spec"] as { readonly egress: readonly { readonly to: readonly unknown[] }[] };
    expect(egress[0]?.to).toContainEqual({
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": cell.namespace } },
      podSelector: { matchLabels: { "perdure.dev/platform-role": "tunnel-relay" } },
    });
  });

  test("certificates are mounted where the programs expect them, unless the cell has them switched off", () => {
    const names = ["PERDURE_TLS__AUTHORITY_FILE", "PERDURE_TLS__CERTIFICATE_FILE", "PERDURE_TLS__PRIVATE_KEY_FILE"];
    for (const { env, volumeMounts } of [
      ...workerTemplate(environmentWith()).spec.containers,
      ...frontTemplate(environmentWith()).spec.containers,
    ]) {
      const { mountPath } = volumeMounts.find(({ name }) => name === "tls") as { readonly mountPath: string };
      const files = env.filter(({ name }) => names.includes(name)).map(({ value }) => value);
      expect(files).toEqual(["ca.crt", "tls.crt", "tls.key"].map((file) => `${mountPath}/${file}`));
    }
    const without = workers(environmentWith(), { ...cell, grpcTls: false }, INPUTS);
    expect(JSON.stringify(without)).not.toMatch(/TLS__|grpc-tls/);
    expect(JSON.stringify(without)).toContain('"PERDURE_GRPC__ALLOW_CLEARTEXT","value":"true"');
  });

  test("annotations of pods, of which ours win, labels, and where they may run", () => {
    const environment = environmentWith({
      workers: {
        partitions: 1,
        drainSeconds: 5,
        topologySpread: "node",
        podAnnotations: { theirs: "yes", "perdure.dev/config-hash": "forged" },
        podLabels: { team: "a" },
        nodeSelector: { disk: "fast" },
        tolerations: [{ key: "spot", operator: "Exists" }],
        priorityClassName: "high",
        resources: { requests: { cpu: "3", memory: "3Gi" }, limits: { cpu: "4" } },
      },
    });
    const { metadata, spec } = workerTemplate(environment);
    expect(metadata.annotations).toMatchObject({ theirs: "yes", "perdure.dev/config-hash": "c" });
    expect(metadata.labels).toMatchObject({ team: "a" });
    expect(spec).toMatchObject({
      nodeSelector: { disk: "fast" },
      tolerations: [{ key: "spot", operator: "Exists" }],
      priorityClassName: "high",
      terminationGracePeriodSeconds: 35,
    });
    expect(spec.containers[0]?.resources).toEqual({
      requests: { cpu: "3", memory: "3Gi" },
      limits: { cpu: "4", memory: "3Gi" },
    });
  });

  test("annotations of service accounts, for workload identity, of those that call out", () => {
    const accounts = serviceAccounts(environmentWith({ security }));
    const annotated = accounts.filter(({ metadata }) => metadata.annotations?.["cloud.example.org/role"] === "worker");
    expect(annotated.map(({ metadata }) => metadata.name)).toEqual(["worker", "front"]);
  });

  test("pull secrets of the cell", () => {
    const withSecrets = { ...cell, imagePullSecrets: ["mirror"] };
    const all = [...workers(environmentWith(), withSecrets, INPUTS), ...front(environmentWith(), withSecrets, INPUTS)];
    const templates = [...all, ...bundledRedis(environmentWith(), withSecrets, "h")].filter(({ kind }) =>
      /StatefulSet|Deployment/.test(kind),
    );
    expect(templates).toHaveLength(3);
    for (const object of templates) expect(templateOf(object).spec["imagePullSecrets"]).toEqual([{ name: "mirror" }]);
  });

  test("egress to networks and pods that the spec names, in either mode", () => {
    const allow = [{ podSelector: { matchLabels: { app: "theirs" } } }];
    for (const mode of ["public", "allowlist"] as const) {
      const environment = environmentWith({
        network: { egress: { mode, cidrs: ["10.1.0.0/16"], allow }, disablePolicies: false },
      });
      const policies = networkPolicies(environment, cell).filter(({ metadata }) => ["worker", "front"].includes(metadata.name));
      expect(policies).toHaveLength(2);
      for (const policy of policies) {
        const { egress } = policy["spec"] as { readonly egress: readonly { readonly to: readonly unknown[] }[] };
        expect(egress.at(-1)?.to).toEqual(expect.arrayContaining([{ ipBlock: { cidr: "10.1.0.0/16" } }, ...allow]));
      }
    }
  });
});

describe("a bundled Redis", () => {
  const redisWith = (bundled: Partial<typeof BUNDLED> | Readonly<Record<string, unknown>>): EnvironmentResource =>
    environmentWith({ redis: { bundled: { ...BUNDLED, ...bundled } as NonNullable<Spec["redis"]["bundled"]> } });
  const argsOf = (environment: EnvironmentResource): string =>
    redisTemplate(environment).spec.containers[0]?.args?.join(" ") ?? "";

  test("keeps a log, evicts nothing, syncs as the spec requests, and uses small blocks for journals", () => {
    for (const mode of ["standalone", "replicated"]) expect(argsOf(redisWith({ mode }))).toContain("--stream-node-max-bytes 512");
    expect(argsOf(redisWith({}))).toMatch(/--appendonly yes --appendfsync always .*--maxmemory-policy noeviction/);
    expect(argsOf(redisWith({ fsync: "everysec" }))).toMatch(/--appendfsync everysec/);
    const half = 512 * 1024 * 1024 * 0.5;
    expect(argsOf(redisWith({ maxMemoryPercent: 50 }))).toContain(`--maxmemory ${half}`);
  });

  test("has memory for a rewrite of its log: data uses at most 45 % of the limit, whatever the spec requests", () => {
    const MIB = 1024 ** 2;
    const bytes = (environment: EnvironmentResource) => Number(/--maxmemory (\d+)/.exec(argsOf(environment))?.[1]);
    const given = (environment: EnvironmentResource) =>
      redisTemplate(environment).spec.containers[0]?.resources as Readonly<Record<"requests" | "limits", Amounts>>;
    interface Amounts {
      readonly cpu?: string;
      readonly memory: string;
    }
    for (const size of ["free", "small", "medium", "large", "custom"] as const) {
      for (const maxMemoryPercent of [30, 45, 70, 85]) {
        const environment = { ...redisWith({ maxMemoryPercent }) };
        const sized = { ...environment, spec: { ...environment.spec, size } };
        const { requests, limits } = given(sized);
        expect(bytes(sized)).toBe(Math.floor((quantityOf(requests.memory) * maxMemoryPercent) / 100 / MIB) * MIB);
        expect(bytes(sized) / quantityOf(limits.memory)).toBeLessThanOrEqual(0.45);
        expect(quantityOf(limits.memory)).toBeGreaterThanOrEqual(quantityOf(requests.memory));
      }
    }
    expect(given(redisWith({}))).toEqual({ requests: { cpu: "100m", memory: "512Mi" }, limits: { memory: "796Mi" } });
    const own = redisWith({ resources: { requests: { cpu: "2", memory: "8Gi" }, limits: { memory: "10Gi" } } });
    expect(given(own)).toEqual({ requests: { cpu: "2", memory: "8Gi" }, limits: { memory: "10Gi" } });
    expect(bytes(own)).toBe(4608 * MIB);
    const less = redisWith({ resources: { limits: { cpu: "50m", memory: "256Mi" } } });
    expect(given(less)).toEqual({ requests: { cpu: "50m", memory: "256Mi" }, limits: { cpu: "50m", memory: "256Mi" } });
    const { hard } = (quotas(own)[0] as KubeObject)["spec"] as { readonly hard: Readonly<Record<string, string>> };
    expect(quantityOf(hard["requests.memory"] ?? "0")).toBeGreaterThan(24 * 1024 * MIB);
  });

  test("of three has copies in zones of their own, and takes no write that none of them would have", () => {
    const replicated = redisWith({ mode: "replicated" });
    expect(argsOf(replicated)).toMatch(/--min-replicas-to-write 1/);
    expect(redisTemplate(replicated).spec["topologySpreadConstraints"]).toEqual([
      expect.objectContaining({ topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule" }),
    ]);
    const hosts = redisTemplate(replicated).spec.containers[0]?.env.find(({ name }) => name === "REDIS_HOSTS")?.value;
    expect(hosts?.split(" ").map((host) => host.split(".")[0])).toEqual(["redis-0", "redis-1", "redis-2"]);
  });

  test("has claims of the size and class of the spec", () => {
    const [, set] = bundledRedis(redisWith({ size: "30Gi", storageClassName: "fast" }), cell, "h");
    expect(set?.["spec"]).toMatchObject({
      volumeClaimTemplates: [{ spec: { resources: { requests: { storage: "30Gi" } }, storageClassName: "fast" } }],
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
    });
  });
});
