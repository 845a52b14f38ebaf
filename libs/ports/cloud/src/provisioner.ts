/**
 * Makes the isolated runtime of an environment: processes on this machine, or a Kubernetes operator. Level-triggered: tenancy sends the
 * desired state as often as it likes, and repeating it changes nothing.
 */
import type { Secret } from "@perdure/base";
import type { EnvironmentLimits, Upstream } from "./environment.js";
import type { AccountId, EnvironmentId } from "./ids.js";

export interface DesiredRuntime {
  readonly environmentId: EnvironmentId;
  readonly accountId: AccountId;
  readonly region: string;
  /** Rises with each change of the desired state; a state with a lower generation than the last one is ignored. */
  readonly generation: number;
  /** `suspended`: the runtime answers reads, runs no handler and fires no timer. */
  readonly mode: "running" | "suspended";
  /** PKCS#8 PEM of the Ed25519 key that signs requests to services. */
  readonly signingKeyPem: Secret;
  readonly limits: EnvironmentLimits;
  /** The address that the runtime reports to callers as its ingress. */
  readonly ingressUrl: string;
  /** Proxy for tunnels, and the secret that identifies the calling environment; undefined without tunnels. */
  readonly tunnels: { readonly proxyUrl: string; readonly token: Secret } | undefined;
}

export type RuntimeState =
  | { readonly phase: "starting"; readonly generation: number }
  | { readonly phase: "ready"; readonly generation: number; readonly upstream: Upstream }
  /** The runtime could not be started, or ended too often; `reason` is for operators and logs. */
  | { readonly phase: "failed"; readonly generation: number; readonly reason: string };

/** Undefined: the environment has no runtime any more. */
export type RuntimeStateListener = (environmentId: EnvironmentId, state: RuntimeState | undefined) => void;

export interface Provisioner extends AsyncDisposable {
  /** Resolves when the desired state is accepted, not when it is reached. */
  apply(desired: DesiredRuntime): Promise<void>;
  /** Ends the runtime. With `erase` its data is deleted for ever when this resolves; without, `apply` restores it. */
  remove(environmentId: EnvironmentId, options: { readonly erase: boolean }): Promise<void>;
  /** Undefined when the environment has no runtime. */
  state(environmentId: EnvironmentId): RuntimeState | undefined;
  /** Called after each change of a state; `undefined` when the runtime was removed. */
  onChange(listener: (environmentId: EnvironmentId, state: RuntimeState | undefined) => void): void;
}
