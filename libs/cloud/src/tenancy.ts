/**
 * What the doors of the cloud (gateways, tunnel relays) ask of tenancy. Answers are meant to be cached by the asker; `watch` tells
 * what no longer holds. Methods reject with PerdureError TEN0001 when tenancy cannot be reached.
 */
import type { EnvironmentFacts } from "./environment.js";
import type { AccountId, ApiKeyId, BareEnvironmentId, EnvironmentId, UserId } from "./ids.js";
import type { KeyRole, MemberRole } from "./roles.js";

/** Somebody whose credential is good for an environment. */
export type AuthenticatedCaller =
  | {
      readonly kind: "key";
      readonly id: ApiKeyId;
      readonly role: KeyRole;
      readonly expiresAtMs: number | undefined;
      /** Requests per second that this key alone may make at a door, and as many at once; absent: what its environment may. */
      readonly ratePerSecond?: number | undefined;
    }
  | { readonly kind: "member"; readonly id: UserId; readonly role: MemberRole; readonly expiresAtMs: number };

/** `unknown`: malformed, never issued, expired or revoked. `elsewhere`: good, but for another environment or account. */
export type Authentication =
  | { readonly kind: "caller"; readonly caller: AuthenticatedCaller }
  | { readonly kind: "elsewhere" }
  | { readonly kind: "unknown" };

/** What a cache must forget. `everything` comes after a gap in the news, so the first one always. */
export type TenancyChange =
  | { readonly kind: "everything" }
  | { readonly kind: "environment"; readonly id: EnvironmentId }
  | { readonly kind: "key"; readonly id: ApiKeyId; readonly environmentId: EnvironmentId }
  | { readonly kind: "member"; readonly id: UserId; readonly accountId: AccountId };

/**
 * What passed a door since it was opened: totals that only grow, per source and environment. A report that arrives twice or late
 * changes nothing, since only what exceeds the source's last known total counts.
 */
export interface UsageReport {
  /** Of one life of one process: a restarted one takes another name. */
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
  /** Of the tunnel; several connections may share it. */
  readonly name: string;
  /** Of the connection, unique at its relay. */
  readonly id: string;
  readonly clientVersion: string | undefined;
  readonly workerId: string | undefined;
  readonly connectedAtMs: number;
  readonly inFlight: number;
  /** Ports of `tunnel://` that its client serves; undefined when the client declares none, or the relay is of an earlier release. */
  readonly ports?: readonly number[] | undefined;
}

/** For the audit log: a tunnel was opened or closed, or refused to somebody who named an environment that exists. */
export interface TunnelEvent {
  readonly kind: "opened" | "closed" | "refused";
  readonly atMs: number;
  readonly environmentId: EnvironmentId;
  /** Of the tunnel; undefined when a refused client named none. */
  readonly name?: string | undefined;
  /** Of the connection at its relay. */
  readonly id?: string | undefined;
  /** Undefined: the credential was not good for the environment. */
  readonly caller?: { readonly kind: AuthenticatedCaller["kind"]; readonly id: string } | undefined;
  readonly address?: string | undefined;
  /** Why it was refused. */
  readonly reason?: string | undefined;
  /** Events of this kind before it that were too many to be kept. */
  readonly omitted: number;
}

/** All tunnels that one relay holds now; it replaces what the relay said before, and is forgotten half a minute later. */
export interface TunnelsReport {
  readonly relay: string;
  readonly atMs: number;
  readonly connections: readonly TunnelConnection[];
  /** Since the last report that was taken; a report whose answer was lost may tell of them twice. */
  readonly events?: readonly TunnelEvent[] | undefined;
}

/** How much one gateway was asked lately for a door of an environment that it, or another gateway, may have too little for. */
export interface RateDemand {
  readonly environmentId: EnvironmentId;
  readonly door: "ingress" | "admin";
  readonly perSecond: number;
}

/** What a gateway says of itself every second; it replaces what it said before, and is forgotten when it says no more. */
export interface GatewayReport {
  /** Of one life of one process. */
  readonly gateway: string;
  readonly region: string;
  readonly demands: readonly RateDemand[];
}

/** What a gateway may let in of an environment's rate. */
export interface RateShare {
  readonly environmentId: EnvironmentId;
  readonly door: "ingress" | "admin";
  /** More than 0, at most 1. */
  readonly share: number;
}

export interface RateShares {
  /** Living ones of the region; each has an equal share of whatever is not in the list. */
  readonly gateways: number;
  readonly shares: readonly RateShare[];
}

export interface Tenancy {
  /** Undefined when it was never there or is deleted. */
  environment(bare: BareEnvironmentId): Promise<EnvironmentFacts | undefined>;
  /** All that are not deleted, for doors that listen on a port for each (development). */
  environments(): Promise<readonly EnvironmentFacts[]>;
  /** `credential` is what follows `Bearer `: an API key, or an access token of a user. */
  authenticate(credential: string, environmentId: EnvironmentId): Promise<Authentication>;
  /** Calls back until the signal aborts; reconnects by itself and then says `everything`. */
  watch(listener: (change: TenancyChange) => void, options: { readonly signal: AbortSignal }): void;
  report(reports: readonly UsageReport[]): Promise<void>;
  reportTunnels(report: TunnelsReport): Promise<void>;
  /** Says that a gateway lives and what it was asked, and answers what share of each environment's rate is its own. */
  shareRates(report: GatewayReport): Promise<RateShares>;
  /** Whose runtime shows this token (`WantedRuntime.tunnels.token`) at the proxy of a relay; undefined when nobody's. */
  runtimeOf(token: string): Promise<EnvironmentId | undefined>;
}
