/** What is derived from an environment, without any cluster. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import fc from "fast-check";
import { autoscaler, scaledObject } from "../src/desired/autoscaling.js";
import { disruptionBudgets } from "../src/desired/disruption.js";
import { secretsBinding } from "../src/desired/namespace.js";
import { networkPolicies } from "../src/desired/network-policies.js";
import { quotas } from "../src/desired/quota.js";
import { bundledRedis } from "../src/desired/redis.js";
import { hashOf, runtimeConfig, runtimeSettings, workerConfigHash } from "../src/desired/runtime-config.js";
import { quantityOf } from "../src/desired/sizes.js";
import { front, workers } from "../src/desired/workers.js";
import { cell } from "./cell.js";

interface Changes {
  readonly size?: EnvironmentResource["spec"]["size"];
  readonly workers?: Partial<EnvironmentResource["spec"]["workers"]>;
  readonly egress?: Partial<EnvironmentResource["spec"]["network"]["egress"]>;
  readonly extraIngressPeers?: EnvironmentResource["spec"]["network"]["extraIngressPeers"];
  readonly redis?: EnvironmentResource["spec"]["redis"];
  readonly suspended?: boolean;
  readonly front?: EnvironmentResource["spec"]["front"];
}

const bundled = { mode: "standalone", size: "10Gi", maxMemoryPercent: 70, fsync: "always" } as const;

function anEnvironment({
  size = "small",
  workers: w,
  egress,
  extraIngressPeers,
  redis,
  suspended = false,
  front: frontSpec,
}: Changes = {}): EnvironmentResource {
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "Environment",
    metadata: { name: "env-0123456789", uid: "uid-1", generation: 1 },
    spec: {
      environmentId: "env_0123456789",
      accountId: "acc_0123456789",
      region: "eu",
      version: "1.4.0",
      channel: "stable",
      size,
      workers: { partitions: 24, drainSeconds: 120, topologySpread: "zone", ...w },
      front: frontSpec,
      redis: redis ?? { bundled },
      retention: { completedJournal: "24h", idempotency: "24h", workflow: "24h" },
      limits: { maxBodyBytes: 10_485_760, maxJournalEntries: 10_000 },
      network: { egress: { mode: "public", ...egress }, disablePolicies: false, extraIngressPeers },
      security: {},
      suspended,
      reclaimPolicy: "Retain",
      deletionProtection: true,
    },
  };
}

const INPUTS = { config: "c", secrets: "s", replicas: 2 };

function everything(environment: EnvironmentResource): KubeObject[] {
  const binding = secretsBinding(environment, cell);
  return [
    ...networkPolicies(environment, cell),
    ...quotas(environment),
    runtimeConfig(environment, cell),
    ...bundledRedis(environment, cell, "h"),
    ...workers(environment, cell, INPUTS),
    ...front(environment, cell, INPUTS),
    ...disruptionBudgets(environment),
    ...autoscaler(environment),
    ...(binding === undefined ? [] : [binding]),
  ];
}

// ── network policies ─────────────────────────────────────────────────────────────────────────────

interface Rule {
  readonly from?: readonly object[];
  readonly to?: readonly object[];
}

interface PolicySpec {
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

const specOf = (policy: KubeObject): PolicySpec => policy["spec"] as PolicySpec;

const cidr = fc.constantFrom("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32");
const peer = fc.oneof(
  cidr.map((block) => ({ ipBlock: { cidr: block } })),
  fc.constant({ namespaceSelector: {} }),
  fc.constant({ podSelector: { matchLabels: { a: "b" } } }),
);

test("no rule allows all peers, whatever is requested, unless egress is open", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("public" as const, "allowlist" as const),
      fc.option(fc.array(cidr, { maxLength: 3 }), { nil: undefined }),
      fc.option(fc.array(peer, { maxLength: 3 }), { nil: undefined }),
      fc.option(fc.array(peer, { maxLength: 3 }), { nil: undefined }),
      (mode, cidrs, allow, extraIngressPeers) => {
        for (const policy of networkPolicies(anEnvironment({ egress: { mode, cidrs, allow }, extraIngressPeers }), cell)) {
          const { ingress = [], egress = [] } = specOf(policy);
          for (const { from } of ingress) expect(from?.length).toBeGreaterThan(0);
          for (const { to } of egress) expect(to?.length).toBeGreaterThan(0);
          for (const one of [...ingress, ...egress].flatMap((rule) => [...(rule.from ?? []), ...(rule.to ?? [])])) {
            expect(Object.keys(one).length).toBeGreaterThan(0);
          }
        }
      },
    ),
  );
});

test("nothing is allowed without an explicit setting; open is open, and public is not private", () => {
  const [first] = networkPolicies(anEnvironment(), cell);
  expect(specOf(first as KubeObject)).toMatchObject({ podSelector: {}, policyTypes: ["Ingress", "Egress"] });
  const egressOf = (environment: EnvironmentResource) =>
    specOf(networkPolicies(environment, cell).find(({ metadata }) => metadata.name === "worker") as KubeObject).egress;
  expect(egressOf(anEnvironment({ egress: { mode: "open" } }))).toContainEqual({});
  expect(egressOf(anEnvironment())).not.toContainEqual({});
  const text = JSON.stringify(egressOf(anEnvironment()));
  for (const block of [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
    "fe80::/10",
  ]) {
    expect(text).toContain(block);
  }
});

test("callers are pods of the gateway in the platform's namespace: both, not either", () => {
  const policy = networkPolicies(anEnvironment(), cell).find(({ metadata }) => metadata.name === "front") as KubeObject;
  expect(specOf(policy).ingress?.slice(0, 1)).toEqual([
    {
      from: [
        {
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "perdure-system" } },
          podSelector: { matchLabels: { "perdure.dev/platform-role": "gateway" } },
        },
      ],
      ports: [
        { protocol: "TCP", port: 8080 },
        { protocol: "TCP", port: 9070 },
      ],
    },
  ]);
});

// ── pods ─────────────────────────────────────────────────────────────────────────────────────────

interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: object;
  readonly containers: readonly {
    readonly name: string;
    readonly image: string;
    readonly securityContext: object;
    readonly resources: { readonly requests: object };
    readonly env: readonly { readonly name: string; readonly value?: string }[];
  }[];
}

const podsOf = (objects: readonly KubeObject[]): PodSpec[] =>
  objects
    .filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment")
    .map((one) => (one["spec"] as { readonly template: { readonly spec: PodSpec } }).template.spec);

test("every pod is closed, and every image comes from the one registry, Redis from its own", () => {
  const pods = podsOf(everything(anEnvironment({ size: "large" })));
  expect(pods).toHaveLength(3);
  for (const pod of pods) {
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    for (const container of pod.containers) {
      if (container.name === "redis") expect(container.image).toBe(cell.redisImage);
      else expect(container.image.startsWith(`${cell.imageRegistry}/`)).toBe(true);
      expect(Object.keys(container)).not.toContain("imagePullPolicy");
      expect(container.resources.requests).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  }
});

test("images of a release with digests in the cell's settings are pinned by them, all others by their tag", () => {
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  const pinned = { ...cell, runtimeDigests: { "worker:1.4.0": digest, "gateway:1.3.0": digest } };
  const imagesAt = (version: string): readonly string[] => {
    const { spec, ...rest } = anEnvironment();
    const one = { ...rest, spec: { ...spec, version } };
    return podsOf([...workers(one, pinned, INPUTS), ...front(one, pinned, INPUTS)]).flatMap(({ containers }) =>
      containers.map(({ image }) => image.slice(`${cell.imageRegistry}/perdure-`.length)),
    );
  };
  expect(imagesAt("1.4.0")).toEqual([`worker:1.4.0@${digest}`, "registry:1.4.0", "gateway:1.4.0", "admin:1.4.0"]);
  expect(imagesAt("1.3.0")).toEqual(["worker:1.3.0", "registry:1.3.0", `gateway:1.3.0@${digest}`, "admin:1.3.0"]);
});

test("every container has the pull policy of the cell", () => {
  const never = { ...cell, imagePullPolicy: "Never" } as const;
  const made = [anEnvironment()].flatMap((one) => [
    ...bundledRedis(one, never, "h"),
    ...workers(one, never, INPUTS),
    ...front(one, never, INPUTS),
  ]);
  const containers = podsOf(made).flatMap((pod) => pod.containers);
  expect(containers).toHaveLength(5);
  for (const container of containers) expect(container).toMatchObject({ imagePullPolicy: "Never" });
});

test("the grace period of a worker is the drain time of the spec and some time to exit", () => {
  const [worker] = podsOf(workers(anEnvironment({ workers: { drainSeconds: 300 } }), cell, INPUTS));
  expect(worker?.terminationGracePeriodSeconds).toBe(330);
  expect(worker?.containers[0]?.env).toContainEqual({ name: "PERDURE_SHUTDOWN_TIMEOUT", value: "300s" });
});

test("no password is in anything but a Secret", () => {
  for (const object of everything(anEnvironment())) expect(JSON.stringify(object)).not.toMatch(/redis:\/\/:|postgres:\/\/[^"]*@/);
});

test("nothing that is sent is empty or undefined: a server would drop it, and each pass would be a change", () => {
  for (const size of ["small", "large"] as const) {
    for (const object of everything(
      anEnvironment({ size, workers: { autoscaling: { min: 2, max: 4, targetQueueSecondsPerWorker: 10, engine: "hpa" } } }),
    )) {
      expect(JSON.parse(JSON.stringify(object))).toEqual(object);
      expect(JSON.stringify(object)).not.toContain("[]");
    }
  }
});

// ── how many ─────────────────────────────────────────────────────────────────────────────────────

test("a budget needs a second pod, and a Redis of three has one", () => {
  const names = (changes: Changes): string[] => disruptionBudgets(anEnvironment(changes)).map(({ metadata }) => metadata.name);
  expect(names({})).toEqual([]);
  expect(names({ size: "medium" })).toEqual(["worker", "front"]);
  expect(names({ redis: { bundled: { ...bundled, mode: "replicated" } } })).toEqual(["redis"]);
  expect(names({ size: "medium", suspended: true })).toEqual([]);
});

test("several workers have at least two front pods with a budget, however they come to be several", () => {
  const fronts = (changes: Changes): unknown => {
    const [deployment] = front(anEnvironment(changes), cell, INPUTS).filter(({ kind }) => kind === "Deployment");
    return ((deployment as KubeObject)["spec"] as { readonly replicas: number }).replicas;
  };
  const budgets = (changes: Changes): string[] => disruptionBudgets(anEnvironment(changes)).map(({ metadata }) => metadata.name);
  const autoscaling = { min: 1, max: 3, targetQueueSecondsPerWorker: 10, engine: "hpa" } as const;
  expect(fronts({})).toBe(1);
  for (const several of [{ workers: { replicas: 2 } }, { workers: { autoscaling } }, { size: "large" }] satisfies Changes[]) {
    expect([several, fronts(several)]).toEqual([several, 2]);
    expect(budgets(several)).toContain("front");
  }
  expect(fronts({ size: "large", workers: { replicas: 1 } })).toBe(2);
  expect(fronts({ workers: { replicas: 8 }, front: { replicas: 5 } })).toBe(5);
  expect(fronts({ workers: { replicas: 8 }, front: { replicas: 1 } })).toBe(2);
  expect(budgets({ front: { replicas: 3 } })).toEqual(["front"]);
  expect(fronts({ front: { replicas: 3 }, suspended: true })).toBe(0);
});

test("more workers replace none of those that are there, although a second front pod takes half of the requests", () => {
  const hash = (changes: Changes): string => workerConfigHash(anEnvironment(changes), cell);
  const share = (changes: Changes): unknown =>
    (runtimeConfig(anEnvironment(changes), cell)["data"] as Readonly<Record<string, string>>)[
      "PERDURE_INGRESS__REQUESTS_PER_SECOND_LIMIT"
    ];
  const several = { workers: { replicas: 3 } };
  expect([share({}), share(several)]).toEqual(["100", "50"]);
  expect(hash(several)).toBe(hash({}));
  expect(hash({ front: { replicas: 4 } })).toBe(hash({}));
  expect(hash({ size: "medium" })).not.toBe(hash({}));
  // As operators of before had it.
  expect(hash({})).toBe(hashOf(runtimeSettings(anEnvironment(), cell)));
});

test("each process of a front pod has what the spec gives it, and the quota allows that", () => {
  const resources = { requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "2", memory: "2Gi" } };
  const [pod] = podsOf(front(anEnvironment({ front: { resources } }), cell, INPUTS));
  expect(pod?.containers.map((container) => container.resources)).toEqual([resources, resources, resources]);
  const [usual] = podsOf(front(anEnvironment(), cell, INPUTS));
  const requests = { cpu: "50m", memory: "192Mi" };
  expect(usual?.containers.map((container) => container.resources)).toEqual(
    ["192Mi", "192Mi", "768Mi"].map((memory) => ({ requests, limits: { memory } })),
  );
  const [less] = podsOf(front(anEnvironment({ front: { resources: { limits: { memory: "128Mi" } } } }), cell, INPUTS));
  expect(less?.containers[0]?.resources).toEqual({ requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "128Mi" } });
  const hardOf = (environment: EnvironmentResource): number =>
    quantityOf(
      ((quotas(environment)[0] as KubeObject)["spec"] as { readonly hard: Readonly<Record<string, string>> }).hard[
        "requests.memory"
      ] ?? "0",
    );
  const more = hardOf(anEnvironment({ front: { replicas: 4, resources } })) - hardOf(anEnvironment());
  expect(more).toBeGreaterThanOrEqual(4 * 3 * 1024 ** 3);
});

test("an autoscaler counts seconds of ready work, and then the operator does not set the number of workers", () => {
  const autoscaling = { min: 2, max: 6, targetQueueSecondsPerWorker: 10, engine: "hpa" } as const;
  const [hpa] = autoscaler(anEnvironment({ workers: { autoscaling } }));
  const target = { type: "AverageValue", averageValue: "10" };
  expect(hpa).toMatchObject({
    spec: {
      minReplicas: 2,
      maxReplicas: 6,
      metrics: [{ type: "External", external: { metric: { name: "perdure_worker_ready_queue_seconds" }, target } }],
      behavior: { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 120 }] } },
    },
  });
  const byKeda = anEnvironment({ workers: { autoscaling: { ...autoscaling, engine: "keda" } } });
  expect(autoscaler(byKeda)).toEqual([]);
  expect(scaledObject(anEnvironment({ workers: { autoscaling } }), "http://p")).toEqual([]);
  const query = 'sum(perdure_worker_ready_queue_seconds{namespace="env-0123456789"})';
  expect(scaledObject(byKeda, "http://p")).toMatchObject([
    {
      kind: "ScaledObject",
      spec: {
        minReplicaCount: 2,
        maxReplicaCount: 6,
        triggers: [{ type: "prometheus", metadata: { serverAddress: "http://p", query, threshold: "10" } }],
      },
    },
  ]);
  const set = workers(anEnvironment({ workers: { autoscaling } }), cell, { ...INPUTS, replicas: undefined })[1] as KubeObject;
  expect(Object.keys(set["spec"] as object)).not.toContain("replicas");
  expect(autoscaler(anEnvironment({ workers: { autoscaling }, suspended: true }))).toEqual([]);
});

test("the quota allows the sum of the spec, also while pods are being replaced", () => {
  for (const size of ["free", "small", "medium", "large"] as const) {
    const environment = anEnvironment({ size });
    const { hard } = (quotas(environment)[0] as KubeObject)["spec"] as { readonly hard: Readonly<Record<string, string>> };
    const pods = podsOf(everything(environment));
    const requests = pods.flatMap(({ containers }) =>
      containers.map(({ resources }) => resources.requests as { readonly memory: string }),
    );
    const once = requests.reduce((sum, { memory }) => sum + quantityOf(memory), 0);
    expect(quantityOf(hard["requests.memory"] as string)).toBeGreaterThan(once);
    expect(hard).toMatchObject({ "services.loadbalancers": "0", "services.nodeports": "0" });
  }
});

test("quantities are read as Kubernetes writes them", () => {
  expect(["500m", "2", "1.5Gi", "10G", "9000Mi"].map(quantityOf)).toEqual([0.5, 2, 1.5 * 1024 ** 3, 1e10, 9000 * 1024 ** 2]);
  expect(() => quantityOf("plenty")).toThrow("'plenty' is not a quantity");
});

test("runbooks name containers that a front pod has", () => {
  const runbooks = new URL("../../../docs/runbooks/", import.meta.url);
  const commands = readdirSync(runbooks).flatMap((file) => [
    ...readFileSync(new URL(file, runbooks), "utf8").matchAll(/deploy\/front -c (\S+)/g),
  ]);
  expect(commands.length).toBeGreaterThan(4);
  const [pod] = podsOf(front(anEnvironment(), cell, INPUTS));
  const names = pod?.containers.map(({ name }) => name);
  for (const [command, name] of commands) expect([command, names]).toEqual([command, expect.arrayContaining([name])]);
});
