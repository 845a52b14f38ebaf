/** Dependencies of the management API, as plain parameters. */
import type { Clock, ErrorCode, InvocationId, Logger, Random } from "@perdure/base";
import type { ConsoleHost } from "@perdure/console-host";
import type { Partitions, RegistryView } from "@perdure/control";
import type { CutAttempt } from "@perdure/invoker";
import type { DeploymentRecord, MetadataStore, Registry } from "@perdure/metadata";
import type { HealthReport } from "@perdure/process-kit";
import type { Schedules } from "@perdure/schedules";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import type { Edge, Metrics } from "@perdure/telemetry";
import type { BatchService } from "./batches/batches.js";
import type { SandboxPort } from "./forks/sandbox.js";
import type { InsightSource } from "./insight/source.js";
import type { Operations } from "./operations/operations.js";

/** Encoding of rows: one JSON object `{"rows":[…]}`, or an Arrow IPC stream. */
type SqlFormat = "json" | "arrow";

/**
 * `rows`: the encoded answer, chunk by chunk; a failure while it is read truncates the response. `refused`: `invalid` is a mistake in the
 * statement, `failed` a failure of the server; the client receives `message`.
 */
export type StatementAnswer =
  | { readonly kind: "rows"; readonly chunks: AsyncIterable<Uint8Array> }
  | {
      readonly kind: "refused";
      readonly reason: "invalid" | "failed" | "unavailable" | "busy";
      readonly message: string;
      /** Code of the catalogue of errors, where it has one. */
      readonly code?: ErrorCode;
      /** Seconds after which to try again; only with `busy`. */
      readonly retryAfterSeconds: number | undefined;
    };

/** Runs one statement. An aborted signal ends it, also while its chunks are read. */
export type Sql = (query: string, format: SqlFormat, signal: AbortSignal) => Promise<StatementAnswer>;

/** `message` is the reason why there is no answer. */
export type EndpointResponse =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string | undefined>>;
      readonly body: Uint8Array;
    }
  | { readonly kind: "failed"; readonly message: string };

/** Sends a POST to a deployment's endpoint, with its additional headers and our signature. Never rejects. */
export type CallEndpoint = (
  deployment: DeploymentRecord,
  request: { readonly path: string; readonly contentType: string | undefined; readonly body: Uint8Array },
  signal: AbortSignal,
) => Promise<EndpointResponse>;

/** Totals of a runtime since its data was created. */
export interface DataSetUsage {
  /** Id of the data: totals of another source begin at zero. */
  readonly source: string;
  /** Durable starts of invocations and steps of journals. */
  readonly actions: number;
  /** Approximate bytes on disk. */
  readonly storedBytes: number;
}

export interface AdminPorts {
  readonly registry: Registry & RegistryView;
  readonly partitions: Partitions;
  readonly schedules: Schedules;
  /** Progress of subscriptions as consumers report it; one status per consumer for a subscription with several. */
  readonly subscriptionStatuses: () => readonly SubscriptionStatus[] | Promise<readonly SubscriptionStatus[]>;
  readonly sql: Sql;
  /** Facts for explanations of what invocations wait for. */
  readonly insight: InsightSource;
  readonly callEndpoint: CallEndpoint;
  /** Runs forks in memory. Absent where the process reaches no endpoints. */
  readonly sandboxes?: SandboxPort | undefined;
  /** Operations on many invocations, in the background. */
  readonly batches: BatchService;
  /** Changes that can be undone; undefined: none can. */
  readonly operations?: Operations | undefined;
  /** Store of what the console keeps for all users; undefined: it keeps it in each browser. */
  readonly documents?: Pick<MetadataStore, "get" | "write"> | undefined;
  /** Liveness and readiness of the process. */
  readonly health: () => HealthReport;
  /** Whether commits become durable, where the process makes them; resolves within a bounded time. */
  readonly isCommitting?: (() => Promise<boolean>) | undefined;
  /** Text in the Prometheus exposition format. */
  readonly metrics: () => string | Promise<string>;
  /** Metrics that count requests; requests are not counted when absent. */
  readonly measures?: Metrics | undefined;
  /** Begins the spans of requests. */
  readonly edge?: Edge | undefined;
  /** Undefined where usage is not counted. */
  readonly usage?: (() => Promise<DataSetUsage>) | undefined;
  /** Stops the running attempt of an invocation; returns undefined when none runs. Absent where the settings do not allow it. */
  readonly crashAttempt?: ((id: InvocationId) => CutAttempt | undefined | Promise<CutAttempt | undefined>) | undefined;
  /** Undefined where the console is turned off or not built. */
  readonly console?: ConsoleHost | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface AdminOptions {
  /** Address of the ingress for clients, e.g. `http://localhost:8080/`; it may become available only after the management API is open. */
  readonly ingressEndpoint: () => string | undefined;
  /** Set when no address is advertised and the ingress is on this machine: browsers reach it at the host name of their request. */
  readonly ingressPort?: (() => number | undefined) | undefined;
  /** Address of a trace in the tracing UI, with `{traceId}` in it, for links of the console. */
  readonly traceUrl?: string | undefined;
  /** Address of the documentation, for links of the console. */
  readonly docsUrl: string;
  readonly clusterName: string;
  /** Whether flow control is available: `features.vqueues` of `/version`. */
  readonly scopesEnabled: boolean;
  /** Whether records of topics may name scopes: `features.kafka_scope`. */
  readonly recordScopesEnabled: boolean;
}
