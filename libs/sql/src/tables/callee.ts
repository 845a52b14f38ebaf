/**
 * Why: people want to see whom a call went to, but the stored command says only what the handler wrote. The id stands in a
 * notification of the same journal, the rest with the callee itself, or, once that is forgotten, with the service's latest revision.
 */
import { parseInvocationId } from "@perdure/base";
import type { HandlerType, InvocationFacts, JournalEntry, ServiceType, Target } from "@perdure/partition";
import { type CallCommand, decodeNotification, MessageType, type OneWayCallCommand } from "@perdure/service-protocol";
import { decodeInvocation } from "@perdure/store";
import type { IntrospectionSource, ServiceRow } from "../ports.js";
import { rowsOfIds } from "./invocations.js";

/** What decoding an entry may look up. */
export interface JournalContext {
  /** What is stored of callees, by their ids. */
  readonly facts: ReadonlyMap<string, InvocationFacts>;
  /** Latest revisions by name. */
  readonly services: ReadonlyMap<string, ServiceRow>;
  /** Callees by the completion id of their id's notification. */
  readonly callees: ReadonlyMap<number, string>;
}

export interface StoredCallee {
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
