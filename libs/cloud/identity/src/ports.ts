/** Dependencies of sign-in, sessions and tokens of users. */
import type { SummaryLog } from "@perdure/base";
import type { AccessTokens, CredentialPorts } from "@perdure/credentials";
import type { EnvironmentAddresses } from "@perdure/environments";
import type { Rates } from "./rates.js";

export interface IdentityPorts extends CredentialPorts {
  readonly tokens: AccessTokens;
  readonly addresses: EnvironmentAddresses;
  readonly rates: Rates;
  /** Summarises failures that are the same for each request. */
  readonly failures: SummaryLog;
}
