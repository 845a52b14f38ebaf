/** Why: the registry asks endpoints what they serve; this takes its questions to them, signed like every other request. */
import type { Clock } from "@perdure/base";
import { endpointBase, fetchOnce } from "@perdure/driver-http2";
import { type EndpointTransport, exchangeWhole, type RequestIdentity } from "@perdure/invoker";
import type { DiscoveryFetcher } from "./ports.js";

export interface DiscoveryFetcherPorts {
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
  /** Undefined: the questions carry no signature. */
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
}

export function createDiscoveryFetcher({ transports, identity, clock }: DiscoveryFetcherPorts): DiscoveryFetcher {
  return {
    async fetch({ target, responseBytesMax, timeoutMs, ...request }, signal) {
      const headers = { ...request.headers };
      // Made out to the path that the endpoint sees, which has no query.
      const basePath = target.kind === "http" ? (endpointBase(target.uri)?.basePath ?? "") : "";
      identity?.sign(headers, basePath + request.path, undefined);
      if (target.kind === "http") {
        const { uri, httpVersion } = target;
        const question = { ...request, headers, uri, httpVersion, responseBytesMax, timeoutMs };
        return fetchOnce({ transport: transports.http, clock }, question, { signal });
      }
      const address = { ...target, compression: undefined }; // Only its manifest tells whether it can unpack requests.
      const bounds = { responseBytesMax, timeoutMs };
      const answer = await exchangeWhole(
        { transport: transports.lambda, clock },
        { ...request, headers, address },
        bounds,
        signal,
      );
      return answer.kind === "failed" ? answer : { ...answer, httpVersion: undefined };
    },
  };
}
