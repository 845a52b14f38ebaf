/** Why: what an account may use is data in a table of tenancy (cloud.md §5.4); this is the shape of a row. */
import type { EnvironmentLimits } from "./environment.js";

export interface AccountPlan {
  /** `free`, `team` … */
  readonly id: string;
  readonly name: string;
  readonly accountsPerOwnerMax: number;
  readonly environmentsPerAccountMax: number;
  /** Of each environment. */
  readonly apiKeysMax: number;
  /** Of an account; open invitations count. */
  readonly membersMax: number;
  /** Whether owners may choose it themselves. */
  readonly isSelfService: boolean;
  /** Invocation starts and journal steps of an account in a calendar month (UTC). */
  readonly actionsPerMonth: number;
  /** Tunnels and egress of an account in a calendar month. */
  readonly trafficBytesPerMonth: number;
  /** An environment without traffic for so long is suspended; undefined = never. */
  readonly idleSuspendMs: number | undefined;
  readonly limits: EnvironmentLimits;
}
