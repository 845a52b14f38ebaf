/**
 * The `Environment` resource: its spec is what the control plane requests from a cell, its status what the cell reports (kubernetes.md
 * §1.1). Cluster-scoped, because each environment has a namespace of its own. An optional field without a default takes its value from the
 * size, which the operator defines.
 */
import { z } from "zod";
import { conditions } from "./conditions.js";
import type { KindSource } from "./definition.js";
import { externalRedis, redisFailover, redisPrimary } from "./environment-redis.js";
import { type CustomResource, isResource } from "./object.js";
import {
  duration,
  environmentId,
  fixedOnceSet,
  immutable,
  labelSelector,
  list,
  listBy,
  map,
  name,
  passThrough,
  quantity,
  region,
  SECONDS_OF_SELF,
  secretRef,
  text,
  withRules,
} from "./schema.js";

const version = () => text(40).regex(/^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$/);

// ── workers ──────────────────────────────────────────────────────────────────────────────────────

const amounts = () => z.strictObject({ cpu: quantity().optional(), memory: quantity().optional() });

const isWithin = (amount: string): string =>
  `(!has(self.requests.${amount}) || !has(self.limits.${amount}) || quantity(self.requests.${amount}).compareTo(quantity(self.limits.${amount})) <= 0)`;

const resources = () =>
  withRules(z.strictObject({ requests: amounts().optional(), limits: amounts().optional() }), {
    rule: `!has(self.requests) || !has(self.limits) || (${isWithin("cpu")} && ${isWithin("memory")})`,
    message: "requests must not exceed limits",
  });

const autoscaling = withRules(
  z.strictObject({
    min: z.int().min(1).max(64),
    max: z.int().min(1).max(64),
    targetQueueSecondsPerWorker: z.int().min(1).max(600).default(10).describe("Seconds of work that is ready, for each worker."),
    engine: z.enum(["hpa", "keda"]).default("hpa"),
  }),
  { rule: "self.max >= self.min", message: "max must not be below min" },
);

const ownKeys = (field: string) => ({
  rule: `!has(self.${field}) || self.${field}.all(key, !key.startsWith('perdure.dev/'))`,
  message: `keys of ${field} must not begin with perdure.dev/`,
});

const workers = withRules(
  z.strictObject({
    replicas: z
      .int()
      .min(0)
      .max(64)
      .optional()
      .describe("From the size when absent; ignored while autoscaling is on. With 0 the environment is not ready (NoWorkers)."),
    resources: resources().optional(),
    autoscaling: autoscaling.optional(),
    partitions: withRules(z.int().min(1).max(256), immutable("partitions")).default(24),
    drainSeconds: z.int().min(0).max(3600).default(120).describe("How long a worker may take to hand its partitions over."),
    podAnnotations: map(32, 4096).optional(),
    podLabels: map(32, 63).optional(),
    nodeSelector: map(32).optional(),
    tolerations: list(passThrough(), 32).optional(),
    priorityClassName: name(253).optional(),
    topologySpread: z.enum(["zone", "node", "none"]).default("zone"),
  }),
  ownKeys("podAnnotations"),
  ownKeys("podLabels"),
);

const front = z.strictObject({
  replicas: z.int().min(1).max(16).optional().describe("Number of front pods; at least two where there may be several workers."),
  resources: resources()
    .optional()
    .describe("Resources of each of the three processes of a front pod: registry, gateway and admin."),
});

// ── where journals live ──────────────────────────────────────────────────────────────────────────

const bundledRedis = withRules(
  z.strictObject({
    mode: z.enum(["standalone", "replicated"]).default("standalone"),
    size: withRules(quantity(), {
      rule: "quantity(self).compareTo(quantity(oldSelf)) >= 0",
      message: "a volume never shrinks",
    }).default("10Gi"),
    storageClassName: name(253).optional(),
    maxMemoryPercent: z
      .int()
      .min(30)
      .max(85)
      .default(70)
      .describe("Data may take this much of the requested memory, and never more than 45 % of the limit."),
    resources: resources()
      .optional()
      .describe("From the size when absent; without a memory limit, one that leaves space to rewrite the log."),
    fsync: z.enum(["always", "everysec"]).default("always").describe("everysec may lose a second of work in a crash."),
    failover: redisFailover(),
  }),
  fixedOnceSet("storageClassName"),
);

const redis = withRules(z.strictObject({ bundled: bundledRedis.optional(), external: externalRedis.optional() }), {
  rule: "has(self.bundled) != has(self.external)",
  message: "exactly one of bundled and external must be given",
});

// ── other fields of the spec ───────────────────────────────────────────────────────────────────────

const retention = z.strictObject({
  completedJournal: duration(90).default("24h"),
  idempotency: duration(90).default("24h"),
  workflow: duration(365).default("24h"),
});

const MIB = 1024 * 1024;
const KIB = 1024;

const limits = z.strictObject({
  concurrentInvocations: z.int().min(1).max(1_000_000).optional(),
  requestsPerSecond: z.int().min(1).max(1_000_000).optional(),
  maxBodyBytes: z
    .int()
    .min(KIB)
    .max(64 * MIB)
    .default(10 * MIB),
  maxJournalEntries: z.int().min(100).max(1_000_000).default(10_000),
  deployments: z
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe("Without a bound when absent, as are services and subscriptions."),
  services: z.int().min(0).max(1_000_000).optional(),
  subscriptions: z.int().min(0).max(1_000_000).optional(),
  maxRetention: duration(365).optional().describe("Longest retention of completed invocations; services may request less."),
  actionsPerMonth: z.int().min(1).max(1_000_000_000_000).optional(),
});

/** A peer without any selector would match all peers, so it is refused. */
const peer = withRules(
  z.strictObject({
    ipBlock: z.strictObject({ cidr: text(43), except: list(text(43), 16).optional() }).optional(),
    namespaceSelector: labelSelector().optional(),
    podSelector: labelSelector().optional(),
  }),
  {
    rule: "has(self.ipBlock) ? !has(self.namespaceSelector) && !has(self.podSelector) : has(self.namespaceSelector) || has(self.podSelector)",
    message: "a peer is either an ipBlock or selectors",
  },
);

const egress = z.strictObject({
  mode: z.enum(["public", "allowlist", "open"]).default("public"),
  cidrs: list(withRules(text(43), { rule: "isCIDR(self)", message: "must be a CIDR" }), 64).optional(),
  allow: list(peer, 32).optional(),
});

const network = z.strictObject({
  egress: egress.prefault({}),
  extraIngressPeers: list(peer, 16).optional(),
  disablePolicies: z.boolean().default(false).describe("Only where the operator allows it."),
});

const security = z.strictObject({
  signingKey: z.strictObject({ secretRef: secretRef() }).optional().describe("Created by the operator when absent."),
  trustedCAs: list(secretRef(), 16).optional(),
  serviceAccountAnnotations: map(16, 4096).optional(),
});

const tunnels = z.strictObject({
  proxyUrl: text(300)
    .regex(/^https?:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/)
    .describe("Origin of a relay's proxy."),
  tokenSecretRef: secretRef().describe(
    "Token with which the runtime authenticates at relays, in a Secret of the operator's namespace.",
  ),
});

const hibernation = z.strictObject({
  afterIdle: withRules(duration(365), {
    rule: `${SECONDS_OF_SELF} == 0 || ${SECONDS_OF_SELF} >= 300`,
    message: "must be 0s, which is off, or at least 5m",
  }),
});

const backup = z.strictObject({
  schedule: text(64).optional(),
  keep: z.int().min(1).max(90).default(7),
  restoreFrom: z
    .strictObject({ snapshotId: text(128) })
    .optional()
    .describe("Used only when the environment is created."),
});

const SNAPSHOT_OF = (object: string): string =>
  `(has(${object}.backup) && has(${object}.backup.restoreFrom) ? ${object}.backup.restoreFrom.snapshotId : '')`;

export const environmentSpec = withRules(
  z.strictObject({
    environmentId: withRules(environmentId(), immutable("environmentId")),
    accountId: withRules(text(44).regex(/^acc_[A-Za-z0-9]{8,40}$/), immutable("accountId")),
    region: withRules(region(), immutable("region")),
    version: version().describe("The release of the runtime."),
    channel: z
      .enum(["stable", "fast", "pinned"])
      .default("stable")
      .describe("Pinned: only the spec changes the version. Stable and fast: the operator may upgrade it, too."),
    size: z.enum(["free", "small", "medium", "large", "custom"]).default("small"),
    workers: workers.prefault({}),
    front: front.optional().describe("Front pods, which serve the requests to the environment."),
    redis,
    postgres: z.strictObject({ secretRef: secretRef() }).optional(),
    retention: retention.prefault({}),
    limits: limits.prefault({}),
    network: network.prefault({}),
    security: security.prefault({}),
    tunnels: tunnels.optional().describe("Relays through which services behind tunnels are reached; no tunnels when absent."),
    suspended: z.boolean().default(false).describe("Nothing runs; all data stays."),
    hibernation: hibernation.optional(),
    backup: backup.optional(),
    acceptDataLoss: text(64)
      .regex(/^[0-9A-Za-z]+$/)
      .optional()
      .describe(
        "Mark of what is lost for good, accepted once: of a data set of Redis, as workers log it with STO0005, or of volumes or a signing key, as the conditions DataLost and SigningKeyLost name it.",
      ),
    reclaimPolicy: z.enum(["Retain", "Snapshot", "Delete"]).default("Retain").describe("What becomes of the data."),
    deletionProtection: z.boolean().default(true).describe("Data is deleted only when this is false."),
  }),
  {
    rule: "self.size != 'custom' || has(self.workers.resources)",
    message: "size custom needs workers.resources",
    fieldPath: ".workers",
  },
  {
    rule: `${SNAPSHOT_OF("self")} == ${SNAPSHOT_OF("oldSelf")}`,
    message: "backup.restoreFrom is for new environments only",
  },
);

// ── what the operator reports ────────────────────────────────────────────────────────────────────

export const PHASES = [
  "Pending",
  "Provisioning",
  "Running",
  "Updating",
  "Draining",
  "Hibernated",
  "Suspended",
  "Degraded",
  "Deleting",
] as const;
export type EnvironmentPhase = (typeof PHASES)[number];

const count = () => z.int().min(0).max(1_000_000).optional();
const time = () => z.string().meta({ format: "date-time" }).optional();

const environmentStatus = z.strictObject({
  phase: z.enum(PHASES).optional().describe("Informational; derived from the conditions."),
  observedGeneration: z.int().min(0).optional(),
  conditions: conditions(),
  namespace: text(63).optional(),
  host: text(253).optional(),
  endpoints: z.strictObject({ ingress: text(300).optional(), admin: text(300).optional() }).optional(),
  version: z
    .strictObject({
      current: text(40).optional(),
      target: text(40).optional(),
      history: list(text(40), 5).optional(),
      featureMarkers: list(text(64), 32).optional(),
    })
    .optional(),
  workers: z
    .strictObject({
      replicas: count(),
      ready: count(),
      updated: count(),
      /** `2/3`: ready and expected workers, for the printer column. */
      summary: text(20).optional(),
      selector: text(500).optional(),
      drainingOrdinal: count(),
      drainingSince: time(),
      autoscaler: z.enum(["hpa", "keda"]).optional(),
    })
    .optional(),
  data: z
    .strictObject({
      present: z.boolean().optional(),
      volumeSize: text(20).optional(),
      usedBytes: z.int().min(0).optional(),
      lastSnapshotId: text(128).optional(),
      lastSnapshotTime: time(),
      volumes: listBy("claim", z.strictObject({ claim: text(63), volume: text(253), uid: text(64) }), 8)
        .optional()
        .describe("Volumes that hold the data, with their uids."),
      acceptedLoss: text(64).optional().describe("Mark of the volumes whose loss was accepted last."),
      redisPrimary: redisPrimary(),
    })
    .optional(),
  acceptedDataLoss: z
    .strictObject({ mark: text(64), time: time() })
    .optional()
    .describe("The loss that was accepted last."),
  signingKey: z
    .strictObject({
      publicKeys: list(text(80), 3).optional(),
      fingerprint: text(64).optional().describe("Of the public keys."),
    })
    .optional(),
  redisAuth: z
    .strictObject({
      fingerprint: text(64).optional().describe("Of the password that Redis and the workers run with."),
      rotation: text(256)
        .optional()
        .describe("Value of the annotation perdure.dev/rotate-redis-password that was followed last."),
    })
    .optional(),
  lastActivityTime: time(),
  nextWakeTime: time().describe("When the first timer or schedule is due; it is awake a little earlier."),
  hibernation: z
    .strictObject({
      state: z.enum(["Closing", "Asleep", "Waking"]),
      since: time(),
      /** Generation and wake annotation when the environment hibernated: a change of either wakes it. */
      generation: z.int().min(0).optional(),
      wakeAsked: text(64).optional(),
    })
    .optional(),
});

type EnvironmentSpec = z.output<typeof environmentSpec>;
export type EnvironmentResourceStatus = z.output<typeof environmentStatus>;
export type EnvironmentResource = CustomResource<"Environment", EnvironmentSpec, EnvironmentResourceStatus>;

const isEnvironment = (object: unknown): object is EnvironmentResource => isResource(object, "Environment");
/** Undefined when the object is not an `Environment` (see `isResource`). */
export const parseEnvironment = (object: unknown): EnvironmentResource | undefined =>
  isEnvironment(object) ? object : undefined;

const HAS_DATA = "has(self.status) && has(self.status.data) && has(self.status.data.present) && self.status.data.present";

export const environmentKind: KindSource = {
  kind: "Environment",
  plural: "environments",
  singular: "environment",
  shortNames: ["penv"],
  scope: "Cluster",
  description: "An isolated world of an account: its own partitions, workers, journals and keys.",
  spec: environmentSpec,
  status: environmentStatus,
  rules: [
    {
      rule: "self.metadata.name.matches('^env-[a-z0-9]{8,40}$')",
      message: "the name must be env- and 8 to 40 lower-case letters or digits",
    },
    {
      rule: "'env-' + self.spec.environmentId.substring(4) == self.metadata.name",
      message: "the name must be the environmentId with - instead of _",
    },
    {
      rule: `!(${HAS_DATA}) || has(self.spec.redis.bundled) == has(oldSelf.spec.redis.bundled)`,
      message: "redis cannot change between bundled and external while there is data",
    },
  ],
  columns: [
    { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "Version", type: "string", jsonPath: ".status.version.current" },
    { name: "Workers", type: "string", jsonPath: ".status.workers.summary", description: "ready/wanted" },
    { name: "Size", type: "string", jsonPath: ".spec.size" },
    { name: "Region", type: "string", jsonPath: ".spec.region" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Reason", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].reason", priority: 1 },
    { name: "Redis", type: "string", jsonPath: ".spec.redis.bundled.mode", priority: 1 },
    { name: "Host", type: "string", jsonPath: ".status.host", priority: 1 },
    { name: "Account", type: "string", jsonPath: ".spec.accountId", priority: 1 },
  ],
  scale: {
    specReplicasPath: ".spec.workers.replicas",
    statusReplicasPath: ".status.workers.replicas",
    labelSelectorPath: ".status.workers.selector",
  },
};
