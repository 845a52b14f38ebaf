/** What the parts of tenancy are made with. */
import type { Clock, Logger, Random } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import type { TenancyDatabase } from "@perdure/driver-postgres";
import type { LogLine, LogSpan } from "@perdure/driver-process";
import type { Addresses } from "./addresses.js";
import type { PlanQuota } from "./api/errors.js";
import type { EnvironmentKeys } from "./secrets/environment-keys.js";
import type { KeyRing } from "./secrets/key-ring.js";
import type { AccessTokens } from "./tokens/access-tokens.js";

export interface TenancyPorts {
  readonly database: TenancyDatabase;
  readonly ring: KeyRing;
  readonly keys: EnvironmentKeys;
  readonly tokens: AccessTokens;
  readonly addresses: Addresses;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Told when somebody wants more than their plan allows. */
  readonly onPlanLimit?: ((quota: PlanQuota) => void) | undefined;
  /** Told when somebody wants an environment, so that one that sleeps gets up; often, and cheap. */
  readonly onWanted?: ((id: EnvironmentId) => void) | undefined;
  /** What runtimes said; undefined where this process cannot see it. */
  readonly readLogs?: ((id: EnvironmentId, span: LogSpan) => Promise<readonly LogLine[]>) | undefined;
}

export interface TenancyOptions {
  /** Where environments can be made. */
  readonly regions: readonly string[];
  /** For `DescribeEnvironment`: who assumes customers' roles on AWS Lambda; undefined where Lambda is not offered. */
  readonly lambdaPrincipalArn: string | undefined;
}
