/** Dependencies of the parts of tenancy. */
import type { Clock, Logger, Random, SummaryLog } from "@perdure/base";
import type { EnvironmentId, EnvironmentSleep } from "@perdure/cloud";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { LogLine, LogSpan } from "@perdure/os-process";
import type { TenancyDatabase } from "@perdure/postgres";
import type { EnvironmentAddresses } from "./addresses.js";
import type { CallRates } from "./api/call-rates.js";
import type { PlanQuota } from "./api/errors.js";
import type { Rates } from "./login/rates.js";
import type { EnvironmentKeys } from "./secrets/environment-keys.js";
import type { KeyRing } from "./secrets/key-ring.js";
import type { AccessTokens } from "./tokens/access-tokens.js";

/** Hibernated environments, as this process sees them. */
export interface HibernationMonitor {
  /** Undefined: the environment is awake, or its state is not known yet. */
  sleepOf(id: EnvironmentId): EnvironmentSleep | undefined;
  /** Calls back after each change, until the signal aborts. */
  watch(listener: (id: EnvironmentId) => void, options: { readonly signal: AbortSignal }): void;
}

export interface TenancyPorts {
  readonly database: TenancyDatabase;
  readonly ring: KeyRing;
  readonly keys: EnvironmentKeys;
  readonly tokens: AccessTokens;
  readonly addresses: EnvironmentAddresses;
  readonly rates: Rates;
  /** Rates of operations of the Cloud API. */
  readonly calls: CallRates;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Summarises failures that are the same for each request. */
  readonly failures: SummaryLog;
  /** Called when a request exceeds its plan. */
  readonly onPlanLimit?: ((quota: PlanQuota) => void) | undefined;
  /** Called often when an environment gets requests, to wake it if it is hibernated; cheap. */
  readonly onDemand?: ((id: EnvironmentId) => void) | undefined;
  /** Undefined where runtimes never hibernate. */
  readonly hibernation?: HibernationMonitor | undefined;
  /** Log lines of runtimes; undefined where this process cannot read them. */
  readonly readLogs?: ((id: EnvironmentId, span: LogSpan) => Promise<readonly LogLine[]>) | undefined;
}

export interface TenancyOptions {
  /** Regions where environments can be made. */
  readonly regions: readonly string[];
  /** For `DescribeEnvironment`: the principal that assumes customers' roles on AWS Lambda; undefined where Lambda is not offered. */
  readonly lambdaPrincipalArn: string | undefined;
  /** Proxies in front of the Cloud API; their clients are distinguished by the addresses that they report. */
  readonly trustedProxies?: TrustedProxies | undefined;
  /** Bounds of open requests; by default those of `limits.ts`. */
  readonly requests?: RequestLimits | undefined;
}

export interface RequestLimits {
  readonly atOnceMax: number;
  readonly ofNetworkMax: number;
}
