/**
 * Deployments and services as the data path reads them: an immutable snapshot, replaced as a whole when the registry changes, so that a
 * look-up is two map reads and never waits.
 */
import type { DeploymentId } from "@perdure/base";
import type { FlowRule } from "@perdure/flow-control";
import type { EventRoute, HandlerType, ServiceType } from "@perdure/state-machine";

export interface RetryPolicy {
  readonly initialIntervalMs: number;
  readonly factor: number;
  readonly maxIntervalMs: number | undefined;
  /** Includes the first attempt; undefined = without end. */
  readonly maxAttempts: number | undefined;
  readonly onMaxAttempts: "pause" | "kill";
}

/** Content-type pattern of a handler's input (ingress.md §3.2). */
export interface InputRule {
  /** Whether a request must have neither a body nor a content type. */
  readonly none: boolean;
  readonly required: boolean;
  /** `type/subtype`, `type/*`, any type. */
  readonly contentType: string;
}
export interface OutputRule {
  /** Undefined: the handler declares no content type. */
  readonly contentType: string | undefined;
  readonly setContentTypeIfEmpty: boolean;
}

/** A handler of one revision with every option resolved: handler, then service, then server default. */
export interface HandlerView {
  readonly service: string;
  readonly handler: string;
  readonly serviceType: ServiceType;
  readonly handlerType: HandlerType;
  readonly public: boolean;
  readonly input: InputRule;
  readonly output: OutputRule;
  readonly idempotencyRetentionMs: number;
  readonly workflowRetentionMs: number;
  readonly journalRetentionMs: number;
  readonly inactivityTimeoutMs: number;
  readonly abortTimeoutMs: number;
  readonly enableLazyState: boolean;
  readonly retryPolicy: RetryPolicy;
  /** Rules that operators set, as text that was checked (`parseDebounceRule`, `parseThrottleRule`). At most one of them. */
  readonly debounce?: string | undefined;
  readonly throttle?: string | undefined;
}

export interface ServiceView {
  readonly name: string;
  readonly serviceType: ServiceType;
  readonly revision: number;
  readonly deploymentId: DeploymentId;
  /** Time to live of the state of each object; undefined: the state does not expire. */
  readonly stateTtlMs?: number | undefined;
  readonly handlers: ReadonlyMap<string, HandlerView>;
}

/** The address of a deployment. */
export type EndpointAddress =
  | { readonly kind: "http"; readonly uri: string; readonly httpVersion: "HTTP/1.1" | "HTTP/2.0" }
  | {
      readonly kind: "lambda";
      readonly arn: string;
      readonly assumeRoleArn: string | undefined;
      readonly compression: "zstd" | undefined;
    };

export interface DeploymentView {
  readonly id: DeploymentId;
  readonly address: EndpointAddress;
  readonly additionalHeaders: Readonly<Record<string, string>>;
  readonly protocolType: "bidiStream" | "requestResponse";
  readonly minProtocolVersion: number;
  readonly maxProtocolVersion: number;
  /** The revisions this deployment serves, by service name. */
  readonly services: ReadonlyMap<string, ServiceView>;
}

export interface RegistrySnapshot {
  /** Latest revision by service name. */
  readonly services: ReadonlyMap<string, ServiceView>;
  readonly deployments: ReadonlyMap<DeploymentId, DeploymentView>;
  /** Rules of flow control, disabled ones among them; the same array until a rule changes. */
  readonly rules: readonly FlowRule[];
  /** Active event subscriptions, with their secrets; undefined when there are none. The same value until one changes. */
  readonly events?: readonly EventRoute[] | undefined;
}

/** Access of the data path to the registry. */
export interface RegistryView {
  current(): RegistrySnapshot;
  /** Calls `listener` after each change, when `current` returns it; returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Retentions fixed when an invocation is created (service-protocol.md §11). Only the presence of `idempotencyKey` matters. */
export function retentionsOf(
  handler: HandlerView,
  idempotencyKey: string | undefined,
): { completionMs: number; journalMs: number } {
  if (handler.handlerType === "workflow") {
    return {
      completionMs: handler.workflowRetentionMs,
      journalMs: Math.min(handler.journalRetentionMs, handler.workflowRetentionMs),
    };
  }
  if (idempotencyKey !== undefined) {
    return {
      completionMs: handler.idempotencyRetentionMs,
      journalMs: Math.min(handler.journalRetentionMs, handler.idempotencyRetentionMs),
    };
  }
  return { completionMs: handler.journalRetentionMs, journalMs: handler.journalRetentionMs };
}

/** Time to live of the state of a service's objects; `unknown` when the service was removed. */
export function stateTtlOf({ services }: RegistrySnapshot, service: string): number | "never" | "unknown" {
  const view = services.get(service);
  return view === undefined ? "unknown" : (view.stateTtlMs ?? "never");
}
