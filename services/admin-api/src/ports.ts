/** Why: everything the management API needs from the rest of the system, as plain parameters. */
import type { Clock, ErrorCode, InvocationId, Logger, Random } from "@perdure/base";
import type { ConsoleHost } from "@perdure/console-host";
import type { Partitions, RegistryView } from "@perdure/control";
import type { CutAttempt } from "@perdure/invoker";
import type { DeploymentRecord, Registry } from "@perdure/metadata";
import type { Edge, HealthReport, Metrics } from "@perdure/role";
import type { Schedules } from "@perdure/schedule";
import type { SubscriptionStatus } from "@perdure/subscription";
import type { BatchService } from "./batches/batches.js";
import type { InsightSource } from "./insight/source.js";

/** How rows are encoded: one JSON object `{"rows":[…]}`, or an Arrow IPC stream. */
export type SqlFormat = "json" | "arrow";

/**
 * `rows`: the encoded answer, chunk by chunk; a failure while it is read truncates the response. `refused`: `invalid` is the
 * caller's mistake, `failed` ours; `message` is shown to the caller.
 */
export type SqlAnswer =
  | { readonly kind: "rows"; readonly chunks: AsyncIterable<Uint8Array> }
  | {
      readonly kind: "refused";
      readonly reason: "invalid" | "failed" | "unavailable" | "busy";
      readonly message: string;
      /** Of the catalogue of errors, where it has one. */
      readonly code?: ErrorCode;
      /** Only with `busy`. */
      readonly retryAfterSeconds: number | undefined;
    };

/** Runs one statement. An aborted signal ends it, the reading of its chunks included. */
export type Sql = (query: string, format: SqlFormat, signal: AbortSignal) => Promise<SqlAnswer>;

/** `message` says why there is no answer. */
export type EndpointResponse =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string | undefined>>;
      readonly body: Uint8Array;
    }
  | { readonly kind: "failed"; readonly message: string };

/** Sends a POST to where a deployment answers, with its additional headers and our signature. Never rejects. */
export type CallEndpoint = (
  deployment: DeploymentRecord,
  request: { readonly path: string; readonly contentType: string | undefined; readonly body: Uint8Array },
  signal: AbortSignal,
) => Promise<EndpointResponse>;

/** What its data has seen since it was made. */
export interface UsageReport {
  /** Names the data: totals of another source begin at zero. */
  readonly source: string;
  /** Starts of invocations and steps of journals, as they are durable. */
  readonly actions: number;
  /** On disk, roughly. */
  readonly storedBytes: number;
}

export interface AdminPorts {
  readonly registry: Registry & RegistryView;
  readonly partitions: Partitions;
  readonly schedules: Schedules;
  /** How far subscriptions are, as far as consumers tell; of one that several read, what each of them tells. */
  readonly subscriptionStatuses: () => readonly SubscriptionStatus[] | Promise<readonly SubscriptionStatus[]>;
  readonly sql: Sql;
  /** For explaining what invocations wait for. */
  readonly insight: InsightSource;
  readonly callEndpoint: CallEndpoint;
  /** Operations on many invocations, in the background. */
  readonly batches: BatchService;
  /** Whether the process is worth keeping, and may be given work. */
  readonly health: () => HealthReport;
  /** Whether commits become durable, where the process makes them; takes a bounded time. */
  readonly isCommitting?: (() => Promise<boolean>) | undefined;
  /** Text in the Prometheus exposition format. */
  readonly metrics: () => string | Promise<string>;
  /** Where requests are counted; nowhere when left out. */
  readonly measures?: Metrics | undefined;
  /** Begins the spans of requests. */
  readonly edge?: Edge | undefined;
  /** Undefined where nobody counts. */
  readonly usage?: (() => Promise<UsageReport>) | undefined;
  /** Cuts off the attempt of an invocation that runs, and undefined when none does. Left out where nobody may break things for a show. */
  readonly crashAttempt?: ((id: InvocationId) => CutAttempt | undefined) | undefined;
  /** Undefined where it is turned off or was not built. */
  readonly console?: ConsoleHost | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface AdminOptions {
  /** Where callers reach the ingress from outside, e.g. `http://localhost:8080/`; it may be known only after the management API is open. */
  readonly ingressEndpoint: () => string | undefined;
  /** Set when nothing is advertised and the ingress is on this machine: browsers find it at the name by which they found us. */
  readonly ingressPort?: (() => number | undefined) | undefined;
  /** Where traces are looked at, with `{traceId}` in it, for links of the console. */
  readonly traceUrl?: string | undefined;
  readonly clusterName: string;
  /** Flow control is offered: `features.vqueues` of `/version`. */
  readonly scopesEnabled: boolean;
  /** Records of topics may name scopes: `features.kafka_scope`. */
  readonly recordScopesEnabled: boolean;
}
