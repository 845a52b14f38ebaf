/** Dependencies of the Cloud API. */
import type { EnvironmentId } from "@perdure/cloud";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { PlanQuota } from "@perdure/cloud-requests";
import type { EnvironmentPorts } from "@perdure/environments";
import type { IdentityPorts } from "@perdure/identity";
import type { LogLine, LogSpan } from "@perdure/os-process";
import type { CallRates } from "./call-rates.js";

export interface TenancyPorts extends EnvironmentPorts, IdentityPorts {
  /** Rates of operations of the Cloud API. */
  readonly calls: CallRates;
  /** Called when a request exceeds its plan. */
  readonly onPlanLimit?: ((quota: PlanQuota) => void) | undefined;
  /** Log lines of runtimes; undefined where this process cannot read them. */
  readonly readLogs?: ((id: EnvironmentId, span: LogSpan) => Promise<readonly LogLine[]>) | undefined;
}

export interface TenancyOptions {
  /** Regions where environments can be made. */
  readonly regions: readonly string[];
  /** Principal that assumes customers' roles on AWS Lambda, shown by `DescribeEnvironment`; undefined where Lambda is not offered. */
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
