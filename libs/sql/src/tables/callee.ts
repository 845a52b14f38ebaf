/**
 * Why: people want to see whom a call went to, but the stored command says only what the handler wrote. The id stands in a
 * notification of the same journal, the rest with the callee itself, or, once that is forgotten, with the service's latest revision.
 */
import { type InvocationId, parseInvocationId, partitionOf } from "@perdure/base";
import type { HandlerType, InvocationFacts, JournalEntry, ServiceType, Target } from "@perdure/partition";
import { type CallCommand, decodeNotification, MessageType, type OneWayCallCommand } from "@perdure/service-protocol";
import type { IntrospectionSource, ServiceRow } from "../ports.js";

/** What decoding an entry may look up. */
export interface JournalContext {
  readonly source: IntrospectionSource;
  /** Latest revisions by name. */
  readonly services: ReadonlyMap<string, ServiceRow>;
  /** Callees by the completion id of their id's notification. */
  readonly callees: ReadonlyMap<number, string>;
}

export interface Callee {
  /** "" while the notification is not there yet. */
  readonly id: string;
  readonly target: Target;
  /** Undefined when nothing is stored of the callee (any more). */
  readonly facts: InvocationFacts | undefined;
}

export function calleesOf(entries: readonly JournalEntry[]): ReadonlyMap<number, string> {
  const callees = new Map<number, string>();
  for (const { type, body } of entries) {
    if (type !== MessageType.CallInvocationIdCompletion) continue;
    const decoded = decodeNotification(type, body);
    if (decoded.kind === "notification" && decoded.id.kind === "completion" && decoded.result.kind === "invocationId") {
      callees.set(decoded.id.id, decoded.result.invocationId);
    }
  }
  return callees;
}

export function calleeOf(command: CallCommand | OneWayCallCommand, context: JournalContext): Callee {
  const id = context.callees.get(command.invocationIdNotificationIdx) ?? "";
  const facts = factsOf(id, context.source);
  return { id, target: facts?.target ?? guessedTarget(command, context.services.get(command.serviceName)), facts };
}

function factsOf(text: string, { store, partitionCount }: IntrospectionSource): InvocationFacts | undefined {
  const id = parseInvocationId(text);
  return id.ok ? store.reads.invocation(partitionOf(id.value as InvocationId, partitionCount), id.value)?.facts : undefined;
}

function guessedTarget(
  { scope, serviceName, handlerName, key }: CallCommand | OneWayCallCommand,
  service: ServiceRow | undefined,
): Target {
  const serviceType: ServiceType = service?.kind ?? (key === "" ? "service" : "virtualObject");
  const handlerType: HandlerType = service?.handlers.find(({ name }) => name === handlerName)?.kind ?? "shared";
  return {
    scope: scope || undefined,
    service: serviceName,
    key: serviceType === "service" ? undefined : key,
    handler: handlerName,
    serviceType,
    handlerType,
  };
}
