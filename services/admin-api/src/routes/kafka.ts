/** `/kafka-clusters` and `/subscriptions`: which topics invoke which handlers. */

import {
  createKafkaCluster,
  createSubscription,
  getKafkaCluster,
  getSubscription,
  listKafkaClusters,
  listSubscriptions,
  removeKafkaCluster,
  removeSubscription,
  updateKafkaCluster,
} from "@perdure/admin-contract";
import { CreateKafkaCluster, CreateSubscription, UpdateKafkaCluster } from "@perdure/admin-contract/requests";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer } from "../http/page.js";
import { type ApiRoute, route } from "../http/route.js";
import { subscriptionParam } from "../ids.js";
import { asDeletion } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";
import { clusterView, subscriptionView, withStoredSecrets } from "../views/kafka-view.js";

export function kafkaRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return [...clusterRoutes(ports), ...subscriptionRoutes(ports)];
}

function clusterRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const { registry } = ports;
  return [
    route(listKafkaClusters, {
      summary: "List Kafka clusters",
      answers: { 200: "All clusters or a page of them, secrets masked" },
      handle: (request) => listAnswer(request, "clusters", registry.kafkaClusters(), ({ name }) => name, clusterView),
    }),
    route(createKafkaCluster, {
      summary: "Register a Kafka cluster",
      body: CreateKafkaCluster,
      answers: { 201: "Created", 400: "No brokers named", 409: "The name is in use" },
      handle: async (request) => {
        const { name, properties } = await request.json(CreateKafkaCluster);
        const cluster = await registry.createKafkaCluster(name, properties);
        return json(201, clusterView(cluster), { location: `kafka-clusters/${encodeURIComponent(name)}` });
      },
    }),
    route(getKafkaCluster, {
      summary: "One Kafka cluster",
      answers: { 200: "The cluster", 404: "Unknown cluster" },
      handle: (request) => {
        const name = request.param("cluster_name");
        const cluster = registry.kafkaCluster(name);
        if (cluster === undefined) throw new RouteError(404, `The requested Kafka cluster '${name}' does not exist`);
        const readers = registry.subscriptions().filter(({ source }) => source.startsWith(`kafka://${name}/`));
        const subscriptions = request.flag("include_subscriptions", false) ? readers.map(subscriptionView) : [];
        return json(200, { ...clusterView(cluster), subscriptions });
      },
    }),
    route(updateKafkaCluster, {
      summary: "Replace the properties of a Kafka cluster",
      body: UpdateKafkaCluster,
      answers: {
        200: "The cluster as changed",
        400: "No brokers named",
        404: "Unknown cluster",
        409: "Set in the server's settings",
      },
      handle: async (request) => {
        const name = request.param("cluster_name");
        const { properties } = await request.json(UpdateKafkaCluster);
        const whole = withStoredSecrets(properties, registry.kafkaCluster(name)?.properties ?? {});
        return json(200, clusterView(await registry.updateKafkaCluster(name, whole)));
      },
    }),
    route(removeKafkaCluster, {
      summary: "Remove a Kafka cluster",
      answers: { 202: "Deleted", 404: "Unknown cluster", 409: "Subscriptions read from it" },
      handle: async (request) => {
        const [name, force] = [request.param("cluster_name"), request.flag("force", false)];
        const deletion = {
          verb: "delete-kafka-cluster",
          subject: `Kafka cluster ${name}`,
          record: registry.kafkaCluster(name),
        } as const;
        const { headers } = await asDeletion(ports, request, deletion, (undo) => registry.removeKafkaCluster(name, force, undo));
        return empty(202, headers);
      },
    }),
  ];
}

function subscriptionRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const { registry } = ports;
  return [
    route(listSubscriptions, {
      summary: "List subscriptions",
      answers: { 200: "The subscriptions, or a page of them" },
      handle: (request) => {
        const [source, sink] = [request.query.get("source"), request.query.get("sink")];
        const matches = registry
          .subscriptions()
          .filter((one) => (source === null || one.source === source) && (sink === null || one.sink === sink));
        return listAnswer(request, "subscriptions", matches, ({ id }) => id, subscriptionView);
      },
    }),
    route(createSubscription, {
      summary: "Invoke a handler for each record of a topic",
      body: CreateSubscription,
      answers: { 201: "Subscribed", 400: "Source or sink is not usable (META0009)" },
      handle: async (request) => {
        const { source, sink, options } = await request.json(CreateSubscription);
        const subscription = await registry.createSubscription(source, sink, options ?? {});
        return json(201, subscriptionView(subscription), { location: `subscriptions/${subscription.id}` });
      },
    }),
    route(getSubscription, {
      summary: "One subscription",
      answers: { 200: "The subscription", 404: "Unknown subscription" },
      handle: (request) => {
        const id = subscriptionParam(request);
        const subscription = registry.subscription(id);
        if (subscription === undefined) throw new RouteError(404, `The requested subscription '${id}' does not exist`);
        return json(200, subscriptionView(subscription));
      },
    }),
    route(removeSubscription, {
      summary: "End a subscription",
      answers: { 202: "Ended", 404: "Unknown subscription" },
      handle: async (request) => {
        const id = subscriptionParam(request);
        const deletion = {
          verb: "delete-subscription",
          subject: `subscription ${id}`,
          record: registry.subscription(id),
        } as const;
        const { headers } = await asDeletion(ports, request, deletion, (undo) => registry.removeSubscription(id, undo));
        return empty(202, headers);
      },
    }),
  ];
}
