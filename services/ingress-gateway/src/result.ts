/** Returns results later, by invocation id, idempotency key or workflow key (ingress.md §5). */
import { type InvocationId, idempotentInvocationId, parseInvocationId, unreachable, workflowInvocationId } from "@perdure/base";
import type { Completion, HandlerView, RegistrySnapshot } from "@perdure/control";
import { answerCompletion, answerInvocationFailure, answerJson } from "./answer.js";
import type { IngressContext } from "./context.js";
import type { IngressExchange } from "./exchange.js";
import { readBody } from "./read-body.js";
import type { IngressRefusal } from "./refusal.js";
import * as refusal from "./refusal.js";
import type { ResultTarget, ResultVerb } from "./route.js";
import { parseTargetBody } from "./target-body.js";

/** The GET forms: the target is in the path. */
export function handleResult(context: IngressContext, exchange: IngressExchange, verb: ResultVerb, target: ResultTarget): void {
  exchange.kind = verb;
  const id = invocationIdOf(target);
  if (typeof id === "object") return context.refuse(exchange, id); // Before the method, as the reference does.
  if (exchange.method !== "GET") return context.refuse(exchange, refusal.methodNotAllowed);
  answerTarget(context, exchange, verb, target, id);
}

/** The POST forms: the target is in the body. */
export function handleResultByBody(context: IngressContext, exchange: IngressExchange, verb: ResultVerb | "lookup"): void {
  exchange.kind = verb;
  if (exchange.method !== "POST") return context.refuse(exchange, refusal.methodNotAllowed);
  readBody(context, exchange, (bytes) => {
    const target = parseTargetBody(bytes, verb === "lookup" ? "lookup body" : "request body");
    if (target.kind === "refused") return context.refuse(exchange, target);
    const id = invocationIdOf(target);
    if (typeof id === "object") return context.refuse(exchange, id);
    answerTarget(context, exchange, verb, target, id);
  });
}

function answerTarget(
  context: IngressContext,
  exchange: IngressExchange,
  verb: ResultVerb | "lookup",
  target: ResultTarget,
  id: InvocationId,
): void {
  switch (verb) {
    case "lookup":
      return answerJson(exchange, 200, `{"invocationId":"${id}"}`, undefined);
    case "attach":
      return attach(context, exchange, id, target);
    case "output":
      return output(context, exchange, id, target);
    default:
      return unreachable(verb);
  }
}

/** Ids of named targets are computed, never looked up. */
function invocationIdOf(target: ResultTarget): InvocationId | IngressRefusal {
  switch (target.kind) {
    case "id": {
      const parsed = parseInvocationId(target.text);
      return parsed.ok ? parsed.value : refusal.badInvocationId(target.text, parsed.problem);
    }
    case "workflow":
      return workflowInvocationId(target.workflow, target.key, target.scope);
    case "idempotent":
      return idempotentInvocationId(target, target.idempotencyKey);
    default:
      return unreachable(target);
  }
}

function attach(context: IngressContext, exchange: IngressExchange, id: InvocationId, target: ResultTarget): void {
  const waiting = context.ports.partitions.attach(id, {
    completed: (completion) => answerResult(context, exchange, id, target, completion),
    notFound: () => answerInvocationFailure(exchange, id, 404, "not found"),
    unavailable: (reason) => context.refuse(exchange, refusal.unavailable(reason, "read")),
  });
  if (exchange.isCompleted) waiting.detach();
  else exchange.waiting = waiting;
}

function output(context: IngressContext, exchange: IngressExchange, id: InvocationId, target: ResultTarget): void {
  context.ports.partitions.output(id).then(
    (stored) => {
      switch (stored.kind) {
        case "completed":
          return answerResult(context, exchange, id, target, stored.completion);
        case "pending":
          return context.refuse(exchange, refusal.notReady);
        case "notFound":
          return context.refuse(exchange, refusal.invocationNotFound);
        default:
          return unreachable(stored);
      }
    },
    (cause: unknown) => context.fail(exchange, cause, "read"),
  );
}

/** A failure is always JSON; for the content type of a value its handler must be resolved. */
function answerResult(
  context: IngressContext,
  exchange: IngressExchange,
  id: InvocationId,
  target: ResultTarget,
  completion: Completion,
): void {
  if (completion.outcome.kind === "failure") return answerCompletion(exchange, id, completion, undefined);
  if (target.kind !== "id") return answerValue(context, exchange, id, completion, (registry) => handlerOf(registry, target));
  context.ports.partitions.describe(id).then(
    (invocation) => {
      // Purged at this very moment: the value is still correct, but its content type is unknown.
      if (invocation === undefined) return answerCompletion(exchange, id, completion, undefined);
      const { service, handler } = invocation.facts.target;
      answerValue(context, exchange, id, completion, (registry) => latestHandler(registry, service, handler));
    },
    (cause: unknown) => context.fail(exchange, cause, "read"),
  );
}

function answerValue(
  context: IngressContext,
  exchange: IngressExchange,
  id: InvocationId,
  completion: Completion,
  find: FindHandler,
): void {
  const answer = (handler: HandlerView | undefined): void => {
    if (exchange.isCompleted) return;
    if (handler === undefined) return context.refuse(exchange, refusal.notFound);
    answerCompletion(exchange, id, completion, handler.output);
  };
  const cached = find(context.ports.registry.current());
  if (cached !== undefined || context.routeRefresher === undefined) return answer(cached);
  context.routeRefresher.find(find).then(answer, (cause: unknown) => context.crash(exchange, cause));
}

type FindHandler = (registry: RegistrySnapshot) => HandlerView | undefined;

function handlerOf(registry: RegistrySnapshot, target: Exclude<ResultTarget, { kind: "id" }>): HandlerView | undefined {
  if (target.kind === "idempotent") return latestHandler(registry, target.service, target.handler);
  const handlers = registry.services.get(target.workflow)?.handlers.values() ?? [];
  for (const handler of handlers) {
    if (handler.handlerType === "workflow") return handler;
  }
  return undefined;
}

function latestHandler(registry: RegistrySnapshot, service: string, handler: string): HandlerView | undefined {
  return registry.services.get(service)?.handlers.get(handler);
}
