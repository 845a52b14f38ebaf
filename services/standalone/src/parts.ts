/** Types of the parts that the steps of the composition pass on: checked settings, then stores and transports, then registry and worker. */
import type { PartitionSubset } from "@perdure/base";
import type { Courier, Partitions } from "@perdure/control";
import type { EgressGuard } from "@perdure/egress";
import type { EndpointTransport, RequestIdentity } from "@perdure/endpoint-transport";
import type { CountingTransport } from "@perdure/http-client";
import type { Ingress } from "@perdure/ingress-gateway";
import type { InvokerWorker } from "@perdure/invoker-worker";
import type { TunnelSetup } from "@perdure/process-kit";
import type { RegistryRole } from "@perdure/registry";
import type { Subscriptions } from "@perdure/subscriptions";
import type { TracingPorts } from "@perdure/telemetry/tracing";
import type { StandaloneSettings } from "./config.js";
import type { GuardOptions } from "./runtime-guard.js";
import type { StorageLimit } from "./storage-limit.js";
import type { Stores } from "./stores.js";
import type { ShardThreads } from "./threads/shard-threads.js";

/** Settings, read and checked before anything is opened. */
export interface CheckedSettings {
  readonly identity: RequestIdentity | undefined;
  readonly listenerGuards: GuardOptions;
  readonly tunnels: TunnelSetup | undefined;
}

/** Transports to endpoints, and their egress guard. */
export interface EndpointAccess {
  readonly guard: EgressGuard | undefined;
  /** The transport without tunnels, which counts its connections. */
  readonly plain: CountingTransport;
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
}

/** One of the threads in which the server leads partitions; the main thread is number 0 and has all else besides. */
export interface ThreadPlace {
  readonly thread: number;
  readonly threads: number;
  /** Partitions that this thread leads. */
  readonly own: PartitionSubset;
}

/** What a thread needs to lead partitions and serve callers. */
export interface ThreadFoundation extends CheckedSettings, EndpointAccess, Pick<Stores, "store" | "partitionCount"> {
  readonly settings: StandaloneSettings;
  /** Undefined while tracing is off. */
  readonly tracing: TracingPorts | undefined;
  readonly place: ThreadPlace;
  /** The partitions of the other threads; undefined when there is one thread. */
  readonly remote: (Partitions & Courier) | undefined;
}

/** What the roles of the main thread are built on. */
export interface Foundation extends ThreadFoundation, Stores {
  /** Undefined when there is one thread. */
  readonly shards: ShardThreads | undefined;
}

/** Leading of partitions, and what it needs. */
export interface LeadingRoles extends Foundation {
  readonly registry: RegistryRole;
  /** Leads the partitions of the main thread. */
  readonly worker: InvokerWorker;
}

/** The roles that decide about work and do it. */
export interface WorkingRoles extends LeadingRoles {
  /** None without a limit. */
  readonly storage: StorageLimit | undefined;
  /** All partitions, within the storage limit. */
  readonly partitions: Partitions;
}

/** Everything, once it is created; listeners and sources of work start after that. */
export interface Roles extends WorkingRoles {
  readonly ingress: Ingress;
  /** Started last. */
  readonly subscriptions: Subscriptions;
}
