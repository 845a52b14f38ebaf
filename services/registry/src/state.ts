/**
 * The registry as one immutable value. Decisions are functions from it to documents to write, so that a decision can be repeated after a
 * conflict with another process. Derived data (the latest revision of each service) is computed here.
 */
import type { DeploymentId, EventSubscriptionId, SubscriptionId } from "@perdure/base";
import type {
  DeploymentRecord,
  DocumentWrite,
  EventSubscriptionRecord,
  KafkaClusterRecord,
  LocatedRevision,
  RuleRecord,
  SubscriptionRecord,
} from "@perdure/metadata";

/** A record with the version of its document. */
export interface Versioned<T> {
  readonly version: number;
  readonly record: T;
}

/** All rules are one document, because they share a counter. */
export interface RuleDocument {
  /** Number of writes that changed a rule. */
  readonly version: number;
  readonly rules: readonly RuleRecord[];
}

export interface RegistryState {
  /** Oldest first. */
  readonly deployments: ReadonlyMap<DeploymentId, Versioned<DeploymentRecord>>;
  readonly kafkaClusters: ReadonlyMap<string, Versioned<KafkaClusterRecord>>;
  readonly subscriptions: ReadonlyMap<SubscriptionId, Versioned<SubscriptionRecord>>;
  readonly eventSubscriptions: ReadonlyMap<EventSubscriptionId, Versioned<EventSubscriptionRecord>>;
  /** Version 0 until a rule is stored. */
  readonly ruleBook: Versioned<RuleDocument>;
  /** The highest revision of each service that a deployment serves. */
  readonly latest: ReadonlyMap<string, LocatedRevision>;
}

export type StateTables = Omit<RegistryState, "latest">;

/** The documents that a decision writes, and the result for its caller once they are durable. */
export interface StateChange<T> {
  readonly writes: readonly DocumentWrite[];
  readonly answer: T;
}

export const EMPTY_RULE_BOOK: Versioned<RuleDocument> = { version: 0, record: { version: 0, rules: [] } };

/** Adds derived data; deployments come in any order. */
export function stateOf(tables: StateTables): RegistryState {
  const ordered = [...tables.deployments.values()].sort(
    ({ record: a }, { record: b }) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1),
  );
  const latest = new Map<string, LocatedRevision>();
  for (const { record } of ordered) {
    for (const revision of record.services) {
      const name = revision.definition.name;
      const newest = latest.get(name);
      if (newest === undefined || newest.revision.revision < revision.revision)
        latest.set(name, { deployment: record, revision });
    }
  }
  return { ...tables, deployments: new Map(ordered.map((stored) => [stored.record.id, stored])), latest };
}

/** The revision number a new registration of the service gets. */
export function nextRevision(state: RegistryState, service: string): number {
  return (state.latest.get(service)?.revision.revision ?? 0) + 1;
}

/** Whether both states have the same documents. */
export function isSameState(one: StateTables, other: StateTables): boolean {
  return (
    one.ruleBook.version === other.ruleBook.version &&
    isSameTable(one.deployments, other.deployments) &&
    isSameTable(one.kafkaClusters, other.kafkaClusters) &&
    isSameTable(one.subscriptions, other.subscriptions) &&
    isSameTable(one.eventSubscriptions, other.eventSubscriptions)
  );
}

function isSameTable<K>(one: ReadonlyMap<K, Versioned<unknown>>, other: ReadonlyMap<K, Versioned<unknown>>): boolean {
  if (one.size !== other.size) return false;
  for (const [key, { version }] of one) if (other.get(key)?.version !== version) return false;
  return true;
}
