/** Sends discovery requests to endpoints, signed like every other request. */
import type { Clock } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import { type EndpointTransport, exchangeWhole, type RequestIdentity } from "@perdure/endpoint-transport";
import { fetchOnce } from "@perdure/http-client";
import type { TunnelRoutes } from "@perdure/tunnel";
import type { DiscoveryFetcher } from "./ports.js";

interface DiscoveryFetcherPorts {
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
  /** Undefined: requests carry no signature. */
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
  /** The egress guard of the HTTP transport. */
  readonly guard?: EgressGuard | undefined;
  /** The tunnels of the HTTP transport. */
  readonly tunnels?: TunnelRoutes | undefined;
}

export function createDiscoveryFetcher({ transports, identity, clock, guard, tunnels }: DiscoveryFetcherPorts): DiscoveryFetcher {
  return {
    async fetch({ target, responseBytesMax, timeoutMs, ...request }, signal) {
      const headers = { ...request.headers };
      // The audience of the token is the service's own path, whatever prefix it is mounted below: SDKs check no more (cloud.md §3.2).
      identity?.sign(headers, request.path, undefined);
      if (target.kind === "http" && tunnels?.routeOf(target.uri).kind === "own") {
        // The protocol of an endpoint behind a tunnel cannot be probed; clients accept HTTP/2 unless configured otherwise.
        const httpVersion = target.httpVersion === "auto" ? "HTTP/2.0" : target.httpVersion;
        const endpointRequest = { ...request, headers, address: { kind: "http", uri: target.uri, httpVersion } } as const;
        const answer = await exchangeWhole(
          { transport: transports.http, clock },
          endpointRequest,
          { responseBytesMax, timeoutMs },
          signal,
        );
        return answer.kind === "failed" ? answer : { ...answer, httpVersion };
      }
      if (target.kind === "http") {
        const { uri, httpVersion } = target;
        const question = { ...request, headers, uri, httpVersion, responseBytesMax, timeoutMs };
        return fetchOnce({ transport: transports.http, clock, guard }, question, { signal });
      }
      const address = { ...target, compression: undefined }; // Only its manifest shows whether it can decompress requests.
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
