/** Every setting that the registry shares with other roles, with its sentence, unit and default. */
import {
  attemptSettings,
  custom,
  group,
  inlineTable,
  optionalDuration,
  optionalInteger,
  type RetentionSettings,
  retentionSettings,
  retryPolicyOf,
} from "@perdure/process-kit";
import { z } from "zod";
import { SERVICE_DEFAULTS, type ServiceDefaults } from "./defaults.js";
import type { PlanBounds } from "./plan-bounds.js";

/** Shape of the Kafka clusters: each has the properties of a Kafka client's configuration, and unknown properties are kept unchanged. */
const kafkaClusterList = z
  .array(
    z
      .object({ name: z.string().min(1), brokers: z.array(z.string().min(1)).min(1) })
      .catchall(z.union([z.string(), z.number(), z.boolean()])),
  )
  .refine((list) => new Set(list.map((cluster) => cluster.name)).size === list.length, "has two clusters of one name")
  .prefault([]);
type KafkaCluster = z.output<typeof kafkaClusterList>[number];

const SECRET_PROPERTY = /password|secret|passphrase|sasl\.username|sasl\.jaas\.config|token|\.key\.pem|\.key\.location/i;

function showKafkaClusters(clusters: readonly KafkaCluster[]): string {
  const masked = (cluster: KafkaCluster) =>
    Object.entries(cluster).map(([name, value]) => [name, SECRET_PROPERTY.test(name) ? "***" : value] as const);
  return `[${clusters.map((cluster) => inlineTable(masked(cluster))).join(", ")}]`;
}

/** Setting `kafka-clusters` of the group `ingress`, as in the reference. */
export const kafkaClustersSetting = custom(kafkaClusterList, {
  sentence: "Kafka clusters that subscriptions may read from: name, brokers, and further properties of the Kafka client.",
  show: showKafkaClusters,
});

/** Kafka clusters by name, in the form of a Kafka client's properties. */
export function kafkaClustersOf(clusters: readonly KafkaCluster[]): ReadonlyMap<string, Readonly<Record<string, string>>> {
  return new Map(
    clusters.map(({ name, brokers, ...properties }) => [
      name,
      {
        "bootstrap.servers": brokers.join(","),
        ...Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, String(value)])),
      },
    ]),
  );
}

/** Defaults of services; members of the group `worker`, as workers have them too. */
export const retentionDefaults = retentionSettings;
export const attemptDefaultsGroup = group("Attempts: the streams to user endpoints.", attemptSettings);

/** Members of the group `limits`; an unset member is unlimited. */
export const planLimitSettings = {
  deployments: optionalInteger({ sentence: "Deployments; registering one more is refused with TEN0002.", min: 0 }),
  services: optionalInteger({ sentence: "Services of all deployments; one more is refused with TEN0002.", min: 0 }),
  subscriptions: optionalInteger({ sentence: "Kafka subscriptions; one more is refused with TEN0002.", min: 0 }),
  retention: optionalDuration({
    sentence: "Upper bound of all retentions of completed invocations, whatever services request (duration).",
  }),
} as const;

interface PlanLimits {
  readonly deployments?: number | undefined;
  readonly services?: number | undefined;
  readonly subscriptions?: number | undefined;
}

/** The values of `planLimitSettings`, as numbers. */
export function planBoundsOf({ deployments, services, subscriptions }: PlanLimits): PlanBounds {
  return { deploymentsMax: deployments, servicesMax: services, subscriptionsMax: subscriptions };
}

/** Returns the defaults of services from settings that have `retentionDefaults` and, as `invoker`, `attemptSettings`. */
export function serviceDefaultsOf(
  worker: RetentionSettings & { readonly invoker: z.output<typeof attemptDefaultsGroup> },
): ServiceDefaults {
  return {
    ...SERVICE_DEFAULTS,
    journalRetentionMs: worker.defaultJournalRetention,
    idempotencyRetentionMs: worker.defaultIdempotencyRetention,
    workflowRetentionMs: worker.defaultWorkflowRetention,
    journalRetentionMaxMs: worker.maxJournalRetention,
    inactivityTimeoutMs: worker.invoker.inactivityTimeout,
    abortTimeoutMs: worker.invoker.abortTimeout,
    retryPolicy: retryPolicyOf(worker.invoker),
    maxAttemptsMax: worker.invoker.maxRetryPolicyMaxAttempts,
  };
}
