/** Why: the registry asks endpoints what they serve; this takes its questions to them, signed like every other request. */
import type { Clock } from "@perdure/base";
import { endpointBase, fetchOnce } from "@perdure/driver-http2";
import type { EndpointTransport, RequestIdentity } from "@perdure/invoker";
import type { DiscoveryFetcher } from "@perdure/registry";

export interface DiscoveryFetcherPorts {
  readonly http: EndpointTransport;
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
}

const NO_LAMBDA = "this server has no Lambda client";

export function createDiscoveryFetcher({ http, identity, clock }: DiscoveryFetcherPorts): DiscoveryFetcher {
  return {
    async fetch({ target, ...request }, signal) {
      if (target.kind === "lambda") return { kind: "failed", failure: { kind: "client", message: NO_LAMBDA } };
      const { uri, httpVersion } = target;
      const headers = { ...request.headers };
      // Made out to the path the endpoint sees, which has no query.
      identity?.sign(headers, (endpointBase(uri)?.basePath ?? "") + request.path, undefined);
      return fetchOnce({ transport: http, clock }, { ...request, headers, uri, httpVersion }, { signal });
    },
  };
}
