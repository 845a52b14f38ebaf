/** Dependencies of the parts of tenancy that manage environments and answer gateways and relays. */
import type { EnvironmentId, EnvironmentSleep } from "@perdure/cloud";
import type { AccessTokens, CredentialPorts, EnvironmentKeys } from "@perdure/credentials";
import type { EnvironmentAddresses } from "./addresses.js";

/** Hibernated environments, as this process sees them. */
export interface HibernationMonitor {
  /** Undefined: the environment is awake, or its state is not known yet. */
  sleepOf(id: EnvironmentId): EnvironmentSleep | undefined;
  /** Calls back after each change, until the signal aborts. */
  watch(listener: (id: EnvironmentId) => void, options: { readonly signal: AbortSignal }): void;
}

export interface EnvironmentPorts extends CredentialPorts {
  readonly keys: EnvironmentKeys;
  readonly tokens: AccessTokens;
  readonly addresses: EnvironmentAddresses;
  /** Called often when an environment gets requests, to wake it if it is hibernated; cheap. */
  readonly onDemand?: ((id: EnvironmentId) => void) | undefined;
  /** Undefined where runtimes never hibernate. */
  readonly hibernation?: HibernationMonitor | undefined;
}
