/** Every setting of the registry that it shares with others, with its sentence, unit and default. */
import {
  attemptSettings,
  custom,
  group,
  inlineTable,
  type RetentionSettings,
  retentionSettings,
  retryPolicyOf,
} from "@perdure/role";
import { z } from "zod";
import { SERVICE_DEFAULTS, type ServiceDefaults } from "./defaults.js";

/** As in a Kafka client's configuration: any further property is kept as it is. */
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

/** Setting `kafka-clusters` of the group `ingress`, where the reference has it. */
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

/** What services get unless they say otherwise; members of the group `worker`, as workers have them too. */
export const retentionDefaults = retentionSettings;
export const attemptDefaultsGroup = group("Attempts: the streams to user endpoints.", attemptSettings);

/** Of settings that have `retentionDefaults` and, as `invoker`, `attemptSettings`. */
export function serviceDefaultsOf(
  worker: RetentionSettings & { readonly invoker: z.output<typeof attemptDefaultsGroup> },
): ServiceDefaults {
  return {
    ...SERVICE_DEFAULTS,
    journalRetentionMs: worker.defaultJournalRetention,
    journalRetentionMaxMs: worker.maxJournalRetention,
    inactivityTimeoutMs: worker.invoker.inactivityTimeout,
    abortTimeoutMs: worker.invoker.abortTimeout,
    retryPolicy: retryPolicyOf(worker.invoker),
    maxAttemptsMax: worker.invoker.maxRetryPolicyMaxAttempts,
  };
}
