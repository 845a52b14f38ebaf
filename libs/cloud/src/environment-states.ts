/** Why: the life of an environment as a table (cloud.md §5.2): what is not in it cannot happen. */
import type { EnvironmentStatus } from "./environment.js";

export const environmentStatuses = ["PENDING", "ACTIVE", "FAILED", "SUSPENDED", "DELETING", "DELETED"] as const;

export type EnvironmentEvent =
  /** Its runtime answers. */
  | "provisioned"
  /** It could not be made, after all tries. */
  | "provisioningFailed"
  /** It worked, and could not be brought up again for long. */
  | "gaveUp"
  /** Somebody asks for one more round of tries. */
  | "retry"
  | "suspend"
  | "resume"
  | "destroy"
  /** Within the window, by an owner. */
  | "undelete"
  /** The same, of one that was suspended: deleting is no way around a suspension. */
  | "undeleteSuspended"
  /** Its data and the key to it are gone. */
  | "erased";

const TABLE: Readonly<Record<EnvironmentStatus, Readonly<Partial<Record<EnvironmentEvent, EnvironmentStatus>>>>> = {
  PENDING: { provisioned: "ACTIVE", provisioningFailed: "FAILED" },
  ACTIVE: { gaveUp: "FAILED", suspend: "SUSPENDED", destroy: "DELETING" },
  FAILED: { retry: "PENDING", destroy: "DELETING" },
  SUSPENDED: { resume: "ACTIVE", destroy: "DELETING" },
  DELETING: { undelete: "PENDING", undeleteSuspended: "SUSPENDED", erased: "DELETED" },
  DELETED: {},
};

/** The status after the event; undefined when it is not allowed. */
export function afterEvent(status: EnvironmentStatus, event: EnvironmentEvent): EnvironmentStatus | undefined {
  return TABLE[status][event];
}

/** What an environment is in must be what the event needs: the statuses it is allowed in. */
export function statusesBefore(event: EnvironmentEvent): readonly EnvironmentStatus[] {
  return environmentStatuses.filter((status) => TABLE[status][event] !== undefined);
}
