import { type AdminOperation, PAGE_QUERY } from "../operation.js";
import {
  ClusterShape,
  ClustersShape,
  ClusterWithSubscriptionsShape,
  SubscriptionShape,
  SubscriptionStatusShape,
  SubscriptionsShape,
} from "./responses.js";

export const listKafkaClusters = {
  method: "GET",
  path: "/kafka-clusters",
  query: PAGE_QUERY,
  results: { 200: ClustersShape },
} as const satisfies AdminOperation;

export const createKafkaCluster = {
  method: "POST",
  path: "/kafka-clusters",
  results: { 201: ClusterShape },
} as const satisfies AdminOperation;

export const getKafkaCluster = {
  method: "GET",
  path: "/kafka-clusters/{cluster_name}",
  query: { include_subscriptions: "`true`: with the subscriptions that read from it" },
  results: { 200: ClusterWithSubscriptionsShape },
} as const satisfies AdminOperation;

export const updateKafkaCluster = {
  method: "PATCH",
  path: "/kafka-clusters/{cluster_name}",
  results: { 200: ClusterShape },
} as const satisfies AdminOperation;

export const removeKafkaCluster = {
  method: "DELETE",
  path: "/kafka-clusters/{cluster_name}",
  query: { force: "`true`: even when subscriptions read from it" },
} as const satisfies AdminOperation;

export const listSubscriptions = {
  method: "GET",
  path: "/subscriptions",
  query: { source: "Only those of this source", sink: "Only those of this sink", ...PAGE_QUERY },
  results: { 200: SubscriptionsShape },
} as const satisfies AdminOperation;

export const createSubscription = {
  method: "POST",
  path: "/subscriptions",
  results: { 201: SubscriptionShape },
} as const satisfies AdminOperation;

export const getSubscription = {
  method: "GET",
  path: "/subscriptions/{subscription}",
  results: { 200: SubscriptionShape },
} as const satisfies AdminOperation;

export const removeSubscription = { method: "DELETE", path: "/subscriptions/{subscription}" } as const satisfies AdminOperation;

export const getSubscriptionStatus = {
  method: "GET",
  path: "/subscriptions/{subscription}/status",
  results: { 200: SubscriptionStatusShape },
} as const satisfies AdminOperation;

export function pauseOrResumeSubscription<Verb extends "pause" | "resume">(verb: Verb) {
  return {
    method: "POST",
    path: `/subscriptions/{subscription}/${verb}`,
    results: { 200: SubscriptionStatusShape },
  } as const satisfies AdminOperation;
}

export const skipRecord = {
  method: "POST",
  path: "/subscriptions/{subscription}/skip",
  results: { 200: SubscriptionStatusShape },
} as const satisfies AdminOperation;
