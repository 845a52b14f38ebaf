/**
 * What gateways and tunnel relays need of tenancy. Callers cache the answers; `watch` reports which cached answers no longer hold.
 * Methods reject with PerdureError TEN0001 when tenancy cannot be reached.
 */
import type { EnvironmentFacts } from "./environment.js";
import type { AccountId, ApiKeyId, BareEnvironmentId, EnvironmentId, UserId } from "./ids.js";
import type { KeyRole, MemberRole } from "./roles.js";

/** A caller whose credential is valid for an environment. */
export type AuthenticatedCaller =
  | {
      readonly kind: "key";
      readonly id: ApiKeyId;
      readonly role: KeyRole;
      readonly expiresAtMs: number | undefined;
      /** Requests per second of this key alone at an endpoint, and its burst; absent: the rate of its environment. */
      readonly ratePerSecond?: number | undefined;
    }
  | { readonly kind: "member"; readonly id: UserId; readonly role: MemberRole; readonly expiresAtMs: number };

/** `unknown`: malformed, never issued, expired or revoked. `elsewhere`: valid, but for another environment or account. */
export type Authentication =
  | { readonly kind: "caller"; readonly caller: AuthenticatedCaller }
  | { readonly kind: "elsewhere" }
  | { readonly kind: "unknown" };

/** Change that makes a cache drop entries. `everything` follows a gap in the stream of changes, so it always comes first. */
export type TenancyChange =
  | { readonly kind: "everything" }
  | { readonly kind: "environment"; readonly id: EnvironmentId }
  | { readonly kind: "key"; readonly id: ApiKeyId; readonly environmentId: EnvironmentId }
  | { readonly kind: "member"; readonly id: UserId; readonly accountId: AccountId };

/**
 * Traffic through a gateway or relay since its start: totals that only grow, per source and environment. A report that arrives twice or
 * late changes nothing, since only the part above the source's last recorded total counts.
 */
export interface UsageReport {
  /** Name of one run of one process: a restarted process takes another name. */
  readonly source: string;
  readonly environmentId: EnvironmentId;
  readonly atMs: number;
  readonly totals: UsageTotals;
}

export interface UsageTotals {
  readonly ingressRequests: number;
  readonly adminRequests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly tunnelBytes: number;
}

/** A tunnel that is open at a relay. */
export interface TunnelConnection {
  readonly environmentId: EnvironmentId;
  /** Name of the tunnel; several connections may share it. */
  readonly name: string;
  /** Id of the connection, unique at its relay. */
  readonly id: string;
  readonly clientVersion: string | undefined;
  readonly workerId: string | undefined;
  readonly connectedAtMs: number;
  readonly inFlight: number;
  /** Ports of `tunnel://` that its client serves; undefined when the client declares none, or the relay is of an earlier release. */
  readonly ports?: readonly number[] | undefined;
}

/** Event for the audit log: a tunnel was opened or closed, or refused to a client that named an existing environment. */
export interface TunnelEvent {
  readonly kind: "opened" | "closed" | "refused";
  readonly atMs: number;
  readonly environmentId: EnvironmentId;
  /** Name of the tunnel; undefined when a refused client gave none. */
  readonly name?: string | undefined;
  /** Id of the connection at its relay. */
  readonly id?: string | undefined;
  /** Undefined when the credential was not valid for the environment. */
  readonly caller?: { readonly kind: AuthenticatedCaller["kind"]; readonly id: string } | undefined;
  readonly address?: string | undefined;
  /** Why the tunnel was refused. */
  readonly reason?: string | undefined;
  /** Number of earlier events of this kind that were dropped because there were too many. */
  readonly omitted: number;
}

/** All open tunnels of one relay. It replaces the relay's previous report and expires after half a minute. */
export interface TunnelsReport {
  readonly relay: string;
  readonly atMs: number;
  readonly connections: readonly TunnelConnection[];
  /** Events since the last report that was accepted; a report whose answer was lost may contain them twice. */
  readonly events?: readonly TunnelEvent[] | undefined;
}

/** Recent demand at one gateway for an endpoint of an environment, when this gateway or another one may have too small a share. */
export interface RateDemand {
  readonly environmentId: EnvironmentId;
  readonly door: "ingress" | "admin";
  readonly perSecond: number;
}

/** Sent by a gateway every second. It replaces the previous report and expires when no more follow. */
export interface GatewayReport {
  /** Name of one run of one process. */
  readonly gateway: string;
  readonly region: string;
  readonly demands: readonly RateDemand[];
}

/** The share of an environment's rate that a gateway may let in. */
export interface RateShare {
  readonly environmentId: EnvironmentId;
  readonly door: "ingress" | "admin";
  /** Share of the rate: more than 0, at most 1. */
  readonly share: number;
}

export interface RateShares {
  /** Running gateways of the region; each has an equal share of every environment that is not in the list. */
  readonly gateways: number;
  readonly shares: readonly RateShare[];
}

export interface Tenancy {
  /** Undefined when the environment never existed or is deleted. */
  environment(bare: BareEnvironmentId): Promise<EnvironmentFacts | undefined>;
  /** All environments that are not deleted, for gateways that listen on a port for each (development). */
  environments(): Promise<readonly EnvironmentFacts[]>;
  /** `credential`: the text after `Bearer `, an API key or an access token of a user. */
  authenticate(credential: string, environmentId: EnvironmentId): Promise<Authentication>;
  /** Calls `listener` until the signal aborts; reconnects by itself and then reports `everything`. */
  watch(listener: (change: TenancyChange) => void, options: { readonly signal: AbortSignal }): void;
  report(reports: readonly UsageReport[]): Promise<void>;
  reportTunnels(report: TunnelsReport): Promise<void>;
  /** Reports that a gateway runs and its demand, and returns its share of each environment's rate. */
  shareRates(report: GatewayReport): Promise<RateShares>;
  /**
   * The environment whose runtime sends this token (`DesiredRuntime.tunnels.token`) to the proxy of a relay; undefined for an unknown
   * token.
   */
  runtimeOf(token: string): Promise<EnvironmentId | undefined>;
}
