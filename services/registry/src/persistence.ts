/**
 * The registry's documents: their keys, their conversion to state, and how written documents change the state. A malformed stored
 * document is META0005, because serving half of the registry would be worse than not starting.
 */
import { type Parsed, PerdureError, parseDeploymentId, parseEventSubscriptionId, parseSubscriptionId } from "@perdure/base";
import type {
  DeploymentRecord,
  Document,
  DocumentWrite,
  EventSubscriptionRecord,
  KafkaClusterRecord,
  MetadataStore,
  SubscriptionRecord,
} from "@perdure/metadata";
import { EMPTY_RULE_BOOK, type RegistryState, type RuleDocument, type StateTables, stateOf, type Versioned } from "./state.js";
import { StoredDeployment, StoredEventSubscription, StoredKafkaCluster, StoredRuleBook, StoredSubscription } from "./stored.js";

/** Prefix of all keys of the registry's own documents. */
export const REGISTRY_PREFIX = "registry/";
const DEPLOYMENT = `${REGISTRY_PREFIX}deployment/`;
const KAFKA_CLUSTER = `${REGISTRY_PREFIX}kafka-cluster/`;
const SUBSCRIPTION = `${REGISTRY_PREFIX}subscription/`;
const EVENT_SUBSCRIPTION = `${REGISTRY_PREFIX}event-subscription/`;
const RULE_BOOK = `${REGISTRY_PREFIX}rule-book`;

/** Loads all stored documents. Rejects with META0005 when a document is damaged, with the store's error when it fails. */
export async function loadState(store: MetadataStore): Promise<RegistryState> {
  let documents: readonly Document[];
  try {
    documents = await store.list(REGISTRY_PREFIX);
  } catch (cause) {
    if (cause instanceof PerdureError && cause.code === "STO0003") throw new PerdureError("META0005", cause.detail, { cause });
    throw cause;
  }
  const tables = mutableTables();
  for (const document of documents) place(tables, checked, document.key, document.version, document.value);
  return stateOf(tables);
}

/** The state after `writes` became durable as `version`. */
export function withWrites(state: RegistryState, writes: readonly DocumentWrite[], version: number): RegistryState {
  const tables = mutableTables(state);
  for (const write of writes) {
    if (!write.key.startsWith(REGISTRY_PREFIX)) continue; // Copies of what was deleted.
    if (write.kind === "put") place(tables, trusted, write.key, version, write.value);
    else remove(tables, write.key);
  }
  return stateOf(tables);
}

export function putDeployment(record: DeploymentRecord, previous: Versioned<DeploymentRecord> | undefined): DocumentWrite {
  return put(DEPLOYMENT + record.id, record, previous);
}
export function deleteDeployment(previous: Versioned<DeploymentRecord>): DocumentWrite {
  return { kind: "delete", key: DEPLOYMENT + previous.record.id, expectedVersion: previous.version };
}
export function putKafkaCluster(record: KafkaClusterRecord, previous: Versioned<KafkaClusterRecord> | undefined): DocumentWrite {
  return put(KAFKA_CLUSTER + record.name, record, previous);
}
export function deleteKafkaCluster(previous: Versioned<KafkaClusterRecord>): DocumentWrite {
  return { kind: "delete", key: KAFKA_CLUSTER + previous.record.name, expectedVersion: previous.version };
}
export function putSubscription(record: SubscriptionRecord, previous: Versioned<SubscriptionRecord> | undefined): DocumentWrite {
  return put(SUBSCRIPTION + record.id, record, previous);
}
export function deleteSubscription(previous: Versioned<SubscriptionRecord>): DocumentWrite {
  return { kind: "delete", key: SUBSCRIPTION + previous.record.id, expectedVersion: previous.version };
}
export function putEventSubscription(
  record: EventSubscriptionRecord,
  previous: Versioned<EventSubscriptionRecord> | undefined,
): DocumentWrite {
  return put(EVENT_SUBSCRIPTION + record.id, record, previous);
}
export function deleteEventSubscription(previous: Versioned<EventSubscriptionRecord>): DocumentWrite {
  return { kind: "delete", key: EVENT_SUBSCRIPTION + previous.record.id, expectedVersion: previous.version };
}
export function putRuleBook(book: RuleDocument, previous: Versioned<RuleDocument>): DocumentWrite {
  return put(RULE_BOOK, book, previous);
}

function put(key: string, record: object, previous: Versioned<object> | undefined): DocumentWrite {
  return { kind: "put", key, value: record, expectedVersion: previous?.version ?? 0 };
}

type MutableTables = {
  -readonly [K in keyof StateTables]: StateTables[K] extends ReadonlyMap<infer A, infer B> ? Map<A, B> : StateTables[K];
};

function mutableTables(state?: RegistryState): MutableTables {
  return {
    deployments: new Map(state?.deployments),
    kafkaClusters: new Map(state?.kafkaClusters),
    subscriptions: new Map(state?.subscriptions),
    eventSubscriptions: new Map(state?.eventSubscriptions),
    ruleBook: state?.ruleBook ?? EMPTY_RULE_BOOK,
  };
}

/** Documents that this process wrote are trusted; documents from storage are checked first. */
type DocumentReader = <T>(key: string, schema: DocumentSchema<T>, value: unknown) => T;
const trusted: DocumentReader = <T>(_key: string, _schema: DocumentSchema<T>, value: unknown) => value as T;

function place(tables: MutableTables, read: DocumentReader, key: string, version: number, value: unknown): void {
  if (key.startsWith(DEPLOYMENT)) {
    const record = read(key, StoredDeployment, value);
    tables.deployments.set(record.id, { version, record });
  } else if (key.startsWith(KAFKA_CLUSTER)) {
    const record = read(key, StoredKafkaCluster, value);
    tables.kafkaClusters.set(record.name, { version, record });
  } else if (key.startsWith(SUBSCRIPTION)) {
    const record = read(key, StoredSubscription, value);
    tables.subscriptions.set(record.id, { version, record });
  } else if (key.startsWith(EVENT_SUBSCRIPTION)) {
    const record = read(key, StoredEventSubscription, value);
    tables.eventSubscriptions.set(record.id, { version, record });
  } else if (key === RULE_BOOK) {
    tables.ruleBook = { version, record: read(key, StoredRuleBook, value) };
  } else {
    throw new PerdureError("META0005", `the metadata document '${key}' is of a kind that this version does not support`);
  }
}

function remove(tables: MutableTables, key: string): void {
  if (key.startsWith(DEPLOYMENT)) removeRecord(tables.deployments, parseDeploymentId(key.slice(DEPLOYMENT.length)));
  else if (key.startsWith(KAFKA_CLUSTER)) tables.kafkaClusters.delete(key.slice(KAFKA_CLUSTER.length));
  else if (key.startsWith(SUBSCRIPTION)) removeRecord(tables.subscriptions, parseSubscriptionId(key.slice(SUBSCRIPTION.length)));
  else if (key.startsWith(EVENT_SUBSCRIPTION))
    removeRecord(tables.eventSubscriptions, parseEventSubscriptionId(key.slice(EVENT_SUBSCRIPTION.length)));
}

function removeRecord<Id>(records: Map<Id, unknown>, id: Parsed<Id>): void {
  if (id.ok) records.delete(id.value);
}

type DocumentSchema<T> = {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { message: string } };
};

function checked<T>(key: string, schema: DocumentSchema<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PerdureError("META0005", `the metadata document '${key}' is damaged: ${parsed.error.message}`);
}
