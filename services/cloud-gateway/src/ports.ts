/** Why: what the gateway is made of and what it offers, apart from how it does it. */
import type { AddressInfo } from "node:net";
import type { Clock, Logger, Random } from "@perdure/base";
import type { BareEnvironmentId, Tenancy } from "@perdure/cloud";
import type { ForwardingKeys } from "@perdure/cloud/forwarding";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { Edge } from "@perdure/role";
import type { CertificateSource } from "@perdure/role/http";
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
  /** Undefined: nobody traces. */
  readonly edge?: Edge | undefined;
}

export interface GatewayOptions {
  /** Of this gateway, e.g. `us`. */
  readonly region: string;
  /** Host names are `<bare>.env.<region>.<domain>`. */
  readonly domain: string;
  /** The `iss` of access tokens. */
  readonly issuer: string;
  /** Origin of the web console: where `/ui` leads, and who may call the management API from a browser. */
  readonly consoleUrl?: string | undefined;
  /** Shared with tenancy, which says for whom it carries requests of the console; without it all of them are its own. */
  readonly forwarding?: ForwardingKeys | undefined;
  /** One log line per request; true unless said otherwise. */
  readonly logsRequests?: boolean;
  readonly drainMs?: number;
  /** Open connections that one network may have; CONNECTIONS_PER_NETWORK_MAX unless said otherwise. */
  readonly connectionsPerNetworkMax?: number;
  /** What else one network may do; NETWORK_LIMITS unless said otherwise. */
  readonly networkLimits?: NetworkLimits;
  /** In front of this gateway; their clients are then told apart by what they report. */
  readonly trustedProxies?: TrustedProxies | undefined;
}

export interface ListenOptions {
  readonly endpoint: GatewayEndpoint;
  readonly host?: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Without it the port is cleartext. */
  readonly certificates?: CertificateSource | undefined;
  /** Whose port it is, whatever host is named (cloud.md §1.8, development). */
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
  /** Tells tenancy now what was asked, and takes its share of rates. Never rejects. */
  shareRates(): Promise<void>;
  /** Tells tenancy now what passed. Never rejects. */
  reportUsage(): Promise<void>;
  readonly inFlight: number;
  readonly stats: {
    readonly heldRefusals: number;
    /** Admitted requests that wait for their environment's turn. */
    readonly waiting: number;
    /** Admitted requests whose environment is being woken. */
    readonly heldForWaking: number;
    /** Living gateways of the region, among which rates are divided. */
    readonly gateways: number;
    readonly callers: Callers["stats"];
    readonly environments: GatewayEnvironments["stats"];
  };
}
