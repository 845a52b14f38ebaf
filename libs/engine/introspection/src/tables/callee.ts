/**
 * Finds the callee of a call for display. The stored command has only what the handler wrote: the id is in a notification of the same
 * journal, the rest in the callee's row, or, once that is purged, in the service's latest revision.
 */
import { parseInvocationId } from "@perdure/base";
import { type CallCommand, decodeNotification, MessageType, type OneWayCallCommand } from "@perdure/service-protocol";
import type { HandlerType, InvocationFacts, JournalEntry, ServiceType, Target } from "@perdure/state-machine";
import { decodeInvocation } from "@perdure/storage";
import type { IntrospectionSource, ServiceRow } from "../ports.js";
import { rowsOfIds } from "./invocations.js";

/** Data that decoding an entry may need. */
export interface JournalContext {
  /** Stored data of callees, by their ids. */
  readonly facts: ReadonlyMap<string, InvocationFacts>;
  /** Latest revisions by name. */
  readonly services: ReadonlyMap<string, ServiceRow>;
  /** Callees by the completion id of the notification with their id. */
  readonly callees: ReadonlyMap<number, string>;
}

export interface StoredCallee {
  /** "" while the notification is not stored yet. */
  readonly id: string;
  readonly target: Target;
  /** Undefined when no data of the callee is stored (any more). */
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

export function calleeOf(command: CallCommand | OneWayCallCommand, context: JournalContext): StoredCallee {
  const id = context.callees.get(command.invocationIdNotificationIdx) ?? "";
  const facts = context.facts.get(id);
  return { id, target: facts?.target ?? guessedTarget(command, context.services.get(command.serviceName)), facts };
}

export async function factsOfCallees(
  source: IntrospectionSource,
  callees: ReadonlyMap<number, string>,
): Promise<ReadonlyMap<string, InvocationFacts>> {
  const ids = [...callees.values()].flatMap((text) => {
    const id = parseInvocationId(text);
    return id.ok ? [id.value] : [];
  });
  const facts = new Map<string, InvocationFacts>();
  const rows = await rowsOfIds(source, ids);
  for (const [n, id] of ids.entries()) {
    const row = rows[n];
    if (row !== undefined) facts.set(id, decodeInvocation(row).facts);
  }
  return facts;
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
