/**
 * Who makes the isolated runtime of an environment: processes on this machine, or a Kubernetes operator. Level-triggered: tenancy
 * says what it wants as often as it likes; saying it again changes nothing.
 */
import type { Secret } from "@perdure/base";
import type { EnvironmentLimits, Upstream } from "./environment.js";
import type { AccountId, EnvironmentId } from "./ids.js";

export interface DesiredRuntime {
  readonly environmentId: EnvironmentId;
  readonly accountId: AccountId;
  readonly region: string;
  /** Rises with each change of what is wanted; an older wish than the last one is ignored. */
  readonly generation: number;
  /** `suspended`: reads are answered, nothing runs, nothing fires. */
  readonly mode: "running" | "suspended";
  /** PKCS#8 PEM of the Ed25519 key that signs requests to services. */
  readonly signingKeyPem: Secret;
  readonly limits: EnvironmentLimits;
  /** What the runtime tells callers as its ingress address. */
  readonly ingressUrl: string;
  /** Where the runtime reaches tunnels, and the secret that shows which environment calls; undefined without tunnels. */
  readonly tunnels: { readonly proxyUrl: string; readonly token: Secret } | undefined;
}

export type RuntimeState =
  | { readonly phase: "starting"; readonly generation: number }
  | { readonly phase: "ready"; readonly generation: number; readonly upstream: Upstream }
  /** It could not be started, or ended too often; `reason` is for operators and logs. */
  | { readonly phase: "failed"; readonly generation: number; readonly reason: string };

export interface Provisioner extends AsyncDisposable {
  /** Resolves when the wish is taken down, not when it is fulfilled. */
  apply(desired: DesiredRuntime): Promise<void>;
  /** Ends the runtime. With `erase` its data is gone for ever when this resolves; without, `apply` brings it back. */
  remove(environmentId: EnvironmentId, options: { readonly erase: boolean }): Promise<void>;
  /** Undefined when there is none. */
  state(environmentId: EnvironmentId): RuntimeState | undefined;
  /** Told after each change of a state; `undefined` when it is gone. */
  onChange(listener: (environmentId: EnvironmentId, state: RuntimeState | undefined) => void): void;
}
