/** An environment as doors and runtimes need to know it. */
import type { Secret } from "@perdure/base";
import type { AccountId, EnvironmentId } from "./ids.js";

/** As the Cloud API names them (cloud.md §5.2). */
export type EnvironmentStatus = "PENDING" | "ACTIVE" | "FAILED" | "SUSPENDED" | "DELETING" | "DELETED";

export interface Rate {
  /** Requests per second in the long run. */
  readonly perSecond: number;
  /** How many may come at once. */
  readonly burst: number;
}

/** What the plan of its account allows an environment (cloud.md §5.4); values live in a table of tenancy, not in code. */
export interface EnvironmentLimits {
  readonly ingressRate: Rate;
  readonly adminRate: Rate;
  /** Of a request's or an answer's body. */
  readonly bodyBytesMax: number;
  readonly concurrentInvocationsMax: number;
  readonly storedBytesMax: number;
  readonly retentionMsMax: number;
  readonly deploymentsMax: number;
  readonly servicesMax: number;
  readonly subscriptionsMax: number;
  readonly tunnelNamesMax: number;
  readonly tunnelConnectionsMax: number;
  readonly memoryMibMax: number;
  /** Whether endpoints may be plain `http:`. */
  readonly plainHttpAllowed: boolean;
}

/** Header by which a runtime knows those who may call it. */
export const RUNTIME_SECRET_HEADER = "x-perdure-runtime-secret";

/** Where an environment's runtime answers inside, as origins (`http://127.0.0.1:41080`). */
export interface Upstream {
  readonly ingress: string;
  readonly admin: string;
  /** Shown in `RUNTIME_SECRET_HEADER` by whoever may call it, so that no other process of the machine can; absent where a runtime wants none. */
  readonly secret?: Secret;
}

/** Of an environment whose traffic is used up, at each door (cloud.md §5.4). */
export const THROTTLED_BYTES_PER_SECOND = 1024 * 1024;

/** `asleep`: its processes are away, or about to go, and a caller who is known wakes it; `waking`: they are on their way back. */
export type EnvironmentSleep = "asleep" | "waking";

export interface EnvironmentFacts {
  readonly id: EnvironmentId;
  readonly accountId: AccountId;
  readonly region: string;
  readonly status: EnvironmentStatus;
  /** Undefined while no runtime answers. */
  readonly upstream: Upstream | undefined;
  /** Absent while it is awake, and where runtimes never sleep; `upstream` does not answer meanwhile. */
  readonly sleep?: EnvironmentSleep;
  /** What tenants call, without a slash at the end. */
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** `publickeyv1_…`; the first one signs now, the next may follow it (cloud.md §3.5). */
  readonly signingPublicKeys: readonly string[];
  readonly limits: EnvironmentLimits;
  /** Origins that browsers may call the ingress from; `*` = any, without credentials. */
  readonly corsOrigins: readonly string[];
  /** Its account used up the month's traffic: doors and relays let its bytes through at `THROTTLED_BYTES_PER_SECOND`. */
  readonly isThrottled?: boolean;
  /** Whether an `Authorization` that is none of ours goes on to the handler. */
  readonly forwardsForeignAuthorization: boolean;
}
