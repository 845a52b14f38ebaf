/** The stored form of what never changes about an invocation. */
import { type InvocationId, invariant, ProtoReader, ProtoWriter, type SubscriptionId } from "@perdure/base";
import {
  type HandlerType,
  type InvocationFacts,
  PRIORITY_DEFAULT,
  type ServiceType,
  type Source,
  type Target,
} from "@perdure/state-machine";
import { type RareFacts, readRareFact, writeRareFacts } from "./rare-facts.js";

const SERVICE_TYPES: readonly ServiceType[] = ["service", "virtualObject", "workflow"];
const HANDLER_TYPES: readonly HandlerType[] = ["exclusive", "shared", "workflow"];

const factsWriter = new ProtoWriter();

export function encodeFacts(facts: InvocationFacts): Uint8Array {
  const w = factsWriter.reset();
  w.string(1, facts.id);
  writeTarget(w, 2, facts.target);
  writeSource(w, facts.source);
  if (facts.idempotencyKey !== undefined) w.string(7, facts.idempotencyKey);
  w.uint64(8, facts.requestId).uint64(9, facts.createdAtMs);
  if (facts.executionTimeMs !== undefined) w.uint64(10, facts.executionTimeMs);
  w.uint64(11, facts.completionRetentionMs).uint64(12, facts.journalRetentionMs);
  if (facts.randomSeed !== undefined) w.uint64(13, facts.randomSeed);
  if (facts.limitKey !== undefined) w.string(16, facts.limitKey);
  if (facts.priority !== PRIORITY_DEFAULT) w.uint32(17, facts.priority);
  if (facts.trace !== undefined) {
    w.string(14, facts.trace.traceparent);
    if (facts.trace.tracestate !== undefined) w.string(15, facts.trace.tracestate);
  }
  writeRareFacts(w, facts);
  return w.finish();
}

export function decodeFacts(bytes: Uint8Array): InvocationFacts {
  const r = new ProtoReader(bytes);
  let id = "" as InvocationId;
  let target: Target | undefined;
  let source: Source = INGRESS;
  let callerId: InvocationId | undefined;
  let idempotencyKey: string | undefined;
  let requestId = 0;
  let createdAtMs = 0;
  let executionTimeMs: number | undefined;
  let completionRetentionMs = 0;
  let journalRetentionMs = 0;
  let randomSeed: bigint | undefined;
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  let limitKey: string | undefined;
  let priority = PRIORITY_DEFAULT;
  const rare: RareFacts = { fork: undefined, debounce: undefined, event: undefined };
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        id = r.string() as InvocationId;
        break;
      case 2:
        target = decodeTarget(r.bytes());
        break;
      case 3:
        callerId = r.string() as InvocationId;
        break;
      case 4:
        invariant(callerId !== undefined, "a caller's target follows its id");
        source = { kind: "service", callerId, callerTarget: decodeTarget(r.bytes()) };
        break;
      case 5:
        source = { kind: "subscription", subscriptionId: r.string() as SubscriptionId };
        break;
      case 6:
        source = { kind: "restart", from: r.string() as InvocationId };
        break;
      case 7:
        idempotencyKey = r.string();
        break;
      case 8:
        requestId = r.uint64Number();
        break;
      case 9:
        createdAtMs = r.uint64Number();
        break;
      case 10:
        executionTimeMs = r.uint64Number();
        break;
      case 11:
        completionRetentionMs = r.uint64Number();
        break;
      case 12:
        journalRetentionMs = r.uint64Number();
        break;
      case 13:
        randomSeed = r.uint64();
        break;
      case 14:
        traceparent = r.string();
        break;
      case 15:
        tracestate = r.string();
        break;
      case 16:
        limitKey = r.string();
        break;
      case 17:
        priority = r.uint32();
        break;
      default:
        readRareFact(r, tag, rare);
    }
  }
  invariant(target !== undefined, "stored facts name a target");
  const trace = traceparent === undefined ? undefined : { traceparent, tracestate };
  return {
    id,
    target,
    source,
    idempotencyKey,
    limitKey,
    priority,
    requestId,
    createdAtMs,
    executionTimeMs,
    completionRetentionMs,
    journalRetentionMs,
    randomSeed,
    trace,
    fork: rare.fork,
    debounce: rare.debounce,
    event: rare.event,
    bytes,
  };
}

const INGRESS: Source = Object.freeze({ kind: "ingress" });

function writeSource(w: ProtoWriter, source: Source): void {
  switch (source.kind) {
    case "ingress":
      return;
    case "service":
      w.string(3, source.callerId);
      return writeTarget(w, 4, source.callerTarget);
    case "subscription":
      w.string(5, source.subscriptionId);
      return;
    case "restart":
      w.string(6, source.from);
      return;
  }
}

function writeTarget(w: ProtoWriter, field: number, target: Target): void {
  w.fork(field).string(1, target.service);
  if (target.key !== undefined) w.string(2, target.key);
  w.string(3, target.handler)
    .uint32(4, SERVICE_TYPES.indexOf(target.serviceType))
    .uint32(5, HANDLER_TYPES.indexOf(target.handlerType));
  if (target.scope !== undefined) w.string(6, target.scope);
  w.join();
}

function decodeTarget(bytes: Uint8Array): Target {
  const r = new ProtoReader(bytes);
  let service = "";
  let key: string | undefined;
  let handler = "";
  let serviceType = 0;
  let handlerType = 0;
  let scope: string | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        service = r.string();
        break;
      case 2:
        key = r.string();
        break;
      case 3:
        handler = r.string();
        break;
      case 4:
        serviceType = r.uint32();
        break;
      case 5:
        handlerType = r.uint32();
        break;
      case 6:
        scope = r.string();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return {
    scope,
    service,
    key,
    handler,
    serviceType: SERVICE_TYPES[serviceType] as ServiceType,
    handlerType: HANDLER_TYPES[handlerType] as HandlerType,
  };
}
