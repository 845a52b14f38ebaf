/** What the parts of tenancy are made with. */
import type { Clock, Logger, Random, SummaryLog } from "@perdure/base";
import type { EnvironmentId, EnvironmentSleep } from "@perdure/cloud";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { TenancyDatabase } from "@perdure/driver-postgres";
import type { LogLine, LogSpan } from "@perdure/driver-process";
import type { EnvironmentAddresses } from "./addresses.js";
import type { CallRates } from "./api/call-rates.js";
import type { PlanQuota } from "./api/errors.js";
import type { Rates } from "./login/rates.js";
import type { EnvironmentKeys } from "./secrets/environment-keys.js";
import type { KeyRing } from "./secrets/key-ring.js";
import type { AccessTokens } from "./tokens/access-tokens.js";

/** Who sleeps, as this process sees it. */
export interface HibernationMonitor {
  /** Undefined: it is awake, or nothing is known of it yet. */
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
  /** Of operations of the Cloud API. */
  readonly calls: CallRates;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Of what fails for each request alike. */
  readonly failures: SummaryLog;
  /** Told when somebody wants more than their plan allows. */
  readonly onPlanLimit?: ((quota: PlanQuota) => void) | undefined;
  /** Told when somebody wants an environment, so that one that sleeps gets up; often, and cheap. */
  readonly onDemand?: ((id: EnvironmentId) => void) | undefined;
  /** Undefined where runtimes never sleep. */
  readonly hibernation?: HibernationMonitor | undefined;
  /** What runtimes said; undefined where this process cannot see it. */
  readonly readLogs?: ((id: EnvironmentId, span: LogSpan) => Promise<readonly LogLine[]>) | undefined;
}

export interface TenancyOptions {
  /** Where environments can be made. */
  readonly regions: readonly string[];
  /** For `DescribeEnvironment`: who assumes customers' roles on AWS Lambda; undefined where Lambda is not offered. */
  readonly lambdaPrincipalArn: string | undefined;
  /** In front of the Cloud API; their clients are then told apart by what they report. */
  readonly trustedProxies?: TrustedProxies | undefined;
  /** Requests that are answered at the same time; REQUESTS unless said otherwise. */
  readonly requests?: RequestLimits | undefined;
}

export interface RequestLimits {
  readonly atOnceMax: number;
  readonly ofNetworkMax: number;
}
