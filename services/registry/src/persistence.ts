/**
 * Why: the registry's documents: under which keys they are, how they become state, and how written ones change it. A stored
 * document that is not what we wrote is META0005, because serving half of the registry would be worse than not starting.
 */
import { type DeploymentId, PerdureError, type SubscriptionId } from "@perdure/base";
import type {
  DeploymentRecord,
  Document,
  DocumentWrite,
  Json,
  KafkaClusterRecord,
  MetadataStore,
  SubscriptionRecord,
} from "@perdure/metadata";
import { EMPTY_RULE_BOOK, type RegistryState, type RuleBook, type StateTables, type Stored, stateOf } from "./state.js";
import { StoredDeployment, StoredKafkaCluster, StoredRuleBook, StoredSubscription } from "./stored.js";

const PREFIX = "registry/";
const DEPLOYMENT = `${PREFIX}deployment/`;
const KAFKA_CLUSTER = `${PREFIX}kafka-cluster/`;
const SUBSCRIPTION = `${PREFIX}subscription/`;
const RULE_BOOK = `${PREFIX}rule-book`;

/** Everything stored. Rejects with META0005 when a document is damaged, with the store's error when it fails. */
export async function loadState(store: MetadataStore): Promise<RegistryState> {
  let documents: readonly Document[];
  try {
    documents = await store.list(PREFIX);
  } catch (cause) {
    if (cause instanceof PerdureError && cause.code === "STO0003") throw new PerdureError("META0005", cause.detail, { cause });
    throw cause;
  }
  const tables = mutableTables();
  for (const document of documents) place(tables, document.key, { version: document.version, record: document.value });
  return stateOf(tables);
}

/** The state after `writes` became durable as `version`. */
export function withWrites(state: RegistryState, writes: readonly DocumentWrite[], version: number): RegistryState {
  const tables = mutableTables(state);
  for (const write of writes) {
    if (write.kind === "put") place(tables, write.key, { version, record: write.value });
    else remove(tables, write.key);
  }
  return stateOf(tables);
}

export function putDeployment(record: DeploymentRecord, previous: Stored<DeploymentRecord> | undefined): DocumentWrite {
  return put(DEPLOYMENT + record.id, record, previous);
}
export function deleteDeployment(previous: Stored<DeploymentRecord>): DocumentWrite {
  return { kind: "delete", key: DEPLOYMENT + previous.record.id, expectedVersion: previous.version };
}
export function putKafkaCluster(record: KafkaClusterRecord, previous: Stored<KafkaClusterRecord> | undefined): DocumentWrite {
  return put(KAFKA_CLUSTER + record.name, record, previous);
}
export function deleteKafkaCluster(previous: Stored<KafkaClusterRecord>): DocumentWrite {
  return { kind: "delete", key: KAFKA_CLUSTER + previous.record.name, expectedVersion: previous.version };
}
export function putSubscription(record: SubscriptionRecord): DocumentWrite {
  return put(SUBSCRIPTION + record.id, record, undefined);
}
export function deleteSubscription(previous: Stored<SubscriptionRecord>): DocumentWrite {
  return { kind: "delete", key: SUBSCRIPTION + previous.record.id, expectedVersion: previous.version };
}
export function putRuleBook(book: RuleBook, previous: Stored<RuleBook>): DocumentWrite {
  return put(RULE_BOOK, book, previous);
}

function put(key: string, record: object, previous: Stored<object> | undefined): DocumentWrite {
  return { kind: "put", key, value: record as unknown as Json, expectedVersion: previous?.version ?? 0 };
}

type MutableTables = {
  -readonly [K in keyof StateTables]: StateTables[K] extends ReadonlyMap<infer A, infer B> ? Map<A, B> : StateTables[K];
};

function mutableTables(state?: RegistryState): MutableTables {
  return {
    deployments: new Map(state?.deployments),
    kafkaClusters: new Map(state?.kafkaClusters),
    subscriptions: new Map(state?.subscriptions),
    ruleBook: state?.ruleBook ?? EMPTY_RULE_BOOK,
  };
}

function place(tables: MutableTables, key: string, { version, record }: Stored<unknown>): void {
  if (key.startsWith(DEPLOYMENT)) {
    const checked = check(key, StoredDeployment, record);
    tables.deployments.set(checked.id, { version, record: checked });
  } else if (key.startsWith(KAFKA_CLUSTER)) {
    const checked = check(key, StoredKafkaCluster, record);
    tables.kafkaClusters.set(checked.name, { version, record: checked });
  } else if (key.startsWith(SUBSCRIPTION)) {
    const checked = check(key, StoredSubscription, record);
    tables.subscriptions.set(checked.id, { version, record: checked });
  } else if (key === RULE_BOOK) {
    tables.ruleBook = { version, record: check(key, StoredRuleBook, record) };
  } else {
    throw new PerdureError("META0005", `the metadata document '${key}' is of no kind this version knows`);
  }
}

function remove(tables: MutableTables, key: string): void {
  if (key.startsWith(DEPLOYMENT)) tables.deployments.delete(key.slice(DEPLOYMENT.length) as DeploymentId);
  else if (key.startsWith(KAFKA_CLUSTER)) tables.kafkaClusters.delete(key.slice(KAFKA_CLUSTER.length));
  else if (key.startsWith(SUBSCRIPTION)) tables.subscriptions.delete(key.slice(SUBSCRIPTION.length) as SubscriptionId);
}

type Checker<T> = { safeParse(value: unknown): { success: true; data: T } | { success: false; error: { message: string } } };

function check<T>(key: string, schema: Checker<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PerdureError("META0005", `the metadata document '${key}' is damaged: ${parsed.error.message}`);
}
