/** Sends requests of the management API to endpoints, like all other requests signed and with the deployment's headers. */
import type { Clock } from "@perdure/base";
import { type EndpointTransport, exchangeWhole, type RequestIdentity } from "@perdure/endpoint-transport";
import type { CallEndpoint } from "./ports.js";

interface CallEndpointPorts {
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
  /** Undefined: the requests carry no signature. */
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
}

/** Bytes of the largest answer, which is the largest payload that the console shows. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
const ANSWER_MS = 10_000;

export function createCallEndpoint({ transports, identity, clock }: CallEndpointPorts): CallEndpoint {
  return async ({ address, additionalHeaders }, { path, contentType, body }, signal) => {
    const headers: Record<string, string> = { ...additionalHeaders };
    if (contentType !== undefined) headers["content-type"] = contentType;
    identity?.sign(headers, path, undefined);
    const transport = address.kind === "http" ? transports.http : transports.lambda;
    const bounds = { responseBytesMax: ANSWER_BYTES_MAX, timeoutMs: ANSWER_MS };
    const answer = await exchangeWhole({ transport, clock }, { address, method: "POST", path, headers, body }, bounds, signal);
    return answer.kind === "failed" ? { kind: "failed", message: answer.failure.message } : answer;
  };
}
