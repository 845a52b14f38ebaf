/** Dependencies, options and interface of the relay. */
import type { AddressInfo } from "node:net";
import type { Clock, Logger, Random } from "@perdure/base";
import type { Tenancy } from "@perdure/cloud";
import type { CertificateSource } from "@perdure/http-server";
import type { Edge } from "@perdure/telemetry";
import type { RelayMetrics } from "./metrics.js";

export interface RelayPorts {
  readonly tenancy: Tenancy;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: RelayMetrics | undefined;
  /** Undefined: tracing is off. */
  readonly edge?: Edge | undefined;
}

export interface RelayOptions {
  /** Tunnels and requests of environments in other regions are refused. */
  readonly regions: readonly string[];
  /** Name of this relay, unique among all; shown beside its tunnels. */
  readonly relay: string;
  /** Origin of the proxy in addresses of deployments, with a port: `https://tunnel.us.perdure.dev:9080`. */
  readonly proxyUrl: string;
  /** Origin where clients reach this relay. */
  readonly tunnelUrl: string;
  /** Origins of other relays' proxies, requested when this relay has no connection with a name. */
  readonly peers?: readonly string[] | undefined;
  /** Origin whose host name has an address for each relay, besides `peers`; this relay may be one of them. */
  readonly peersService?: string | undefined;
  /** PEM certificates to trust at peers instead of the system's; called for each new connection. */
  readonly peersCa?: (() => string | undefined) | undefined;
  /** Default: 30. */
  readonly handshakesPerMinute?: number | undefined;
  /** Milliseconds that requests in flight may take once the relay closes. Default: 120 s. */
  readonly drainMs?: number | undefined;
}

export interface RelayListenOptions {
  readonly host?: string | undefined;
  /** 0 binds a free port. */
  readonly port: number;
  /** Certificates of the port; without them it is cleartext. */
  readonly certificates?: CertificateSource | undefined;
}

export interface TunnelRelay extends AsyncDisposable {
  /** Listens for tunnel clients. Rejects with RT0004. */
  listenTunnels(options: RelayListenOptions): Promise<AddressInfo>;
  /** Listens for runtimes and other relays. Rejects with RT0004. */
  listenProxy(options: RelayListenOptions): Promise<AddressInfo>;
  /**
   * Refuses new clients, notifies the connected ones to open another connection, waits for requests in flight, then closes everything.
   * Idempotent. An aborted signal ends the wait.
   */
  close(signal?: AbortSignal): Promise<void>;
  /** Reports traffic and open connections to tenancy now. Never rejects. */
  report(): Promise<void>;
  readonly stats: {
    readonly connections: number;
    readonly names: number;
    readonly inFlight: number;
    readonly handshakes: number;
  };
}
