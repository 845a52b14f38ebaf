/** Options of a tunnel and the interface of an open one. */
import type { Clock, Random } from "@perdure/base";

/** A port of `tunnel://<name>:<tunnelPort>` and the local address that its requests are forwarded to. */
export interface TunnelLocal {
  readonly tunnelPort: number;
  /** `127.0.0.1` for this machine. */
  readonly host: string;
  readonly port: number;
}

/** One record of a name's SRV set. */
export interface SrvRecord {
  readonly name: string;
  readonly port: number;
}

export interface TunnelOptions {
  readonly environmentId: string;
  readonly name: string;
  /**
   * Relays, one connection to each: `host:port` and `tls://host:port` (TLS), `https://host[:port]`, or `http://host:port` without TLS.
   * Either these or `srv`.
   */
  readonly servers?: readonly string[] | undefined;
  /** DNS name with the SRV records of relays; resolved periodically. */
  readonly srv?: string | undefined;
  /** Called for each connection, so that a renewed token is used. */
  readonly credential: () => Promise<string>;
  /** `publickeyv1_…`, all accepted signing keys. At least one. */
  readonly signingPublicKeys: readonly string[];
  readonly locals: readonly TunnelLocal[];
  /** Further destinations that requests may name: `http://host:port`. All others are refused. */
  readonly allow?: readonly string[] | undefined;
  readonly clientVersion: string;
  /** Shown beside the tunnel; the same for all connections of this process. */
  readonly workerId?: string | undefined;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds that requests in flight may take once the tunnel closes. Default: 120 s. */
  readonly drainMs?: number | undefined;
  /** Resolves SRV records. Default: the system's resolver. */
  readonly resolveSrv?: ((name: string) => Promise<readonly SrvRecord[]>) | undefined;
}

/** Facts from the relay after it accepted the tunnel. */
export interface TunnelReady {
  readonly name: string;
  readonly proxyUrl: string;
}

/** The reason why a tunnel ended. `refused`: see the event of that kind. */
export type TunnelEnding =
  | { readonly kind: "closed" }
  | { readonly kind: "refused"; readonly status: "unauthorized" | "bad-tunnel-name" | "too-many-tunnels" | "name-changed" };

export interface ClientTunnel extends AsyncDisposable {
  /** Resolves when the first connection serves; undefined when the tunnel ends before. Never rejects. */
  readonly ready: Promise<TunnelReady | undefined>;
  /** Resolves when all connections are closed. Never rejects. */
  readonly ended: Promise<TunnelEnding>;
  /** Connections that serve now. */
  readonly connections: number;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Takes no new requests, waits for those in flight, then closes. Idempotent. */
  close(): Promise<void>;
}
