/** Types of the parts that the steps of the composition pass on: checked settings, then stores and transports, then registry and worker. */
import type { Partitions } from "@perdure/control";
import type { EgressGuard } from "@perdure/egress";
import type { EndpointTransport, RequestIdentity } from "@perdure/endpoint-transport";
import type { CountingTransport } from "@perdure/http-client";
import type { InvokerWorker } from "@perdure/invoker-worker";
import type { TunnelSetup } from "@perdure/process-kit";
import type { RegistryRole } from "@perdure/registry";
import type { Subscriptions } from "@perdure/subscriptions";
import type { TracingPorts } from "@perdure/telemetry/tracing";
import type { StandaloneSettings } from "./config.js";
import type { GuardOptions } from "./runtime-guard.js";
import type { StorageLimit } from "./storage-limit.js";
import type { Stores } from "./stores.js";

/** Parts that are created only after the parts that use them at run time. */
export interface DeferredServerParts {
  worker: InvokerWorker | undefined;
  /** None while nothing is consumed. */
  subscriptions: Subscriptions | undefined;
  /** The bound address; different from the setting when that has port 0. */
  ingressPort: number | undefined;
}

/** Settings, read and checked before anything is opened. */
export interface CheckedSettings {
  readonly identity: RequestIdentity | undefined;
  readonly listenerGuards: GuardOptions;
  readonly tunnels: TunnelSetup | undefined;
}

/** Transports to endpoints, with their tracing and egress guard. */
export interface Endpoints {
  readonly tracing: TracingPorts | undefined;
  readonly guard: EgressGuard | undefined;
  /** The transport without tunnels and traces, which counts its connections. */
  readonly plain: CountingTransport;
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
}

/** Stores and endpoints that the roles are built on. */
export interface Foundation extends CheckedSettings, Stores, Endpoints {
  readonly settings: StandaloneSettings;
  readonly deferred: DeferredServerParts;
}

/** Roles that the listeners and the sources of work need. */
export interface Roles extends Foundation {
  readonly registry: RegistryRole;
  readonly worker: InvokerWorker;
  /** None without a limit. */
  readonly storage: StorageLimit | undefined;
  /** The worker's partitions, within the storage limit. */
  readonly partitions: Partitions;
}
