/** Ports of the gateway, and the interface that it offers. */
import type { AddressInfo } from "node:net";
import type { Clock, Logger, Random } from "@perdure/base";
import type { BareEnvironmentId, Tenancy } from "@perdure/cloud";
import type { ForwardingKeys } from "@perdure/cloud/forwarding";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { CertificateSource } from "@perdure/http-server";
import type { Edge } from "@perdure/telemetry";
import type { Callers } from "./callers.js";
import type { GatewayEndpoint, GatewayEnvironments } from "./environments.js";
import type { NetworkLimits } from "./limits.js";
import type { GatewayMetrics } from "./metrics.js";

export interface GatewayPorts {
  readonly tenancy: Tenancy;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: GatewayMetrics | undefined;
  /** Undefined: requests are not traced. */
  readonly edge?: Edge | undefined;
}

export interface GatewayOptions {
  /** Region of this gateway, e.g. `us`. */
  readonly region: string;
  /** Host names are `<bare>.env.<region>.<domain>`. */
  readonly domain: string;
  /** The `iss` of access tokens. */
  readonly issuer: string;
  /** Origin of the web console: target of `/ui`, and the only origin that may call the management API from a browser. */
  readonly consoleUrl?: string | undefined;
  /** Keys shared with tenancy, which signs the client address of requests of the console; without keys they count for tenancy's address. */
  readonly forwarding?: ForwardingKeys | undefined;
  /** One log line per request; true by default. */
  readonly logsRequests?: boolean;
  readonly drainMs?: number;
  /** Open connections that one network may have; CONNECTIONS_PER_NETWORK_MAX by default. */
  readonly connectionsPerNetworkMax?: number;
  /** Other limits of one network; NETWORK_LIMITS by default. */
  readonly networkLimits?: NetworkLimits;
  /** Proxies in front of this gateway; their clients are distinguished by the addresses that they report. */
  readonly trustedProxies?: TrustedProxies | undefined;
}

export interface ListenOptions {
  readonly endpoint: GatewayEndpoint;
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Certificates of the port; without them it is cleartext. */
  readonly certificates?: CertificateSource | undefined;
  /** The environment of the port, whatever host is named (cloud.md §1.8, development). */
  readonly environment?: BareEnvironmentId | undefined;
}

export interface OpenListener extends AsyncDisposable {
  readonly address: AddressInfo;
}

export interface CloudGateway extends AsyncDisposable {
  /** Opens one more port. Rejects with RT0004. */
  listen(options: ListenOptions): Promise<OpenListener>;
  /** Closes all ports, lets running requests finish for `drainMs`, reports usage. Idempotent. */
  close(): Promise<void>;
  /** Reports the demand to tenancy now, and applies the returned shares of rates. Never rejects. */
  shareRates(): Promise<void>;
  /** Reports usage to tenancy now. Never rejects. */
  reportUsage(): Promise<void>;
  readonly inFlight: number;
  readonly stats: {
    readonly heldRefusals: number;
    /** Admitted requests that wait for their environment's turn. */
    readonly waiting: number;
    /** Admitted requests that wait until their environment has woken up. */
    readonly heldForWaking: number;
    /** Running gateways of the region, among which rates are divided. */
    readonly gateways: number;
    readonly callers: Callers["stats"];
    readonly environments: GatewayEnvironments["stats"];
  };
}
