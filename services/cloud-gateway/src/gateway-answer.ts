/** The one shape of the gateway's own answers on both ports, so that every command line can print them (cloud.md §1.4, §6.2). */

import type { GatewayRequest } from "./gateway-request.js";
import { pushOurs } from "./hygiene.js";
import type { GatewayRefusal } from "./refusal.js";

/** The limit that applied, for `RateLimit-*`. */
interface RateFacts {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

export function errorBody({ status, code, message }: GatewayRefusal, requestId: string): string {
  return `{"code":${status},"message":${JSON.stringify(message)},"restate_code":"${code}","request_id":"${requestId}"}`;
}

export function answerRefusal(request: GatewayRequest, refused: GatewayRefusal, rate: RateFacts | undefined): void {
  const headers = ["content-type", "application/json", "cache-control", "no-store"];
  if (refused.retryAfterSeconds !== undefined) headers.push("retry-after", String(refused.retryAfterSeconds));
  if (refused.challenge !== undefined) headers.push("www-authenticate", refused.challenge);
  if (rate !== undefined) {
    headers.push("ratelimit-limit", String(rate.limit), "ratelimit-remaining", String(rate.remaining));
    headers.push("ratelimit-reset", String(rate.resetSeconds));
  }
  if (request.endpoint === "ingress") headers.push("x-restate-error-source", "gateway");
  answerOwn(request, refused.status, headers, errorBody(refused, request.requestId));
}

/** `headers`: names and values in turn; the headers of every answer are added. */
export function answerOwn(request: GatewayRequest, status: number, headers: string[], body: string): void {
  pushOurs(headers, { requestId: request.requestId, isSecure: request.exchange.isSecure, cors: request.cors });
  request.status = status;
  request.bytesOut += body.length;
  request.exchange.send(status, headers, body);
}
