/** `/kafka-clusters` and `/subscriptions`: which topics invoke which handlers. */
import type { Registry } from "@perdure/metadata";
import { z } from "zod";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer, PAGE_QUERY } from "../http/page.js";
import type { ApiRoute } from "../http/route.js";
import { subscriptionParam } from "../ids.js";
import { KAFKA_CLUSTER_NAME_CHARS_MAX } from "../limits.js";
import {
  ClusterShape,
  ClusterWithSubscriptionsShape,
  clusterView,
  SubscriptionShape,
  subscriptionView,
  withStoredSecrets,
} from "../views/kafka-view.js";
import { listShape } from "../views/service-shape.js";

const Properties = z.record(z.string(), z.string());
/** A URI, a host or an absolute path. The registry checks scheme, cluster and handler, and refuses with META0009. */
const Uri = z.string().regex(/^([a-z][a-z0-9+.-]*:\/\/[^\s]*|\/[^\s]*|[^\s/]+)$/i, "invalid format");

/** Sources name a cluster where URIs have their host (`kafka://<name>/<topic>`), so its characters are those of hosts. */
const ClusterName = z
  .string()
  .min(1, "empty string")
  .max(KAFKA_CLUSTER_NAME_CHARS_MAX, "name too long")
  .regex(/^[!$%&'()*+,\-.0-9:;=@A-Z[\]_a-z~]+$/, "invalid uri character");

const CreateKafkaCluster = z
  .object({
    name: ClusterName,
    properties: Properties,
  })
  .meta({ id: "CreateKafkaClusterRequest" });
const UpdateKafkaCluster = z.object({ properties: Properties }).meta({ id: "UpdateKafkaClusterRequest" });
const CreateSubscription = z
  .object({ source: Uri, sink: Uri, options: Properties.nullish() })
  .meta({ id: "CreateSubscriptionRequest" });

const ClustersShape = listShape("clusters", ClusterShape, "ListKafkaClustersResponse");
const SubscriptionsShape = listShape("subscriptions", SubscriptionShape, "ListSubscriptionsResponse");

export function kafkaRoutes(registry: Registry): readonly ApiRoute[] {
  return [...clusterRoutes(registry), ...subscriptionRoutes(registry)];
}

function clusterRoutes(registry: Registry): readonly ApiRoute[] {
  return [
    {
      path: "/kafka-clusters",
      operations: {
        GET: {
          summary: "List Kafka clusters",
          query: PAGE_QUERY,
          answers: { 200: "All clusters or a page of them, secrets masked" },
          results: { 200: ClustersShape },
          handle: (request) => listAnswer(request, "clusters", registry.kafkaClusters(), ({ name }) => name, clusterView),
        },
        POST: {
          summary: "Register a Kafka cluster",
          body: CreateKafkaCluster,
          answers: { 201: "Created", 400: "No brokers named", 409: "The name is in use" },
          results: { 201: ClusterShape },
          handle: async (request) => {
            const { name, properties } = await request.json(CreateKafkaCluster);
            const cluster = await registry.createKafkaCluster(name, properties);
            return json(201, clusterView(cluster), { location: `kafka-clusters/${encodeURIComponent(name)}` });
          },
        },
      },
    },
    {
      path: "/kafka-clusters/{cluster_name}",
      operations: {
        GET: {
          summary: "One Kafka cluster",
          query: { include_subscriptions: "`true`: with the subscriptions that read from it" },
          answers: { 200: "The cluster", 404: "Unknown cluster" },
          results: { 200: ClusterWithSubscriptionsShape },
          handle: (request) => {
            const name = request.param("cluster_name");
            const cluster = registry.kafkaCluster(name);
            if (cluster === undefined) throw new RouteError(404, `The requested Kafka cluster '${name}' does not exist`);
            const readers = registry.subscriptions().filter(({ source }) => source.startsWith(`kafka://${name}/`));
            const subscriptions = request.flag("include_subscriptions", false) ? readers.map(subscriptionView) : [];
            return json(200, { ...clusterView(cluster), subscriptions });
          },
        },
        PATCH: {
          summary: "Replace the properties of a Kafka cluster",
          body: UpdateKafkaCluster,
          answers: {
            200: "The cluster as changed",
            400: "No brokers named",
            404: "Unknown cluster",
            409: "Set in the server's settings",
          },
          results: { 200: ClusterShape },
          handle: async (request) => {
            const name = request.param("cluster_name");
            const { properties } = await request.json(UpdateKafkaCluster);
            const whole = withStoredSecrets(properties, registry.kafkaCluster(name)?.properties ?? {});
            return json(200, clusterView(await registry.updateKafkaCluster(name, whole)));
          },
        },
        DELETE: {
          summary: "Remove a Kafka cluster",
          query: { force: "`true`: even when subscriptions read from it" },
          answers: { 202: "Deleted", 404: "Unknown cluster", 409: "Subscriptions read from it" },
          handle: async (request) => {
            await registry.removeKafkaCluster(request.param("cluster_name"), request.flag("force", false));
            return empty(202);
          },
        },
      },
    },
  ];
}

function subscriptionRoutes(registry: Registry): readonly ApiRoute[] {
  return [
    {
      path: "/subscriptions",
      operations: {
        GET: {
          summary: "List subscriptions",
          query: { source: "Only those of this source", sink: "Only those of this sink", ...PAGE_QUERY },
          answers: { 200: "The subscriptions, or a page of them" },
          results: { 200: SubscriptionsShape },
          handle: (request) => {
            const [source, sink] = [request.query.get("source"), request.query.get("sink")];
            const matches = registry
              .subscriptions()
              .filter((one) => (source === null || one.source === source) && (sink === null || one.sink === sink));
            return listAnswer(request, "subscriptions", matches, ({ id }) => id, subscriptionView);
          },
        },
        POST: {
          summary: "Invoke a handler for each record of a topic",
          body: CreateSubscription,
          answers: { 201: "Subscribed", 400: "Source or sink is not usable (META0009)" },
          results: { 201: SubscriptionShape },
          handle: async (request) => {
            const { source, sink, options } = await request.json(CreateSubscription);
            const subscription = await registry.createSubscription(source, sink, options ?? {});
            return json(201, subscriptionView(subscription), { location: `subscriptions/${subscription.id}` });
          },
        },
      },
    },
    {
      path: "/subscriptions/{subscription}",
      operations: {
        GET: {
          summary: "One subscription",
          answers: { 200: "The subscription", 404: "Unknown subscription" },
          results: { 200: SubscriptionShape },
          handle: (request) => {
            const id = subscriptionParam(request);
            const subscription = registry.subscription(id);
            if (subscription === undefined) throw new RouteError(404, `The requested subscription '${id}' does not exist`);
            return json(200, subscriptionView(subscription));
          },
        },
        DELETE: {
          summary: "End a subscription",
          answers: { 202: "Ended", 404: "Unknown subscription" },
          handle: async (request) => {
            await registry.removeSubscription(subscriptionParam(request));
            return empty(202);
          },
        },
      },
    },
  ];
}
