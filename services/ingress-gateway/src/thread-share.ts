/** The limits of the ingress of one thread, where several threads of a process serve the same port. */
import { shareOf } from "@perdure/base";
import { connectionsMaxDefault } from "@perdure/http-server";
import { bufferedBodyBytesMaxDefault, requestBytesMaxDefault } from "./limits.js";
import type { IngressOptions } from "./options.js";

/** Divides the limits of the process; `thread` is one of 0 … threads − 1. Limits of one request or one connection stay as they are. */
export function ingressShareOf(options: IngressOptions, thread: number, threads: number): IngressOptions {
  const { concurrentRequestsMax, requestsPerSecondMax, requestBytesMax = requestBytesMaxDefault, http } = options;
  const optional = (limit: number | undefined) => (limit === undefined ? undefined : shareOf(limit, thread, threads));
  const bodyBytes = shareOf(options.bufferedBodyBytesMax ?? bufferedBodyBytesMaxDefault, thread, threads);
  return {
    ...options,
    concurrentRequestsMax: optional(concurrentRequestsMax),
    requestsPerSecondMax: optional(requestsPerSecondMax),
    // The largest body that is accepted must fit, at whichever thread it arrives.
    bufferedBodyBytesMax: Math.max(bodyBytes, requestBytesMax),
    http: { ...http, connectionsMax: shareOf(http?.connectionsMax ?? connectionsMaxDefault, thread, threads) },
  };
}
