/** Writes every response: headers that are always present, JSON bodies, CORS, the error source (ingress.md §9, §10). */
import { formatRfc3339Offset, type InvocationId } from "@perdure/base";
import type { Completion, OutputRule } from "@perdure/control";
import type { IngressExchange } from "./exchange.js";
import type { IngressRefusal } from "./refusal.js";

const VARY = "origin, access-control-request-method, access-control-request-headers";
const JSON_TYPE = "application/json";
const VISIBLE_ASCII = /^[\t\x20-\x7e]*$/;

/** A refusal by the ingress itself. */
export function answerRefusal(exchange: IngressExchange, refusal: IngressRefusal): void {
  answerError(exchange, refusal.status, "ingress", refusal.status, refusal.message, undefined, undefined);
}

/** A refusal by the throttle: when to try again, and the newest invocation that the period admitted, if there is a period. */
export function answerThrottled(
  exchange: IngressExchange,
  refusal: IngressRefusal,
  newestId: InvocationId | undefined,
  waitMs: number | undefined,
): void {
  const headers = commonHeaders(exchange);
  headers.push("x-restate-error-source", "ingress", "content-type", JSON_TYPE);
  if (newestId !== undefined) headers.push("x-restate-id", newestId);
  if (waitMs !== undefined) headers.push("retry-after", String(retryAfterS(waitMs)));
  const message = JSON.stringify(refusal.message);
  const metadata = JSON.stringify({ error_code: refusal.code, invocation_id: newestId });
  exchange.send(
    refusal.status,
    headers,
    `{"code":${refusal.status},"message":${message},"metadata":${metadata},"source":"ingress"}`,
  );
}

/** Whole seconds, so that a client that waits for them comes after the period. */
function retryAfterS(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}

/** The outcome of an invocation. `output` is the output rule of its handler in the latest revision. */
export function answerCompletion(
  exchange: IngressExchange,
  id: InvocationId,
  completion: Completion,
  output: OutputRule | undefined,
): void {
  const outcome = completion.outcome;
  if (outcome.kind === "failure") {
    const { code, message, metadata } = outcome.failure;
    const extra = failureExtras(outcome.stacktrace, metadata);
    return answerError(exchange, statusOf(code), "invocation", code, message, { id, expiresAtMs: completion.expiresAtMs }, extra);
  }
  const headers = commonHeaders(exchange);
  headers.push("x-restate-id", id);
  if (completion.expiresAtMs !== undefined) headers.push("idempotency-expires", formatRfc3339Offset(completion.expiresAtMs));
  const contentType = output?.contentType;
  if (contentType !== undefined && (outcome.value.length > 0 || output?.setContentTypeIfEmpty === true)) {
    pushSendable(headers, "content-type", contentType);
  }
  exchange.send(200, headers, outcome.value);
}

/** A failure that the reference writes like a failed outcome: unknown ids on attach, a second run of a workflow. */
export function answerInvocationFailure(exchange: IngressExchange, id: InvocationId, code: number, message: string): void {
  answerError(exchange, code, "invocation", code, message, { id, expiresAtMs: undefined }, undefined);
}

/** A JSON body with status 200 or 202; `id` when it belongs to an invocation, `retryAfterMs` when a throttle did not run the request. */
export function answerJson(
  exchange: IngressExchange,
  status: number,
  body: string,
  id: InvocationId | undefined,
  retryAfterMs?: number,
): void {
  const headers = commonHeaders(exchange);
  headers.push("content-type", JSON_TYPE);
  if (retryAfterMs !== undefined) headers.push("retry-after", String(retryAfterS(retryAfterMs)));
  if (id !== undefined) headers.push("x-restate-id", id);
  exchange.send(status, headers, body);
}

/** 202 without a body. */
export function answerAccepted(exchange: IngressExchange): void {
  exchange.send(202, commonHeaders(exchange), "");
}

/** Any OPTIONS request, on any path. */
export function answerPreflight(exchange: IngressExchange): void {
  const headers = commonHeaders(exchange);
  pushSendable(headers, "access-control-allow-methods", exchange.header("access-control-request-method"));
  pushSendable(headers, "access-control-allow-headers", exchange.header("access-control-request-headers"));
  exchange.send(200, headers, "");
}

function answerError(
  exchange: IngressExchange,
  status: number,
  source: "ingress" | "invocation",
  code: number,
  message: string,
  invocation: { id: InvocationId; expiresAtMs: number | undefined } | undefined,
  extra: string | undefined,
): void {
  const headers = commonHeaders(exchange);
  headers.push("x-restate-error-source", source, "content-type", JSON_TYPE);
  if (invocation !== undefined) {
    headers.push("x-restate-id", invocation.id);
    if (invocation.expiresAtMs !== undefined) headers.push("idempotency-expires", formatRfc3339Offset(invocation.expiresAtMs));
  }
  const body = `{"code":${code},"message":${JSON.stringify(message)}${extra ?? ""},"source":"${source}"}`;
  exchange.send(status, headers, hasBody(status) ? body : "");
}

function failureExtras(stacktrace: string | undefined, metadata: readonly { key: string; value: string }[]): string | undefined {
  let extra = stacktrace === undefined ? "" : `,"stacktrace":${JSON.stringify(stacktrace)}`;
  if (metadata.length > 0) {
    const fields = new Map(metadata.map(({ key, value }) => [key, value])); // A repeated key keeps its last value.
    const members = Array.from(fields, ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
    extra += `,"metadata":{${members.join(",")}}`;
  }
  return extra === "" ? undefined : extra;
}

/** Handlers may choose any code; a code that is not a valid final status becomes 500. */
function statusOf(code: number): number {
  return code >= 200 && code <= 999 ? code : 500;
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function commonHeaders(exchange: IngressExchange): string[] {
  const headers = ["vary", VARY, "access-control-allow-credentials", "true"];
  if (exchange.origin !== undefined) pushSendable(headers, "access-control-allow-origin", exchange.origin);
  return headers;
}

/** Values from outside may contain bytes that a response must not have; such a header is omitted. */
function pushSendable(headers: string[], name: string, value: string | undefined): void {
  if (value !== undefined && VISIBLE_ASCII.test(value)) headers.push(name, value);
}
