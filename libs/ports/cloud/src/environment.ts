/** An environment as gateways, relays and runtimes need it. */
import type { Secret } from "@perdure/base";
import type { AccountId, EnvironmentId } from "./ids.js";

/** States of an environment in the Cloud API (cloud.md §5.2). */
export type EnvironmentStatus = "PENDING" | "ACTIVE" | "FAILED" | "SUSPENDED" | "DELETING" | "DELETED";

export interface Rate {
  /** Requests per second in the long run. */
  readonly perSecond: number;
  /** Requests that may arrive at once. */
  readonly burst: number;
}

/** Limits of the account's plan for each environment (cloud.md §5.4); the values are rows of a table of tenancy. */
export interface EnvironmentLimits {
  readonly ingressRate: Rate;
  readonly adminRate: Rate;
  /** Bound of the body of a request and of a response. */
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

/** Header with the secret by which a runtime recognises permitted callers. */
export const RUNTIME_SECRET_HEADER = "x-perdure-runtime-secret";

/** Internal addresses of an environment's runtime, as origins (`http://127.0.0.1:41080`). */
export interface Upstream {
  readonly ingress: string;
  readonly admin: string;
  /**
   * Callers send it in `RUNTIME_SECRET_HEADER`, so that no other process of the machine can call the runtime; absent where a runtime needs
   * none.
   */
  readonly secret?: Secret;
}

/** Bandwidth of an environment whose traffic allowance is used up, at each gateway and relay (cloud.md §5.4). */
export const THROTTLED_BYTES_PER_SECOND = 1024 * 1024;

/** `asleep`: the processes are stopped or about to stop, and an authenticated request wakes them; `waking`: they are starting. */
export type EnvironmentSleep = "asleep" | "waking";

export interface EnvironmentFacts {
  readonly id: EnvironmentId;
  readonly accountId: AccountId;
  readonly region: string;
  readonly status: EnvironmentStatus;
  /** Undefined while no runtime answers. */
  readonly upstream: Upstream | undefined;
  /** Absent while the environment is awake, and where runtimes never hibernate; while set, `upstream` does not answer. */
  readonly sleep?: EnvironmentSleep;
  /** The address that tenants call, without a slash at the end. */
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** `publickeyv1_…`; the first one signs now, the next one may replace it (cloud.md §3.5). */
  readonly signingPublicKeys: readonly string[];
  readonly limits: EnvironmentLimits;
  /** Origins that browsers may call the ingress from; `*` = any, without credentials. */
  readonly corsOrigins: readonly string[];
  /** The account used up the month's traffic: gateways and relays limit it to `THROTTLED_BYTES_PER_SECOND`. */
  readonly isThrottled?: boolean;
  /** Whether an `Authorization` value that is not a cloud credential is forwarded to the handler. */
  readonly forwardsForeignAuthorization: boolean;
}
