/**
 * Turns a call or send into one Invoke command: checks 7 to 15 of ingress.md §2 "Order of checks", the command, and the response with the
 * partition's result.
 */
import {
  formatTimestampNanos,
  type InvocationId,
  idempotentInvocationId,
  invariant,
  newInvocationId,
  type Random,
  unreachable,
  workflowInvocationId,
} from "@perdure/base";
import { type Completion, type HandlerView, type InvokeObserver, type OutputRule, retentionsOf } from "@perdure/control";
import type { BodyFailure, WholeBodyReceiver } from "@perdure/http-server";
import { encodeInput, type Header } from "@perdure/service-protocol";
import {
  type Debounce,
  type Invocation,
  type InvocationFacts,
  PRIORITY_DEFAULT,
  type Target,
  type Throttle,
  type Throttled,
  type ThrottleKeysFull,
} from "@perdure/state-machine";
import { answerCompletion, answerInvocationFailure, answerJson, answerThrottled } from "./answer.js";
import type { IngressContext } from "./context.js";
import type { IngressExchange } from "./exchange.js";
import { checkInput } from "./input-rule.js";
import { debouncedInvocationId, type PacingRule, pacingOf, throttledInvocationId } from "./pacing.js";
import { percentDecode, type RequestPath } from "./path.js";
import { NO_PARAMETERS, parseDelay, parseQuery, type QueryParameters } from "./query.js";
import type { IngressRefusal } from "./refusal.js";
import * as refusal from "./refusal.js";
import { isVisibleAscii, passedHeaders } from "./request-headers.js";
import type { InvokeRoute } from "./route.js";
import { checkLimitKey, checkScope } from "./scope.js";
import { traceContextOf } from "./trace-context.js";

export function handleInvoke(context: IngressContext, exchange: IngressExchange, route: InvokeRoute, path: RequestPath): void {
  exchange.kind = route.wait ? "call" : "send";
  const scope = route.scope === undefined ? undefined : (percentDecode(route.scope) ?? route.scope);
  const refused = checkHead(context, exchange, route, scope);
  if (refused !== undefined) return context.refuse(exchange, refused);
  const pacing = pacingOf(exchange, route.handler);
  if (pacing?.kind === "refused") return context.refuse(exchange, pacing);
  const request = new InvokeRequest(context, exchange, route, path, scope, pacing);
  exchange.startBody(context.bodies.open(request, exchange.contentLength));
}

/** Checks 7, 8 and 9: all checks that do not need the body. */
function checkHead(
  context: IngressContext,
  exchange: IngressExchange,
  route: InvokeRoute,
  scope: string | undefined,
): IngressRefusal | undefined {
  if (exchange.idempotencyKey !== undefined) {
    if (!isVisibleAscii(exchange.idempotencyKey)) return refusal.badHeader("idempotency-key");
    if (route.handler.handlerType === "workflow") return refusal.idempotentWorkflow;
  }
  if (scope !== undefined) {
    const badScope = checkScope(scope);
    if (badScope !== undefined) return badScope;
    if (!context.scopesEnabled) return refusal.scopesDisabled;
    if (route.handler.serviceType === "virtualObject") return refusal.scopedObject;
  }
  return exchange.method === "POST" || exchange.method === "GET" ? undefined : refusal.methodNotAllowed;
}

interface Input {
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
  /** Free bytes in front of the body; see `WholeBodyReceiver`. */
  readonly spaceBytes: number;
}

/** What the rule of a request makes of it. */
interface PacedIdentity {
  readonly id: InvocationId;
  readonly idempotencyKey: string | undefined;
  readonly debounce: Debounce | undefined;
  readonly throttle: Throttle | undefined;
}

const NOT_PACED = { debounce: undefined, throttle: undefined } as const;

/** One call or send: reads the body, submits, responds. */
class InvokeRequest implements WholeBodyReceiver, InvokeObserver {
  readonly #context: IngressContext;
  readonly #exchange: IngressExchange;
  readonly #route: InvokeRoute;
  readonly #path: RequestPath;
  readonly #scope: string | undefined;
  #pacing: PacingRule | undefined;
  #id: InvocationId | undefined = undefined;
  #executionTimeMs: number | undefined = undefined;
  /** Monotonic clock; set only when metrics are on. */
  #submittedAtMs = 0;

  constructor(
    context: IngressContext,
    exchange: IngressExchange,
    route: InvokeRoute,
    path: RequestPath,
    scope: string | undefined,
    pacing: PacingRule | undefined,
  ) {
    this.#context = context;
    this.#exchange = exchange;
    this.#route = route;
    this.#path = path;
    this.#scope = scope;
    this.#pacing = pacing;
  }

  body(bytes: Uint8Array, spaceBytes: number): void {
    try {
      this.#checkAndSubmit(bytes, spaceBytes);
    } catch (cause) {
      this.#context.crash(this.#exchange, cause);
    }
  }

  bodyFailed(cause: BodyFailure): void {
    this.#refuse(refusal.bodyRefusal(cause));
  }

  submitted(previous: Invocation | undefined): void {
    // A debounced send may have become an earlier invocation.
    const id = previous === undefined ? this.#id! : previous.facts.id;
    this.#id = id;
    const { handler, wait } = this.#route;
    const { metrics, clock } = this.#context.ports;
    metrics?.accepted(wait ? "call" : "send", clock.monotonicMs() - this.#submittedAtMs);
    if (this.#pacing?.kind === "debounce" && (previous?.facts.debounce?.sendCount ?? 1) > 1)
      metrics?.paced(this.#exchange.kind, "debounce");
    if (!wait) return this.#answerSend(id, previous);
    if (previous !== undefined && handler.handlerType === "workflow") {
      this.#exchange.waiting?.detach();
      answerInvocationFailure(this.#exchange, id, 409, "the workflow method was already invoked");
    }
  }

  throttled(refused: Throttled | ThrottleKeysFull): void {
    const { clock, metrics } = this.#context.ports;
    const pacing = this.#pacing;
    invariant(pacing?.kind === "throttle", "only a request with a throttle is throttled");
    metrics?.paced(this.#exchange.kind, "throttle");
    const exchange = this.#exchange;
    exchange.waiting = undefined;
    if (refused.kind === "throttleKeysFull") {
      exchange.refusedWith = refusal.throttleKeysFull.code;
      return answerThrottled(exchange, refusal.throttleKeysFull, undefined, undefined);
    }
    const { newestId, retryAtMs } = refused;
    const waitMs = retryAtMs - clock.nowMs();
    const reject = () => {
      const refusedWith = refusal.throttled(refused, pacing.rule);
      exchange.refusedWith = refusedWith.code;
      answerThrottled(exchange, refusedWith, newestId, waitMs);
    };
    if (pacing.rule.over === "reject") return reject();
    if (this.#route.wait) return this.#join(newestId, reject);
    answerJson(exchange, 202, `{"invocationId":"${newestId}","status":"PreviouslyAccepted"}`, newestId, waitMs);
  }

  completed(completion: Completion): void {
    answerCompletion(this.#exchange, this.#id!, completion, this.#outputRule());
  }

  unavailable(reason: string): void {
    this.#refuse(refusal.unavailable(reason, "invoke"));
  }

  #checkAndSubmit(bytes: Uint8Array, spaceBytes: number): void {
    const exchange = this.#exchange;
    const { handler, wait } = this.#route;
    // Checks 11 to 15.
    const badInput = checkInput(handler.input, exchange.contentType, bytes.length);
    if (badInput !== undefined) return this.#refuse(badInput);
    const query = this.#path.query === undefined ? NO_PARAMETERS : parseQuery(this.#path.query);
    const delayMs = query.delay === undefined ? undefined : parseDelay(query.delay);
    if (typeof delayMs === "object") return this.#refuse(delayMs);
    const badLimits = checkLimitKeyOf(exchange, query, this.#scope) ?? checkPriorityOf(exchange, query, this.#scope);
    if (badLimits !== undefined) return this.#refuse(badLimits);
    const headers = passedHeaders(exchange.rawHeaders, this.#path.full);
    if ("kind" in headers) return this.#refuse(headers);
    if (delayMs !== undefined && wait) return this.#refuse(refusal.delayedCall);
    const debounce = this.#pacing?.kind === "debounce" ? this.#pacing : undefined;
    if (delayMs !== undefined && debounce !== undefined) {
      if (!debounce.isOption) return this.#refuse(refusal.delayedDebounce);
      this.#pacing = undefined; // What the request says wins over the option of the handler.
      return this.#submit({ headers, body: bytes, spaceBytes }, delayMs, query);
    }
    this.#submit({ headers, body: bytes, spaceBytes }, debounce?.rule.quietMs ?? delayMs, query);
  }

  #submit({ headers, body, spaceBytes }: Input, delayMs: number | undefined, query: QueryParameters): void {
    const { clock, random, partitions, startSpan, metrics } = this.#context.ports;
    if (metrics !== undefined) {
      this.#submittedAtMs = clock.monotonicMs();
      metrics.bytes("in", body.length);
    }
    const exchange = this.#exchange;
    const scope = this.#scope;
    const { handler, key, wait } = this.#route;
    const nowMs = clock.nowMs();
    const target = targetOf(handler, key, scope);
    const { id, idempotencyKey, debounce, throttle } = this.#identify(target, nowMs);
    this.#id = id;
    this.#executionTimeMs = delayMs === undefined ? undefined : nowMs + delayMs;
    const retentions = retentionsOf(handler, idempotencyKey);
    const caller = traceContextOf(exchange.span?.traceparent ?? exchange.traceparent, exchange.tracestate);
    const facts: InvocationFacts = {
      id,
      target,
      source: INGRESS,
      idempotencyKey,
      requestId: newRequestId(random),
      createdAtMs: nowMs,
      executionTimeMs: this.#executionTimeMs,
      completionRetentionMs: retentions.completionMs,
      journalRetentionMs: retentions.journalMs,
      randomSeed: undefined,
      trace: startSpan === undefined ? caller : (startSpan(caller, target, id, exchange.isTraceRequested) ?? caller),
      limitKey: scope === undefined ? undefined : limitKeyOf(exchange, query),
      priority: scope === undefined ? PRIORITY_DEFAULT : Number(priorityTextOf(exchange, query) ?? PRIORITY_DEFAULT),
      debounce,
      bytes: undefined,
    };
    const input = encodeInput(headers, body, spaceBytes);
    const waiting = partitions.invoke({ kind: "invoke", id, facts, input, sink: undefined, throttle }, wait, this);
    if (exchange.isCompleted) waiting.detach();
    else exchange.waiting = waiting;
  }

  /** With a debounce the idempotency key separates bursts, and a send with the same key after the burst begins another one. */
  #identify(target: Target, nowMs: number): PacedIdentity {
    const { random } = this.#context.ports;
    const { idempotencyKey } = this.#exchange;
    const pacing = this.#pacing;
    switch (pacing?.kind) {
      case undefined:
        return { ...NOT_PACED, id: this.#invocationIdFor(target, nowMs), idempotencyKey };
      case "debounce": {
        const key = pacing.rule.key ?? idempotencyKey ?? "";
        const debounce = { key, startByMs: nowMs + pacing.rule.maxMs, sendCount: 1 };
        return { ...NOT_PACED, id: debouncedInvocationId(target, key, nowMs, random), idempotencyKey: undefined, debounce };
      }
      case "throttle": {
        const { periodMs, limit, key = "" } = pacing.rule;
        const id = throttledInvocationId(target, key, idempotencyKey, nowMs, random);
        return { ...NOT_PACED, id, idempotencyKey, throttle: { key, periodMs, limit } };
      }
      default:
        return unreachable(pacing);
    }
  }

  #invocationIdFor(target: Target, nowMs: number): InvocationId {
    const { idempotencyKey } = this.#exchange;
    if (target.handlerType === "workflow" && target.key !== undefined)
      return workflowInvocationId(target.service, target.key, target.scope);
    if (idempotencyKey !== undefined) return idempotentInvocationId(target, idempotencyKey);
    const { ports, preferredPartitions } = this.#context;
    return newInvocationId(target, nowMs, ports.random, preferredPartitions);
  }

  /** Waits for the invocation that the throttle runs in place of this request. */
  #join(newestId: InvocationId, refused: () => void): void {
    const exchange = this.#exchange;
    this.#id = newestId;
    const waiting = this.#context.ports.partitions.attach(newestId, {
      completed: (completion) => this.completed(completion),
      notFound: refused, // Its result is not kept, and another invocation would be one too many.
      unavailable: (reason) => this.unavailable(reason),
    });
    if (exchange.isCompleted) waiting.detach();
    else exchange.waiting = waiting;
  }

  #answerSend(id: InvocationId, previous: Invocation | undefined): void {
    const executionTimeMs = previous === undefined ? this.#executionTimeMs : previous.facts.executionTimeMs;
    const time = executionTimeMs === undefined ? "" : `,"executionTime":"${formatTimestampNanos(executionTimeMs)}"`;
    const isAccepted = previous === undefined || this.#pacing?.kind === "debounce";
    const status = isAccepted ? "Accepted" : "PreviouslyAccepted";
    answerJson(this.#exchange, 202, `{"invocationId":"${id}"${time},"status":"${status}"}`, id);
  }

  /** Rule of the latest revision; of the called revision when the latest no longer has the handler. */
  #outputRule(): OutputRule {
    const called = this.#route.handler;
    const latest = this.#context.ports.registry.current().services.get(called.service)?.handlers.get(called.handler);
    return (latest ?? called).output;
  }

  #refuse(refused: IngressRefusal): void {
    this.#context.refuse(this.#exchange, refused);
  }
}

const INGRESS = { kind: "ingress" } as const;

function targetOf(handler: HandlerView, key: string | undefined, scope: string | undefined): Target {
  return {
    service: handler.service,
    key,
    handler: handler.handler,
    serviceType: handler.serviceType,
    handlerType: handler.handlerType,
    scope,
  };
}

/** 48 random bits, never 0, which means "not used". */
function newRequestId(random: Random): number {
  return random.uint32() * 65_536 + (random.uint32() >>> 16) || 1;
}

/** The header takes precedence over the query parameter; an empty value counts as none. */
function limitKeyOf(exchange: IngressExchange, query: QueryParameters): string | undefined {
  return (exchange.limitKey ?? query.limitKey) || undefined;
}

function checkLimitKeyOf(
  exchange: IngressExchange,
  query: QueryParameters,
  scope: string | undefined,
): IngressRefusal | undefined {
  const limitKey = limitKeyOf(exchange, query);
  if (limitKey === undefined) return undefined;
  if (exchange.limitKey !== undefined && !isVisibleAscii(limitKey)) return refusal.badHeader("x-restate-limit-key");
  return checkLimitKey(limitKey) ?? (scope === undefined ? refusal.limitKeyWithoutScope : undefined);
}

/** Same rule as for limit keys. Without a scope a query parameter of this name belongs to the handler. */
function priorityTextOf(exchange: IngressExchange, query: QueryParameters): string | undefined {
  return (exchange.priority ?? query.priority) || undefined;
}

function checkPriorityOf(
  exchange: IngressExchange,
  query: QueryParameters,
  scope: string | undefined,
): IngressRefusal | undefined {
  if (scope === undefined) return exchange.priority === undefined ? undefined : refusal.priorityWithoutScope;
  const text = priorityTextOf(exchange, query);
  return text === undefined || /^[1-5]$/.test(text) ? undefined : refusal.badPriority;
}
