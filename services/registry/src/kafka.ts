/**
 * Kafka clusters and subscriptions as metadata. They are checked when they are created, so that a consumer finds only valid ones
 * (admin-api.md §6, ingress.md §13.1, META0009).
 */
import type { SubscriptionId } from "@perdure/base";
import { type KafkaClusterRecord, type RecordPlace, RegistryRefusal, type SubscriptionRecord } from "@perdure/metadata";
import { KAFKA_CLUSTERS_MAX, SKIPPED_RECORDS_MAX, SUBSCRIPTIONS_MAX } from "./limits.js";
import { deleteKafkaCluster, deleteSubscription, putKafkaCluster, putSubscription } from "./persistence.js";
import type { RegistryState, StateChange, Versioned } from "./state.js";

type ClusterProperties = Readonly<Record<string, string>>;
/** Clusters named in the server's own settings, by name; they take precedence over stored ones and cannot be changed here. */
type StaticClusters = ReadonlyMap<string, KafkaClusterRecord>;

const DEFAULT_CLIENT_ID = "restate";
const URI = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)$/i;

export function findCluster(state: RegistryState, fixed: StaticClusters, name: string): KafkaClusterRecord | undefined {
  return fixed.get(name) ?? state.kafkaClusters.get(name)?.record;
}

export function listClusters(state: RegistryState, fixed: StaticClusters): readonly KafkaClusterRecord[] {
  const stored = [...state.kafkaClusters.values()].map(({ record }) => record).filter(({ name }) => !fixed.has(name));
  return [...fixed.values(), ...stored];
}

export function decideClusterCreation(
  state: RegistryState,
  fixed: StaticClusters,
  name: string,
  properties: ClusterProperties,
  nowMs: number,
): StateChange<KafkaClusterRecord> {
  if (findCluster(state, fixed, name) !== undefined) {
    throw new RegistryRefusal(409, undefined, `kafka cluster '${name}' already exists in schema registry`);
  }
  if (state.kafkaClusters.size >= KAFKA_CLUSTERS_MAX) {
    throw new RegistryRefusal(409, undefined, `there are already ${KAFKA_CLUSTERS_MAX} Kafka clusters`);
  }
  checkProperties(name, properties);
  const record = { name, properties, createdAtMs: nowMs };
  return { writes: [putKafkaCluster(record, undefined)], answer: record };
}

export function decideClusterUpdate(
  state: RegistryState,
  fixed: StaticClusters,
  name: string,
  properties: ClusterProperties,
): StateChange<KafkaClusterRecord> {
  refuseFixed(fixed, name);
  const stored = state.kafkaClusters.get(name);
  if (stored === undefined)
    throw new RegistryRefusal(404, undefined, `not found in the schema registry: kafka cluster '${name}'`);
  checkProperties(name, properties);
  const record = { ...stored.record, properties };
  return { writes: [putKafkaCluster(record, stored)], answer: record };
}

export function decideClusterRemoval(
  state: RegistryState,
  fixed: StaticClusters,
  name: string,
  force: boolean,
): StateChange<undefined> {
  refuseFixed(fixed, name);
  const stored = state.kafkaClusters.get(name);
  if (stored === undefined) {
    throw new RegistryRefusal(404, undefined, `not found in the schema registry: kafka cluster named '${name}'`);
  }
  const orphan = [...state.subscriptions.values()].find(({ record }) => clusterOf(record) === name);
  if (orphan !== undefined && !force) {
    throw new RegistryRefusal(
      409,
      undefined,
      `Removing the kafka cluster '${name}' leads to subscription '${orphan.record.id}' being orphan. ` +
        "Remove the subscription first, or use the 'force' flag.",
    );
  }
  return { writes: [deleteKafkaCluster(stored)], answer: undefined };
}

/** Throws `RegistryRefusal` META0009 unless the cluster exists and the sink is a handler of a latest revision. */
export function decideSubscription(
  state: RegistryState,
  fixed: StaticClusters,
  id: SubscriptionId,
  request: { readonly source: string; readonly sink: string; readonly options: ClusterProperties },
): StateChange<SubscriptionRecord> {
  const source = parseUri("source", request.source, "kafka");
  const cluster = findCluster(state, fixed, source.authority);
  if (cluster === undefined) {
    const names = listClusters(state, fixed).map(({ name }) => JSON.stringify(name));
    throw invalid(`Kafka cluster '${source.authority}' not found. Available clusters: [${names.join(", ")}]`);
  }
  const sink = parseUri("sink", request.sink, "service");
  const handler = sink.path.slice(1);
  const service = state.latest.get(sink.authority)?.revision.definition;
  if (service === undefined || !service.handlers.some(({ name }) => name === handler)) {
    throw invalid(`invalid sink URI '${textOf(sink)}': cannot find service/handler specified in the sink URI.`);
  }
  if (state.subscriptions.size >= SUBSCRIPTIONS_MAX) {
    throw new RegistryRefusal(409, undefined, `there are already ${SUBSCRIPTIONS_MAX} subscriptions`);
  }
  const record = {
    id,
    source: textOf(source),
    sink: textOf(sink),
    options: consumerOptions(id, cluster.properties, request.options),
    paused: false,
    skipped: [],
  };
  return { writes: [putSubscription(record, undefined)], answer: record };
}

export function decidePause(state: RegistryState, id: SubscriptionId, paused: boolean): StateChange<SubscriptionRecord> {
  const stored = requireSubscription(state, id);
  if (stored.record.paused === paused) return { writes: [], answer: stored.record };
  const record = { ...stored.record, paused };
  return { writes: [putSubscription(record, stored)], answer: record };
}

/** A list of positions, because a consumer that restarts reads them again; it has passed the oldest ones long ago. */
export function decideSkip(state: RegistryState, id: SubscriptionId, place: RecordPlace): StateChange<SubscriptionRecord> {
  const stored = requireSubscription(state, id);
  const { skipped } = stored.record;
  const isSkipped = skipped.some(({ partition, offset }) => partition === place.partition && offset === place.offset);
  if (isSkipped) return { writes: [], answer: stored.record };
  const record = { ...stored.record, skipped: [...skipped, place].slice(-SKIPPED_RECORDS_MAX) };
  return { writes: [putSubscription(record, stored)], answer: record };
}

function requireSubscription(state: RegistryState, id: SubscriptionId): Versioned<SubscriptionRecord> {
  const stored = state.subscriptions.get(id);
  if (stored === undefined) {
    throw new RegistryRefusal(404, undefined, `not found in the schema registry: subscription with id '${id}'`);
  }
  return stored;
}

export function decideSubscriptionRemoval(state: RegistryState, id: SubscriptionId): StateChange<undefined> {
  const stored = requireSubscription(state, id);
  return { writes: [deleteSubscription(stored)], answer: undefined };
}

/** Returns the options of the consumer. The subscription's id is the group, or it would share its offsets with others. */
function consumerOptions(id: SubscriptionId, cluster: ClusterProperties, given: ClusterProperties): ClusterProperties {
  const options: Record<string, string> = { ...given };
  options["group.id"] = given["group.id"] ?? cluster["group.id"] ?? id;
  if (given["client.id"] === undefined && cluster["client.id"] === undefined) options["client.id"] = DEFAULT_CLIENT_ID;
  return options;
}

function checkProperties(name: string, properties: ClusterProperties): void {
  if (properties["bootstrap.servers"] !== undefined || properties["metadata.broker.list"] !== undefined) return;
  throw new RegistryRefusal(
    400,
    undefined,
    `kafka cluster '${name}' properties must contain either 'bootstrap.servers' or 'metadata.broker.list'`,
  );
}

function refuseFixed(fixed: StaticClusters, name: string): void {
  if (!fixed.has(name)) return;
  throw new RegistryRefusal(
    409,
    undefined,
    `kafka cluster '${name}' is part of the server's settings and cannot be changed here`,
  );
}

function clusterOf(subscription: SubscriptionRecord): string | undefined {
  return URI.exec(subscription.source)?.[2];
}

interface ParsedUri {
  readonly scheme: string;
  readonly authority: string;
  /** Path with its leading slash. */
  readonly path: string;
}

function parseUri(field: "source" | "sink", text: string, scheme: string): ParsedUri {
  const match = URI.exec(text);
  if (match === null || match[1]?.toLowerCase() !== scheme) {
    throw invalid(`invalid ${field} URI '${text}': must have a scheme segment, with supported schemes: [${scheme}].`);
  }
  return { scheme, authority: match[2] ?? "", path: match[3] === "" || match[3] === undefined ? "/" : match[3] };
}

function textOf({ scheme, authority, path }: ParsedUri): string {
  return `${scheme}://${authority}${path}`;
}

function invalid(detail: string): RegistryRefusal {
  return new RegistryRefusal(400, "META0009", detail);
}
