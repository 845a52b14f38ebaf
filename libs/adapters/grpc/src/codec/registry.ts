/** The registry's types as messages of `proto/control/v1/registry.proto`, and back. */

import { create } from "@bufbuild/protobuf";
import type {
  CheckOptions,
  DeploymentRecord,
  EffectiveOptions,
  EventSubscriptionRecord,
  KafkaClusterRecord,
  LocatedRevision,
  Notice,
  RecordPlace,
  RegisterOutcome,
  RegisterRequest,
  Registry,
  RequestedAddress,
  RuleRecord,
  SubscriptionRecord,
  UpdateRequest,
} from "@perdure/metadata";
import * as proto from "../gen/v1/registry_pb.js";
import { given, refuse } from "./checks.js";
import { deployment, errorCode, subscriptionId, verification } from "./deployment.js";
import { eventSubscription } from "./events.js";
import {
  byName,
  enumeration,
  type FieldCodec,
  flag,
  list,
  message,
  nested,
  number,
  optional,
  text,
  texts,
  whole,
} from "./form.js";
import { rule } from "./rules.js";
import { retryPolicy } from "./snapshot.js";

/** Records of a registry that management APIs show. */
export interface RegistryRecords {
  /** Oldest first. */
  readonly deployments: readonly DeploymentRecord[];
  /** Options of every revision of every deployment, by `revisionKey`. */
  readonly effective: ReadonlyMap<string, EffectiveOptions>;
  /** Deployment and name of each latest revision, by name. */
  readonly latest: readonly RevisionName[];
  readonly kafkaClusters: readonly KafkaClusterRecord[];
  readonly subscriptions: readonly SubscriptionRecord[];
  readonly rules: readonly RuleRecord[];
  readonly eventSubscriptions: readonly EventSubscriptionRecord[];
}

export interface RevisionName {
  readonly deploymentId: string;
  readonly name: string;
}

export function revisionKey({ deployment, revision }: LocatedRevision): string {
  return `${deployment.id}/${revision.definition.name}`;
}

export function recordsOf(registry: Registry): RegistryRecords {
  const deployments = registry.deployments();
  const effective = new Map<string, EffectiveOptions>();
  for (const deployment of deployments) {
    for (const revision of deployment.services) {
      const located = { deployment, revision };
      effective.set(revisionKey(located), registry.effective(located));
    }
  }
  const latest = registry
    .services()
    .map(({ deployment, revision }) => ({ deploymentId: deployment.id, name: revision.definition.name }));
  return {
    deployments,
    effective,
    latest,
    kafkaClusters: registry.kafkaClusters(),
    subscriptions: registry.subscriptions(),
    rules: registry.rules(),
    eventSubscriptions: registry.eventSubscriptions(),
  };
}

export const effectiveOptions = message<EffectiveOptions, typeof proto.EffectiveOptionsSchema>(proto.EffectiveOptionsSchema, {
  public: flag,
  idempotencyRetentionMs: number,
  workflowCompletionRetentionMs: optional(number),
  journalRetentionMs: number,
  inactivityTimeoutMs: number,
  abortTimeoutMs: number,
  stateTtlMs: optional(number),
  enableLazyState: flag,
  retry: nested(retryPolicy, "the retry policy of a service"),
  notices: list(message<Notice, typeof proto.NoticeSchema>(proto.NoticeSchema, { code: errorCode, message: text })),
});

// ── Kafka and rules ──────────────────────────────────────────────────────────────────────────────

export const kafkaCluster = message<KafkaClusterRecord, typeof proto.KafkaClusterSchema>(proto.KafkaClusterSchema, {
  name: text,
  properties: texts,
  createdAtMs: whole,
});

export const recordPlace = message<RecordPlace, typeof proto.RecordPlaceSchema>(proto.RecordPlaceSchema, {
  partition: number,
  offset: whole,
});

export const subscription = message<SubscriptionRecord, typeof proto.SubscriptionSchema>(proto.SubscriptionSchema, {
  id: subscriptionId,
  source: text,
  sink: text,
  options: texts,
  paused: flag,
  skipped: list(recordPlace),
});

export const records = message<RegistryRecords, typeof proto.RegistryRecordsSchema>(proto.RegistryRecordsSchema, {
  deployments: list(deployment),
  effective: byName(effectiveOptions),
  latest: list(
    message<RevisionName, typeof proto.RevisionNameSchema>(proto.RevisionNameSchema, { deploymentId: text, name: text }),
  ),
  kafkaClusters: list(kafkaCluster),
  subscriptions: list(subscription),
  rules: list(rule),
  eventSubscriptions: list(eventSubscription),
});

// ── requests ─────────────────────────────────────────────────────────────────────────────────────

const requestedAddress: FieldCodec<RequestedAddress, proto.RequestedAddress> = {
  to(address) {
    if (address.kind === "http") {
      const value = { uri: address.uri, useHttp11: address.useHttp11 };
      return create(proto.RequestedAddressSchema, { address: { case: "http", value } });
    }
    const { kind, arn, assumeRoleArn } = address;
    if (kind !== "lambda") return refuse("the requested address of a deployment", kind);
    const value = { arn, ...given("assumeRoleArn", assumeRoleArn) };
    return create(proto.RequestedAddressSchema, { address: { case: "lambda", value } });
  },
  from({ address }) {
    if (address.case === "http") return { kind: "http", uri: address.value.uri, useHttp11: address.value.useHttp11 };
    if (address.case !== "lambda") return refuse("the requested address of a deployment", address.case);
    return { kind: "lambda", arn: address.value.arn, assumeRoleArn: address.value.assumeRoleArn };
  },
};

export const registration = message<RegisterRequest, typeof proto.RegistrationSchema>(proto.RegistrationSchema, {
  address: nested(requestedAddress, "the requested address of a deployment"),
  additionalHeaders: texts,
  metadata: texts,
  force: flag,
  breaking: flag,
  dryRun: flag,
  acceptUnchanged: flag,
  verification: optional(verification),
});

export const checkBounds = message<CheckOptions, typeof proto.CheckBoundsSchema>(proto.CheckBoundsSchema, {
  inFlightPerHandler: optional(whole),
  completedPerHandler: optional(whole),
  invocations: optional(whole),
  timeoutMs: optional(number),
  replayTimeoutMs: optional(number),
  bytes: optional(whole),
  concurrency: optional(whole),
});

const replacedHeaders: FieldCodec<UpdateRequest["additionalHeaders"], proto.UpdateDeploymentRequest_Headers | undefined> = {
  to: (values) => values && create(proto.UpdateDeploymentRequest_HeadersSchema, { values: { ...values } }),
  from: (headers) => headers?.values,
};

/** The deployment's id stands beside these fields. */
export const deploymentUpdate = message<UpdateRequest, typeof proto.UpdateDeploymentRequestSchema>(
  proto.UpdateDeploymentRequestSchema,
  { address: optional(requestedAddress), additionalHeaders: replacedHeaders, overwrite: flag, dryRun: flag },
);

const OUTCOMES: Readonly<Record<RegisterOutcome["kind"], proto.RegisterDeploymentResponse_Kind>> = {
  created: proto.RegisterDeploymentResponse_Kind.CREATED,
  unchanged: proto.RegisterDeploymentResponse_Kind.UNCHANGED,
  replaced: proto.RegisterDeploymentResponse_Kind.REPLACED,
};
export const outcomeKind = enumeration(OUTCOMES, "the outcome of a registration");
