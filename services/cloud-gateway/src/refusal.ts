/** All answers of the gateway instead of a runtime's, with status and code, in one list (cloud.md §6.2). */

import { WAKE_RETRY_SECONDS } from "./limits.js";

/** Response to a refused caller. `code` is the `restate_code` of the body, which command lines print. */
export interface GatewayRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Whole seconds for `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** `WWW-Authenticate`. */
  readonly challenge: string | undefined;
  /** Label of metrics. */
  readonly reason: GatewayRefusalReason;
}

export const refusalReasons = [
  "malformed",
  "misdirected",
  "unknown_environment",
  "not_ready",
  "suspended",
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "too_large",
  "upstream",
  "timeout",
  "waking",
  "internal",
] as const;
export type GatewayRefusalReason = (typeof refusalReasons)[number];

function refusal(
  status: number,
  message: string,
  reason: GatewayRefusalReason,
  more: { readonly code?: string; readonly retryAfterSeconds?: number; readonly challenge?: string } = {},
): GatewayRefusal {
  return {
    status,
    code: more.code ?? `PERD0${status}`,
    message,
    retryAfterSeconds: more.retryAfterSeconds,
    challenge: more.challenge,
    reason,
  };
}

export const malformed = (what: string): GatewayRefusal => refusal(400, what, "malformed");
export const forbiddenOrigin = refusal(403, "This origin may not use the management API from a browser", "forbidden");
export const notFound = refusal(404, "Unknown path", "malformed");
export const unknownEnvironment = refusal(404, "Unknown environment", "unknown_environment");
export const slowRequest = refusal(408, "The request came too slowly", "timeout");
export const bodyTooLarge = (bytesMax: number): GatewayRefusal =>
  refusal(
    413,
    `The request body is larger than ${bytesMax} bytes, which is what the plan of this environment allows`,
    "too_large",
  );
export const targetTooLong = refusal(414, "The path is too long", "too_large");
export const misdirected = (message: string): GatewayRefusal => refusal(421, message, "misdirected");
export const noUpgrades = refusal(426, "Protocol upgrades, WebSocket among them, are not offered", "malformed");
export const headersTooLarge = refusal(
  431,
  `The headers are too large: at most 100 lines and ${32 * 1024} bytes are accepted`,
  "too_large",
);

export const noCredential = refusal(401, "Send an API key or an access token as 'Authorization: Bearer …'", "unauthenticated", {
  challenge: 'Bearer realm="perdure"',
});
/** The same for malformed, unknown, expired and revoked credentials. */
export const badCredential = refusal(401, "The credential is invalid, expired or revoked", "unauthenticated", {
  challenge: 'Bearer realm="perdure", error="invalid_token"',
});
/** The same for a foreign key and a missing role, so that the answer does not reveal whether a key exists. */
export const notAllowed = refusal(403, "This credential does not allow this request", "forbidden");
export const suspended = refusal(403, "The environment is suspended; resume it first", "suspended", { code: "PERD0110" });

export const tooManyRequests = (retryAfterSeconds: number): GatewayRefusal =>
  refusal(429, "Too many requests for this environment's plan", "rate_limited", { retryAfterSeconds });
export const tooManyInFlight = refusal(429, "Too many requests of this environment wait for an answer", "rate_limited", {
  retryAfterSeconds: 1,
});
export const tooManyFailures = (retryAfterSeconds: number): GatewayRefusal =>
  refusal(429, "Too many requests without a valid credential came from this address", "rate_limited", { retryAfterSeconds });

export const pending = refusal(503, "The environment is being set up", "not_ready", { code: "PERD0101", retryAfterSeconds: 5 });
export const failed = refusal(503, "The environment could not be set up", "not_ready", { code: "PERD0102" });
export const unreachable = refusal(503, "The environment's runtime does not answer", "upstream", { retryAfterSeconds: 1 });
/** The request of an authenticated caller has woken the environment. */
export const waking = refusal(503, "The environment was asleep and is being started; retry in a few seconds", "waking", {
  retryAfterSeconds: WAKE_RETRY_SECONDS,
});
/** Response to anonymous requests, which never wake an environment. */
export const asleep = refusal(503, "The environment is asleep; a request with a credential wakes it", "waking", {
  retryAfterSeconds: WAKE_RETRY_SECONDS,
});
export const tenancyAway = refusal(503, "Credentials cannot be checked right now", "not_ready", { retryAfterSeconds: 2 });
export const brokenAnswer = refusal(502, "The environment's runtime broke off before it answered", "upstream");
export const answerTimeout = refusal(504, "The environment's runtime took too long to answer", "timeout");
export const internalError = refusal(500, "The gateway failed to handle the request", "internal");

/** Returns the response to an error of the runtime that is not JSON: command lines need a message (cloud.md §1.4). */
export const ofStatus = (status: number): GatewayRefusal => {
  const texts: Readonly<Record<number, string>> = {
    404: "Not found",
    405: "Method not allowed",
    408: "The request came too slowly",
    413: "The request body is too large",
    415: "This content type is not supported",
    429: "Too many requests",
  };
  return refusal(status, texts[status] ?? (status >= 500 ? "The runtime failed" : "The runtime refused the request"), "upstream");
};
