/** Ports of the events about an environment. */
import type { Clock, DeploymentId, Logger } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { FlowBucketRow, FlowLimitRow } from "@perdure/flow-control";
import type { DeploymentUsage, MetadataStore, Registry } from "@perdure/metadata";
import type { SubscriptionStatus } from "@perdure/subscriptions";

export interface EnvironmentEventsPorts {
  readonly registry: Pick<Registry, "eventSubscriptions" | "subscriptions" | "deployments" | "services">;
  /** Keeps the conditions that were reported, so that a new leader or a restart neither repeats nor loses an event. */
  readonly metadata: MetadataStore;
  readonly partitions: Pick<Partitions, "invoke">;
  /** Reports of all processes that consume. */
  readonly subscriptionStatuses: () => readonly SubscriptionStatus[] | Promise<readonly SubscriptionStatus[]>;
  /** Limits and buckets of all partitions. */
  readonly limits: () => Iterable<FlowLimitRow> | AsyncIterable<FlowLimitRow>;
  readonly buckets: () => Iterable<FlowBucketRow> | AsyncIterable<FlowBucketRow>;
  /** Counts in all partitions. */
  readonly countUsage: (id: DeploymentId, services: readonly string[]) => Promise<DeploymentUsage>;
  /** Whether every partition has a leader that answers. If not, rows may be missing, and nothing follows from their absence. */
  readonly isWhole: () => boolean | Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface EnvironmentEventsOptions {
  readonly checkIntervalMs: number;
  /** Time without progress after which a subscription is stuck. */
  readonly stuckAfterMs: number;
  /** Time at its maximum after which a limit is saturated. */
  readonly saturatedAfterMs: number;
}
