/** Kafka clusters and subscriptions as JSON. Secrets are never part of an answer. */
import type { ClusterShape, SubscriptionShape } from "@perdure/admin-contract";
import { formatTimestampNanos } from "@perdure/base";
import type { KafkaClusterRecord, SubscriptionRecord } from "@perdure/metadata";
import type { ViewOf } from "./response.js";

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

export function clusterView({ name, properties, createdAtMs }: KafkaClusterRecord): ViewOf<typeof ClusterShape> {
  const shown = Object.entries(properties).map(([key, value]) => [key, isSecret(key) ? REDACTED : value]);
  return { name, properties: Object.fromEntries(shown), created_at: formatTimestampNanos(createdAtMs) };
}

export function subscriptionView({ id, source, sink, options }: SubscriptionRecord): ViewOf<typeof SubscriptionShape> {
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
