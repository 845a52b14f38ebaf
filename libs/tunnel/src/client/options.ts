/** Why: what a tunnel is opened with, and what there is once it is open. */
import type { Clock, Random } from "@perdure/base";

/** A port of `tunnel://<name>:<tunnelPort>`, and where its requests go. */
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
  /** DNS name whose SRV records lead to relays; looked up again now and then. */
  readonly srv?: string | undefined;
  /** Asked for each connection, so that a token that was renewed is used. */
  readonly credential: () => Promise<string>;
  /** `publickeyv1_…`, all that may sign. At least one. */
  readonly signingPublicKeys: readonly string[];
  readonly locals: readonly TunnelLocal[];
  /** Further destinations that requests may name: `http://host:port`. Nothing else is dialled. */
  readonly allow?: readonly string[] | undefined;
  readonly clientVersion: string;
  /** Shown beside the tunnel; the same for all connections of this process. */
  readonly workerId?: string | undefined;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** How long requests under way may take once the tunnel closes; 120 s unless said otherwise. */
  readonly drainMs?: number | undefined;
  /** Looks SRV records up; the system's resolver unless said otherwise. */
  readonly resolveSrv?: ((name: string) => Promise<readonly SrvRecord[]>) | undefined;
}

/** What a relay says once it lets us in. */
export interface TunnelReady {
  readonly name: string;
  readonly proxyUrl: string;
}

/** Why a tunnel is over. `refused`: see the event of that kind. */
export type TunnelEnding =
  | { readonly kind: "closed" }
  | { readonly kind: "refused"; readonly status: "unauthorized" | "bad-tunnel-name" | "too-many-tunnels" | "name-changed" };

export interface ClientTunnel extends AsyncDisposable {
  /** Resolves when the first connection serves; undefined when the tunnel ends before. Never rejects. */
  readonly ready: Promise<TunnelReady | undefined>;
  /** Resolves when nothing is left of it. Never rejects. */
  readonly ended: Promise<TunnelEnding>;
  /** Connections that serve now. */
  readonly connections: number;
  /** Requests under way. */
  readonly inFlight: number;
  /** Takes no new requests, lets those under way finish, then closes. Idempotent. */
  close(): Promise<void>;
}
