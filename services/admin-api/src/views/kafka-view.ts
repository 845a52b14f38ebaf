/** Kafka clusters and subscriptions as JSON. Secrets are never part of an answer. */
import { formatTimestampNanos } from "@perdure/base";
import type { KafkaClusterRecord, SubscriptionRecord } from "@perdure/metadata";
import { z } from "zod";
import { TextMapShape, TimeShape } from "./service-shape.js";

const clusterFields = { name: z.string(), properties: TextMapShape, created_at: TimeShape };

export const SubscriptionShape = z
  .strictObject({ id: z.string(), source: z.string(), sink: z.string(), options: TextMapShape })
  .meta({ id: "SubscriptionResponse" });
export const ClusterShape = z.strictObject(clusterFields).meta({ id: "SimpleKafkaClusterResponse" });
export const ClusterWithSubscriptionsShape = z
  .strictObject({ ...clusterFields, subscriptions: z.array(SubscriptionShape) })
  .meta({ id: "KafkaClusterResponse" });

const REDACTED = "***";
/** Parts of property names whose values are secrets, or locations of secrets. */
const SECRET_PARTS = [
  "password",
  "secret",
  "passphrase",
  "sasl.username",
  "sasl.jaas.config",
  "sasl.oauthbearer.config",
  "sasl.oauthbearer.assertion.private.key",
  "token.endpoint.url",
  "ssl.key.location",
  "ssl.key.pem",
  "keystore.location",
  "truststore.location",
];

export function clusterView({ name, properties, createdAtMs }: KafkaClusterRecord) {
  const shown = Object.entries(properties).map(([key, value]) => [key, isSecret(key) ? REDACTED : value]);
  return { name, properties: Object.fromEntries(shown), created_at: formatTimestampNanos(createdAtMs) };
}

export function subscriptionView({ id, source, sink, options }: SubscriptionRecord) {
  return { id, source, sink, options };
}

/** Clients read, edit and write back the whole map; a masked value that comes back keeps the stored one. */
export function withStoredSecrets(
  next: Readonly<Record<string, string>>,
  stored: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [name, value === REDACTED && isSecret(name) ? (stored[name] ?? value) : value]),
  );
}

function isSecret(name: string): boolean {
  const lower = name.toLowerCase();
  return SECRET_PARTS.some((part) => lower.includes(part));
}
