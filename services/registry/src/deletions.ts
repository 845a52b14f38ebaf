/**
 * Copies of deleted deployments, Kafka clusters, subscriptions to topics and to events, and rules. Restoring one writes the records and marks the copy in one write, so that a
 * deletion is undone once whatever crashes; what is newer than the deletion is never replaced.
 */
import type { DeploymentId, OperationId } from "@perdure/base";
import {
  type DeploymentRecord,
  type Document,
  deletedKey,
  type EventSubscriptionRecord,
  type KafkaClusterRecord,
  type MetadataStore,
  RegistryRefusal,
  type RestoreOutcome,
  type RuleRecord,
  type SubscriptionRecord,
} from "@perdure/metadata";
import { z } from "zod";
import { addressText, identityOf, type Sameness } from "./address.js";
import { receivesEvents } from "./event-subscriptions.js";
import { findCluster } from "./kafka.js";
import { DEPLOYMENTS_MAX, EVENT_SUBSCRIPTIONS_MAX, KAFKA_CLUSTERS_MAX, RULES_MAX } from "./limits.js";
import { putDeployment, putEventSubscription, putKafkaCluster, putRuleBook, putSubscription } from "./persistence.js";
import type { RegistryState, StateChange } from "./state.js";
import { StoredDeployment, StoredEventSubscription, StoredKafkaCluster, StoredRule, StoredSubscription } from "./stored.js";

const RESTORED = Object.freeze({ kind: "restored" as const });

const StoredCopy = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("deployment"), record: StoredDeployment }),
  z.object({ kind: z.literal("subscription"), record: StoredSubscription }),
  z.object({ kind: z.literal("kafkaCluster"), record: StoredKafkaCluster }),
  z.object({ kind: z.literal("eventSubscription"), record: StoredEventSubscription }),
  z.object({ kind: z.literal("rules"), rules: z.array(StoredRule) }),
  z.object({ kind: z.literal("restored") }),
]);
type DeletedCopy = z.infer<typeof StoredCopy>;

/** The change, with a copy of what it deletes. */
export function withCopy<T>(change: StateChange<T>, operation: OperationId | undefined, copy: DeletedCopy): StateChange<T> {
  if (operation === undefined || change.writes.length === 0) return change;
  const kept = { kind: "put", key: deletedKey(operation), value: copy, expectedVersion: 0 } as const;
  return { ...change, writes: [...change.writes, kept] };
}

/** The removal of a deployment, with its copy. */
export function withDeployment(
  state: RegistryState,
  id: DeploymentId,
  undo: OperationId | undefined,
  removal: StateChange<undefined>,
): StateChange<undefined> {
  const record = state.deployments.get(id)?.record;
  return record === undefined ? removal : withCopy(removal, undo, { kind: "deployment", record });
}

/** Marks the copy, whose contents are no longer needed. */
export function markRestored({ key, version }: Document) {
  return { kind: "put", key, value: RESTORED, expectedVersion: version } as const;
}

/** Undefined when the document is not a copy of this store and version. */
export function copyOf({ value }: Document): DeletedCopy | undefined {
  const parsed = StoredCopy.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

export interface RestoreContext {
  readonly nowMs: number;
  readonly sameness: Sameness;
  readonly fixedClusters: ReadonlyMap<string, KafkaClusterRecord>;
}

/**
 * Restores a copy once. Another request may restore it at the same time: then this one is a repetition, whatever it meets. `copyIn`
 * returns undefined for copies of another store.
 */
export async function restoreOnce<Copy extends { readonly kind: string }>(
  metadata: Pick<MetadataStore, "get">,
  operation: OperationId,
  copyIn: (document: Document) => Copy | undefined,
  restore: (copy: Exclude<Copy, { readonly kind: "restored" }>, document: Document) => Promise<unknown>,
): Promise<RestoreOutcome> {
  const document = await metadata.get(deletedKey(operation));
  const copy = document && copyIn(document);
  if (document === undefined || copy === undefined) return "notKept";
  if (!isContents(copy)) return "alreadyRestored";
  try {
    await restore(copy, document);
    return "restored";
  } catch (cause) {
    const now = await metadata.get(deletedKey(operation));
    if (now !== undefined && copyIn(now)?.kind === "restored") return "alreadyRestored";
    throw cause;
  }
}

function isContents<Copy extends { readonly kind: string }>(copy: Copy): copy is Exclude<Copy, { readonly kind: "restored" }> {
  return copy.kind !== "restored";
}

/** Throws `RegistryRefusal` 409 when something newer is in the way. */
export function decideRestoration(
  state: RegistryState,
  document: Document,
  copy: Exclude<DeletedCopy, typeof RESTORED>,
  context: RestoreContext,
): StateChange<"restored"> {
  const mark = markRestored(document);
  switch (copy.kind) {
    case "deployment":
      return { writes: [deploymentPut(state, copy.record, context), mark], answer: "restored" };
    case "subscription":
      return { writes: [subscriptionPut(state, copy.record, context), mark], answer: "restored" };
    case "kafkaCluster":
      return { writes: [clusterPut(state, copy.record, context), mark], answer: "restored" };
    case "eventSubscription":
      return { writes: [eventSubscriptionPut(state, copy.record), mark], answer: "restored" };
    case "rules":
      return { writes: [rulesPut(state, copy.rules, context), mark], answer: "restored" };
  }
}

function deploymentPut(state: RegistryState, record: DeploymentRecord, { sameness }: RestoreContext) {
  const identity = identityOf(record.address, record.additionalHeaders, sameness);
  for (const { record: other } of state.deployments.values()) {
    if (other.id === record.id || identityOf(other.address, other.additionalHeaders, sameness) === identity) {
      throw inTheWay(`the destination '${addressText(record.address)}' is registered again, as deployment ${other.id}`);
    }
    for (const { definition, revision } of record.services) {
      const isOccupied = other.services.some((each) => each.definition.name === definition.name && each.revision === revision);
      if (isOccupied) throw inTheWay(`deployment ${other.id} has revision ${revision} of the service '${definition.name}' now`);
    }
  }
  if (state.deployments.size >= DEPLOYMENTS_MAX) throw inTheWay(`there are already ${DEPLOYMENTS_MAX} deployments`);
  return putDeployment(record, undefined);
}

function subscriptionPut(state: RegistryState, record: SubscriptionRecord, { fixedClusters }: RestoreContext) {
  const [, , cluster = ""] = record.source.split("/");
  if (findCluster(state, fixedClusters, cluster) === undefined) throw inTheWay(`the Kafka cluster '${cluster}' was removed`);
  if (state.subscriptions.has(record.id)) throw inTheWay(`the subscription '${record.id}' exists`);
  return putSubscription(record, undefined);
}

function clusterPut(state: RegistryState, record: KafkaClusterRecord, { fixedClusters }: RestoreContext) {
  const { name } = record;
  if (findCluster(state, fixedClusters, name) !== undefined) throw inTheWay(`there is a Kafka cluster '${name}' again`);
  if (state.kafkaClusters.size >= KAFKA_CLUSTERS_MAX) throw inTheWay(`there are already ${KAFKA_CLUSTERS_MAX} Kafka clusters`);
  return putKafkaCluster(record, undefined);
}

function eventSubscriptionPut(state: RegistryState, record: EventSubscriptionRecord) {
  const { id, target, webhook } = record;
  if (state.eventSubscriptions.has(id)) throw inTheWay(`the event subscription '${id}' exists`);
  if (state.eventSubscriptions.size >= EVENT_SUBSCRIPTIONS_MAX)
    throw inTheWay(`there are already ${EVENT_SUBSCRIPTIONS_MAX} event subscriptions`);
  if (webhook === undefined && !receivesEvents(state, target))
    throw inTheWay(`its handler '${target.service}/${target.handler}' cannot receive events any more`);
  return putEventSubscription(record, undefined);
}

function rulesPut({ ruleBook }: RegistryState, deleted: readonly RuleRecord[], { nowMs }: RestoreContext) {
  const book = ruleBook.record;
  const present = deleted.find(({ pattern }) => book.rules.some((rule) => rule.pattern === pattern));
  if (present !== undefined) throw inTheWay(`there is a rule for the pattern '${present.pattern}' again`);
  if (book.rules.length + deleted.length > RULES_MAX) throw inTheWay(`there can be at most ${RULES_MAX} rules`);
  const version = book.version + 1;
  const restored = deleted.map((rule) => ({ ...rule, version, lastModifiedMs: nowMs }));
  return putRuleBook({ version, rules: [...book.rules, ...restored] }, ruleBook);
}

function inTheWay(detail: string): RegistryRefusal {
  return new RegistryRefusal(409, undefined, detail);
}
