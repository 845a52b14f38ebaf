/**
 * Which web pages may call from a browser: those that the environment allows for its ingress, and the console's for management
 * (cloud.md §6.5).
 */
import type { RequestHead } from "./request-head.js";

const VARY = ["vary", "origin, access-control-request-method, access-control-request-headers"];
/** Headers of a response that a page may read, beside those that browsers always show. */
const EXPOSED =
  "x-restate-id, x-restate-error-source, x-request-id, idempotency-expires, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset";
const MAX_AGE_SECONDS = "600";

/** A browser sends a preflight before certain requests. */
export function isPreflight({ method, origin, requestedMethod }: RequestHead): boolean {
  return method === "OPTIONS" && origin !== undefined && requestedMethod !== undefined;
}

/** CORS headers for an answer of the ingress: names and values in turn. */
export function ingressCors(origin: string | undefined, allowed: readonly string[]): readonly string[] {
  if (origin === undefined) return VARY;
  if (allowed.includes(origin)) {
    return [
      ...VARY,
      ...["access-control-allow-origin", origin, "access-control-allow-credentials", "true"],
      ...["access-control-expose-headers", EXPOSED],
    ];
  }
  // Without credentials: pages of other origins must not use the cookies that a browser keeps for the ingress.
  if (allowed.includes("*")) return [...VARY, "access-control-allow-origin", "*", "access-control-expose-headers", EXPOSED];
  return VARY;
}

/** Returns the CORS headers of the management API: only the console's pages are allowed. */
export function adminCors(origin: string | undefined, consoleOrigin: string | undefined): readonly string[] {
  if (origin === undefined || origin !== consoleOrigin) return VARY;
  return [...VARY, "access-control-allow-origin", origin, "access-control-expose-headers", EXPOSED];
}

/** Headers of the answer to a preflight, beside `cors`; browsers ignore them for an origin that is not allowed. */
export function ingressPreflight({ requestedMethod, requestedHeaders }: RequestHead): string[] {
  const list = ["access-control-max-age", MAX_AGE_SECONDS];
  if (requestedMethod !== undefined) list.push("access-control-allow-methods", requestedMethod);
  if (requestedHeaders !== undefined) list.push("access-control-allow-headers", requestedHeaders);
  return list;
}

export const adminPreflight: readonly string[] = [
  ...["access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE"],
  ...["access-control-allow-headers", "authorization, content-type"],
  ...["access-control-max-age", MAX_AGE_SECONDS],
];
