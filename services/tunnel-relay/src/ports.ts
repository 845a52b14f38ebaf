/** Why: what the relay is made of and what it offers, apart from how it does it. */
import type { AddressInfo } from "node:net";
import type { Clock, Logger, Random } from "@perdure/base";
import type { Tenancy } from "@perdure/cloud";
import type { Edge } from "@perdure/role";
import type { CertificateSource } from "@perdure/role/http";
import type { RelayMetrics } from "./metrics.js";

export interface RelayPorts {
  readonly tenancy: Tenancy;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: RelayMetrics | undefined;
  /** Undefined: nobody traces. */
  readonly edge?: Edge | undefined;
}

export interface RelayOptions {
  /** Environments of other regions are let in nowhere here. */
  readonly regions: readonly string[];
  /** Of this relay among all; shown beside its tunnels. */
  readonly relay: string;
  /** Origin of the proxy as addresses have it, with a port: `https://tunnel.us.perdure.dev:9080`. */
  readonly proxyUrl: string;
  /** Origin where clients reach this relay. */
  readonly tunnelUrl: string;
  /** Origins of other relays' proxies, asked when nobody here has a name. */
  readonly peers?: readonly string[] | undefined;
  /** PEM certificates to trust at peers instead of the system's; called for each new connection. */
  readonly peersCa?: (() => string | undefined) | undefined;
  /** 30 unless said otherwise. */
  readonly handshakesPerMinute?: number | undefined;
  /** How long requests under way may take once it closes; 120 s unless said otherwise. */
  readonly drainMs?: number | undefined;
}

export interface RelayListenOptions {
  readonly host?: string | undefined;
  /** 0 takes a free one. */
  readonly port: number;
  /** Without it the port is cleartext. */
  readonly certificates?: CertificateSource | undefined;
}

export interface TunnelRelay extends AsyncDisposable {
  /** Where tunnel clients dial in. Rejects with RT0004. */
  listenTunnels(options: RelayListenOptions): Promise<AddressInfo>;
  /** Where runtimes and other relays ask. Rejects with RT0004. */
  listenProxy(options: RelayListenOptions): Promise<AddressInfo>;
  /**
   * Takes no new clients, tells those that are here to go elsewhere, lets requests under way finish, then closes all. Idempotent.
   * An aborted signal cuts the waiting short.
   */
  close(signal?: AbortSignal): Promise<void>;
  /** Tells tenancy now what passed, and who is here. Never rejects. */
  report(): Promise<void>;
  readonly stats: {
    readonly connections: number;
    readonly names: number;
    readonly inFlight: number;
    readonly handshakes: number;
  };
}
