/** Shapes of responses about Kafka clusters and subscriptions. Secrets are never part of a response. */
import { z } from "zod";
import { listShape, TextMapShape, TimeShape } from "../fields.js";

const clusterFields = { name: z.string(), properties: TextMapShape, created_at: TimeShape };

export const SubscriptionShape = z
  .strictObject({ id: z.string(), source: z.string(), sink: z.string(), options: TextMapShape })
  .meta({ id: "SubscriptionResponse" });
export const ClusterShape = z.strictObject(clusterFields).meta({ id: "SimpleKafkaClusterResponse" });
export const ClusterWithSubscriptionsShape = z
  .strictObject({ ...clusterFields, subscriptions: z.array(SubscriptionShape) })
  .meta({ id: "KafkaClusterResponse" });

export const ClustersShape = listShape("clusters", ClusterShape, "ListKafkaClustersResponse");
export const SubscriptionsShape = listShape("subscriptions", SubscriptionShape, "ListSubscriptionsResponse");

const place = { partition: z.int(), offset: z.int() };
export const SubscriptionStatusShape = z
  .strictObject({
    id: z.string(),
    state: z.enum(["starting", "consuming", "backing-off", "paused", "no-cluster", "elsewhere"]),
    paused: z.boolean(),
    skipped: z.array(z.strictObject(place)),
    assigned_partitions: z.array(z.int()),
    positions: z.array(z.strictObject({ partition: z.int(), next_offset: z.int(), lag: z.int() })),
    stuck_at: z.strictObject({ ...place, reason: z.string() }).nullable(),
    last_failure: z.string().nullable(),
    next_retry_at: TimeShape.nullable(),
    handled_records: z.int(),
  })
  .meta({ id: "SubscriptionStatus" });
