/**
 * Why: the registry talks to endpoints and asks about invocations through these, and opens no socket itself. `fetchOnce` of the
 * HTTP driver answers the first of them for http addresses as it is.
 */
import type { DeploymentId } from "@perdure/base";
import type { TransportFailure } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";

/** Whom to ask. `auto`: HTTP/2 for cleartext addresses, whatever TLS agrees on otherwise. */
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
      /** What the connection spoke; `undefined` for Lambda. */
      readonly httpVersion: "HTTP/1.0" | "HTTP/1.1" | "HTTP/2.0" | undefined;
    }
  | { readonly kind: "failed"; readonly failure: TransportFailure };

/** Never rejects; an aborted signal ends the request as a `client` failure. */
export interface DiscoveryFetcher {
  fetch(request: DiscoveryRequest, signal: AbortSignal): Promise<DiscoveryAnswer>;
}

/** Counts unfinished invocations; asked before a deployment is removed without force. */
export type CountUsage = (id: DeploymentId, services: readonly string[]) => Promise<DeploymentUsage>;
