/**
 * Ports through which the registry requests endpoints and counts invocations; it opens no socket itself. `fetchOnce` of the HTTP driver
 * implements the first of them for http addresses as it is.
 */
import type { DeploymentId } from "@perdure/base";
import type { TransportFailure } from "@perdure/endpoint-transport";
import type { DeploymentUsage } from "@perdure/metadata";

/** Destination of the request. `auto`: HTTP/2 for cleartext addresses, otherwise the protocol that TLS negotiates. */
export type DiscoveryTarget =
  | { readonly kind: "http"; readonly uri: string; readonly httpVersion: "HTTP/1.1" | "HTTP/2.0" | "auto" }
  | { readonly kind: "lambda"; readonly arn: string; readonly assumeRoleArn: string | undefined };

export interface DiscoveryRequest {
  readonly target: DiscoveryTarget;
  readonly method: "GET";
  /** Appended to the target's base path. */
  readonly path: "/discover";
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A longer body is a `protocol` failure. */
  readonly responseBytesMax: number;
  readonly timeoutMs: number;
}

export type DiscoveryAnswer =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string | undefined>>;
      readonly body: Uint8Array;
      /** Protocol of the connection; `undefined` for Lambda. */
      readonly httpVersion: "HTTP/1.0" | "HTTP/1.1" | "HTTP/2.0" | undefined;
    }
  | { readonly kind: "failed"; readonly failure: TransportFailure };

/** Never rejects; an aborted signal ends the request as a `client` failure. */
export interface DiscoveryFetcher {
  fetch(request: DiscoveryRequest, signal: AbortSignal): Promise<DiscoveryAnswer>;
}

/** Counts unfinished invocations; called before a deployment is removed without force. */
export type CountUsage = (id: DeploymentId, services: readonly string[]) => Promise<DeploymentUsage>;
