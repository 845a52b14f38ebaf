/** Defines the plans of accounts, which are rows of a table of tenancy (cloud.md §5.4). */
import type { EnvironmentLimits } from "./environment.js";

export interface AccountPlan {
  /** `free`, `team` … */
  readonly id: string;
  readonly name: string;
  readonly accountsPerOwnerMax: number;
  readonly environmentsPerAccountMax: number;
  /** Bound for each environment. */
  readonly apiKeysMax: number;
  /** Bound for an account; open invitations count. */
  readonly membersMax: number;
  /** Whether owners may choose the plan themselves. */
  readonly isSelfService: boolean;
  /** Invocation starts and journal steps of an account in a calendar month (UTC). */
  readonly actionsPerMonth: number;
  /** Tunnels and egress of an account in a calendar month. */
  readonly trafficBytesPerMonth: number;
  /** An environment without traffic for this long is suspended; undefined = never. */
  readonly idleSuspendMs: number | undefined;
  readonly limits: EnvironmentLimits;
}
