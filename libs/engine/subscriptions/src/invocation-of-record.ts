/**
 * Converts a record to an invocation (ingress.md §13.2): the value is the argument, the key of a keyed service is the record's, and
 * headers give its origin. All of it follows from the record's place in its topic, so that a record which is read again after a crash
 * reaches the same partition under the same number and is deduplicated there.
 */
import {
  fromUtf8,
  hashBucket,
  idempotentInvocationId,
  limitKeyProblem,
  type SubscriptionId,
  scopeProblem,
  workflowInvocationId,
} from "@perdure/base";
import { type RegistrySnapshot, retentionsOf } from "@perdure/control";
import type { SubscriptionRecord } from "@perdure/metadata";
import { encodeInput, type Header } from "@perdure/service-protocol";
import { type Invoke, PRIORITY_DEFAULT, type Target } from "@perdure/state-machine";
import type { SourceRecord } from "./ports.js";

/**
 * A record cannot become an invocation, for the given reason: it stops its topic partition until it can, or until an operator skips it.
 */
export class PoisonRecord extends Error {
  override readonly name = "PoisonRecord";
  readonly record: SourceRecord;
  constructor(record: SourceRecord, reason: string) {
    super(reason);
    this.record = record;
  }
}

/**
 * Returns the producer name of a record, for deduplication: another subscription, group, topic or partition is another producer. 64
 * bits of two hashes each, so that the name stays short in every partition's table.
 */
export function producerOf(subscription: SubscriptionRecord, record: SourceRecord): string {
  const reader = `${subscription.id}\u0000${subscription.options["group.id"] ?? ""}`;
  const place = `${record.topic}\u0000${record.partition}`;
  const hash = (first: string, second: string): string => hashBucket(first, second, 0).toString(36);
  return `k${hash(reader, place)}.${hash(place, reader)}`;
}

interface RecordContext {
  readonly registry: RegistrySnapshot;
  readonly nowMs: number;
  /** Headers of records set scope and limit key; otherwise they are ignored. */
  readonly scopesEnabled: boolean;
}

/** Returns the invocation of a record. Throws `PoisonRecord`. */
export function invocationOfRecord(
  subscription: SubscriptionRecord,
  record: SourceRecord,
  { registry, nowMs, scopesEnabled }: RecordContext,
): Invoke {
  const unscoped = targetOf(subscription, record, registry);
  const { scope, limitKey } = scopesEnabled ? scopeOf(record, unscoped) : NO_SCOPE;
  const target = { ...unscoped, scope };
  const handler = registry.services.get(target.service)?.handlers.get(target.handler);
  if (handler === undefined) throw new PoisonRecord(record, `'${target.service}/${target.handler}' is not registered`);
  const retentions = retentionsOf(handler, undefined);
  const id =
    target.handlerType === "workflow" && target.key !== undefined
      ? workflowInvocationId(target.service, target.key, scope)
      : idempotentInvocationId(target, `${producerOf(subscription, record)}/${record.offset}`);
  return {
    kind: "invoke",
    id,
    facts: {
      id,
      target,
      source: { kind: "subscription", subscriptionId: subscription.id },
      idempotencyKey: undefined,
      limitKey,
      priority: PRIORITY_DEFAULT,
      requestId: 0,
      createdAtMs: nowMs,
      executionTimeMs: undefined,
      completionRetentionMs: retentions.completionMs,
      journalRetentionMs: retentions.journalMs,
      randomSeed: undefined,
      trace: undefined,
      bytes: undefined,
    },
    input: encodeInput(headersOf(subscription.id, record), record.value),
    sink: undefined,
  };
}

/** Uses the latest revision. */
function targetOf({ sink }: SubscriptionRecord, record: SourceRecord, registry: RegistrySnapshot): Target {
  const [service = "", handlerName = ""] = sink.slice("service://".length).split("/");
  const handler = registry.services.get(service)?.handlers.get(handlerName);
  if (handler === undefined) throw new PoisonRecord(record, `'${service}/${handlerName}' is not registered`);
  const { serviceType, handlerType } = handler;
  const key = serviceType === "service" ? undefined : keyText(record);
  return { service, key, handler: handlerName, serviceType, handlerType, scope: undefined };
}

interface RecordScope {
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
}
const NO_SCOPE: RecordScope = { scope: undefined, limitKey: undefined };

/** An empty scope or limit key counts as none, as at the ingress. */
function scopeOf(record: SourceRecord, { serviceType }: Target): RecordScope {
  const scope = record.scope || undefined;
  const limitKey = record.limitKey || undefined;
  if (scope === undefined) {
    if (limitKey !== undefined) throw new PoisonRecord(record, "the record names a limit key without a scope");
    return NO_SCOPE;
  }
  if (serviceType === "virtualObject") throw new PoisonRecord(record, "the record names a scope; virtual objects have none");
  const problem = scopeProblem(scope) ?? (limitKey === undefined ? undefined : limitKeyProblem(limitKey));
  if (problem !== undefined) throw new PoisonRecord(record, `the record's scope or limit key cannot be used: ${problem}`);
  return { scope, limitKey };
}

/** A record without key has the empty key. */
function keyText(record: SourceRecord): string {
  if (record.key === undefined) return "";
  const text = fromUtf8(record.key);
  if (Buffer.compare(Buffer.from(text, "utf8"), record.key) !== 0)
    throw new PoisonRecord(record, "the record's key is not UTF-8");
  return text;
}

function headersOf(subscription: SubscriptionId, record: SourceRecord): Header[] {
  const headers: Header[] = [
    { key: "kafka.offset", value: String(record.offset) },
    { key: "kafka.topic", value: record.topic },
    { key: "kafka.partition", value: String(record.partition) },
  ];
  if (record.timestampMs !== undefined) headers.push({ key: "kafka.timestamp", value: String(record.timestampMs) });
  headers.push({ key: "restate.subscription.id", value: subscription });
  if (record.key !== undefined) headers.push({ key: "kafka.key", value: base64UrlPadded(record.key) });
  return headers;
}

function base64UrlPadded(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  return text.replaceAll("+", "-").replaceAll("/", "_");
}
