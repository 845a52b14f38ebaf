/** The states of an environment and their transitions, as a table (cloud.md §5.2). A transition that is not in the table is rejected. */
import type { EnvironmentStatus } from "./environment.js";

export const environmentStatuses = ["PENDING", "ACTIVE", "FAILED", "SUSPENDED", "DELETING", "DELETED"] as const;

export type EnvironmentEvent =
  /** The runtime of the environment answers. */
  | "provisioned"
  /** The runtime could not be created after all attempts. */
  | "provisioningFailed"
  /** The runtime worked before, and could not be restarted for a long time. */
  | "gaveUp"
  /** A caller requests one more round of attempts. */
  | "retry"
  | "suspend"
  | "resume"
  | "destroy"
  /** An owner restores the environment within the retention window. */
  | "undelete"
  /** The same for an environment that was suspended: deleting must not end a suspension. */
  | "undeleteSuspended"
  /** The data of the environment and its encryption key are deleted. */
  | "erased";

const TABLE: Readonly<Record<EnvironmentStatus, Readonly<Partial<Record<EnvironmentEvent, EnvironmentStatus>>>>> = {
  PENDING: { provisioned: "ACTIVE", provisioningFailed: "FAILED" },
  ACTIVE: { gaveUp: "FAILED", suspend: "SUSPENDED", destroy: "DELETING" },
  FAILED: { retry: "PENDING", destroy: "DELETING" },
  SUSPENDED: { resume: "ACTIVE", destroy: "DELETING" },
  DELETING: { undelete: "PENDING", undeleteSuspended: "SUSPENDED", erased: "DELETED" },
  DELETED: {},
};

/** The status after the event; undefined when the event is not allowed in `status`. */
export function afterEvent(status: EnvironmentStatus, event: EnvironmentEvent): EnvironmentStatus | undefined {
  return TABLE[status][event];
}

/** The statuses in which the event is allowed. */
export function statusesBefore(event: EnvironmentEvent): readonly EnvironmentStatus[] {
  return environmentStatuses.filter((status) => TABLE[status][event] !== undefined);
}
