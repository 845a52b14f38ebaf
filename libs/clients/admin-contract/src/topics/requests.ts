/** Bodies of requests about Kafka clusters and subscriptions. */
import { z } from "zod";
import { KAFKA_CLUSTER_NAME_CHARS_MAX } from "../limits.js";

const Properties = z.record(z.string(), z.string());
/** A URI, a host or an absolute path. The registry checks scheme, cluster and handler, and refuses with META0009. */
const Uri = z.string().regex(/^([a-z][a-z0-9+.-]*:\/\/[^\s]*|\/[^\s]*|[^\s/]+)$/i, "invalid format");

/** Sources name a cluster where URIs have their host (`kafka://<name>/<topic>`), so its characters are those of hosts. */
const ClusterName = z
  .string()
  .min(1, "empty string")
  .max(KAFKA_CLUSTER_NAME_CHARS_MAX, "name too long")
  .regex(/^[!$%&'()*+,\-.0-9:;=@A-Z[\]_a-z~]+$/, "invalid uri character");

export const CreateKafkaCluster = z
  .object({
    name: ClusterName,
    properties: Properties,
  })
  .meta({ id: "CreateKafkaClusterRequest" });
export const UpdateKafkaCluster = z.object({ properties: Properties }).meta({ id: "UpdateKafkaClusterRequest" });
export const CreateSubscription = z
  .object({ source: Uri, sink: Uri, options: Properties.nullish() })
  .meta({ id: "CreateSubscriptionRequest" });

export const SkipRecord = z.object({ partition: z.int().min(0), offset: z.int().min(0) }).meta({ id: "SkipRecordRequest" });
