/** The registry's types as messages of `proto/control/v1/registry.proto`, and back. */
import { create } from "@bufbuild/protobuf";
import { type DeploymentId, type ErrorCode, parseDeploymentId, parseSubscriptionId, type SubscriptionId } from "@perdure/base";
import { isErrorCode } from "@perdure/base/errors";
import type {
  DeploymentView,
  HandlerView,
  InputRule,
  OutputRule,
  RegistrySnapshot,
  RetryPolicy,
  ServiceView,
} from "@perdure/control";
import type { FlowRule } from "@perdure/flow-control";
import type {
  HandlerDefinition,
  HandlerKind,
  ManifestOptions,
  RetryOptions,
  ServiceDefinition,
  ServiceKind,
} from "@perdure/manifest";
import type {
  CheckedCommand,
  CheckOptions,
  DeploymentAddress,
  DeploymentRecord,
  EffectiveOptions,
  FindingKind,
  KafkaClusterRecord,
  LocatedRevision,
  Notice,
  RecordPlace,
  RegisterOutcome,
  RegisterRequest,
  Registry,
  RequestedAddress,
  RuleChange,
  RuleRate,
  RuleRecord,
  ServiceOverrides,
  ServiceRevision,
  SubscriptionRecord,
  UpdateRequest,
  Verification,
  VerificationFinding,
} from "@perdure/metadata";
import * as proto from "../gen/v1/registry_pb.js";
import { given, refuse } from "./checks.js";
import {
  byName,
  checked,
  choice,
  enumeration,
  type FieldCodec,
  flag,
  json,
  list,
  message,
  nested,
  number,
  optional,
  optionalEnumeration,
  text,
  texts,
  whole,
} from "./form.js";

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
  };
}

// ── ids and enumerations ─────────────────────────────────────────────────────────────────────────

/** Throws OPS0003 when the text is not the id of a deployment. */
export function checkedDeploymentId(id: string): DeploymentId {
  const parsed = parseDeploymentId(id);
  return parsed.ok ? parsed.value : refuse("the id of a deployment", id);
}

/** Throws OPS0003 when the text is not the id of a subscription. */
export function checkedSubscriptionId(id: string): SubscriptionId {
  const parsed = parseSubscriptionId(id);
  return parsed.ok ? parsed.value : refuse("the id of a subscription", id);
}

const deploymentId = checked(checkedDeploymentId);
const subscriptionId = checked(checkedSubscriptionId);
const errorCode = checked<ErrorCode>((code) => (isErrorCode(code) ? code : refuse("a code of the error catalogue", code)));

const serviceKind = enumeration<ServiceKind, proto.ServiceKind>(
  {
    service: proto.ServiceKind.SERVICE,
    virtualObject: proto.ServiceKind.VIRTUAL_OBJECT,
    workflow: proto.ServiceKind.WORKFLOW,
  },
  "the kind of a service",
);
const handlerKind = enumeration<HandlerKind, proto.HandlerKind>(
  { exclusive: proto.HandlerKind.EXCLUSIVE, shared: proto.HandlerKind.SHARED, workflow: proto.HandlerKind.WORKFLOW },
  "the kind of a handler",
);
const protocolType = enumeration<DeploymentRecord["protocolType"], proto.ProtocolType>(
  { bidiStream: proto.ProtocolType.BIDI_STREAM, requestResponse: proto.ProtocolType.REQUEST_RESPONSE },
  "the protocol of a deployment",
);
const ON_MAX_ATTEMPTS = { pause: proto.OnMaxAttempts.PAUSE, kill: proto.OnMaxAttempts.KILL } as const;
const onMaxAttempts = enumeration<RetryPolicy["onMaxAttempts"], proto.OnMaxAttempts>(ON_MAX_ATTEMPTS, "a retry policy");

// ── deployments and services ─────────────────────────────────────────────────────────────────────

const HTTP_VERSIONS = {
  "HTTP/1.1": proto.DeploymentAddress_HttpVersion.HTTP_VERSION_1_1,
  "HTTP/2.0": proto.DeploymentAddress_HttpVersion.HTTP_VERSION_2_0,
} as const;
const httpVersion = enumeration<"HTTP/1.1" | "HTTP/2.0", proto.DeploymentAddress_HttpVersion>(HTTP_VERSIONS, "a version of HTTP");
const compression = optional(choice<"zstd">(["zstd"], "the compression of a deployment"));

const deploymentAddress: FieldCodec<DeploymentAddress, proto.DeploymentAddress> = {
  to(address) {
    if (address.kind === "http") {
      const value = { uri: address.uri, httpVersion: httpVersion.to(address.httpVersion) };
      return create(proto.DeploymentAddressSchema, { address: { case: "http", value } });
    }
    const { arn, assumeRoleArn, compression: used } = address;
    const value = { arn, ...given("assumeRoleArn", assumeRoleArn), ...given("compression", used) };
    return create(proto.DeploymentAddressSchema, { address: { case: "lambda", value } });
  },
  from({ address }) {
    if (address.case === "http") {
      return { kind: "http", uri: address.value.uri, httpVersion: httpVersion.from(address.value.httpVersion) };
    }
    if (address.case !== "lambda") return refuse("the address of a deployment", address.case);
    const { arn, assumeRoleArn, compression: used } = address.value;
    return { kind: "lambda", arn, assumeRoleArn, compression: compression.from(used) };
  },
};

const retryOptions = message<RetryOptions, typeof proto.RetryOptionsSchema>(proto.RetryOptionsSchema, {
  initialIntervalMs: optional(number),
  factor: optional(number),
  maxIntervalMs: optional(number),
  maxAttempts: optional(whole),
  onMaxAttempts: optionalEnumeration<RetryPolicy["onMaxAttempts"], proto.OnMaxAttempts>(
    ON_MAX_ATTEMPTS,
    proto.OnMaxAttempts.UNSPECIFIED,
    "a retry policy",
  ),
});

const options = message<ManifestOptions, typeof proto.ServiceOptionsSchema>(proto.ServiceOptionsSchema, {
  inactivityTimeoutMs: optional(number),
  abortTimeoutMs: optional(number),
  journalRetentionMs: optional(number),
  idempotencyRetentionMs: optional(number),
  enableLazyState: optional(flag),
  ingressPrivate: optional(flag),
  retry: nested(retryOptions, "the retry policy of a service"),
});

const handler = message<HandlerDefinition, typeof proto.HandlerDefinitionSchema>(proto.HandlerDefinitionSchema, {
  name: text,
  kind: handlerKind,
  documentation: optional(text),
  metadata: texts,
  input: nested(
    message<HandlerDefinition["input"], typeof proto.InputDefinitionSchema>(proto.InputDefinitionSchema, {
      none: flag,
      required: flag,
      contentType: text,
      jsonSchema: json,
    }),
    "the input of a handler",
  ),
  output: nested(
    message<HandlerDefinition["output"], typeof proto.OutputDefinitionSchema>(proto.OutputDefinitionSchema, {
      contentType: optional(text),
      setContentTypeIfEmpty: flag,
      jsonSchema: json,
    }),
    "the output of a handler",
  ),
  options: nested(options, "the options of a handler"),
  workflowCompletionRetentionMs: optional(number),
});

const service = message<ServiceDefinition, typeof proto.ServiceDefinitionSchema>(proto.ServiceDefinitionSchema, {
  name: text,
  kind: serviceKind,
  documentation: optional(text),
  metadata: texts,
  options: nested(options, "the options of a service"),
  handlers: list(handler),
});

export const overrides = message<ServiceOverrides, typeof proto.ServiceOverridesSchema>(proto.ServiceOverridesSchema, {
  public: optional(flag),
  idempotencyRetentionMs: optional(number),
  workflowCompletionRetentionMs: optional(number),
  journalRetentionMs: optional(number),
  inactivityTimeoutMs: optional(number),
  abortTimeoutMs: optional(number),
});

const FINDING_KINDS: Readonly<Record<FindingKind, proto.Finding_Kind>> = {
  journalMismatch: proto.Finding_Kind.JOURNAL_MISMATCH,
  handlerMissing: proto.Finding_Kind.HANDLER_MISSING,
  protocolVersion: proto.Finding_Kind.PROTOCOL_VERSION,
  failed: proto.Finding_Kind.FAILED,
  unclear: proto.Finding_Kind.UNCLEAR,
  outputDiffers: proto.Finding_Kind.OUTPUT_DIFFERS,
  skipped: proto.Finding_Kind.SKIPPED,
};

const command = message<CheckedCommand, typeof proto.Finding_CommandSchema>(proto.Finding_CommandSchema, {
  type: text,
  name: optional(text),
});

const finding = message<VerificationFinding, typeof proto.FindingSchema>(proto.FindingSchema, {
  kind: enumeration(FINDING_KINDS, "the kind of a finding"),
  service: text,
  handler: text,
  invocations: whole,
  invocationId: text,
  status: text,
  deploymentId: text,
  code: optional(errorCode),
  commandIndex: optional(whole),
  expected: optional(command),
  actual: optional(command),
  message: text,
  stacktrace: optional(text),
});

export const verification = message<Verification, typeof proto.VerificationSchema>(proto.VerificationSchema, {
  checkedAtMs: whole,
  durationMs: number,
  found: whole,
  checked: whole,
  compatible: whole,
  incompatible: whole,
  failed: whole,
  skipped: whole,
  isComplete: flag,
  findings: list(finding),
  findingsLeftOut: whole,
});

export const deployment = message<DeploymentRecord, typeof proto.DeploymentSchema>(proto.DeploymentSchema, {
  id: deploymentId,
  address: nested(deploymentAddress, "the address of a deployment"),
  additionalHeaders: texts,
  metadata: texts,
  createdAtMs: whole,
  protocolType,
  minProtocolVersion: number,
  maxProtocolVersion: number,
  sdkVersion: optional(text),
  services: list(
    message<ServiceRevision, typeof proto.ServiceRevisionSchema>(proto.ServiceRevisionSchema, {
      definition: nested(service, "the definition of a service"),
      revision: number,
      overrides: nested(overrides, "the overrides of a service"),
    }),
  ),
  verification: optional(verification),
});

const retryPolicy = message<RetryPolicy, typeof proto.RetryPolicySchema>(proto.RetryPolicySchema, {
  initialIntervalMs: number,
  factor: number,
  maxIntervalMs: optional(number),
  maxAttempts: optional(whole),
  onMaxAttempts,
});

export const effectiveOptions = message<EffectiveOptions, typeof proto.EffectiveOptionsSchema>(proto.EffectiveOptionsSchema, {
  public: flag,
  idempotencyRetentionMs: number,
  workflowCompletionRetentionMs: optional(number),
  journalRetentionMs: number,
  inactivityTimeoutMs: number,
  abortTimeoutMs: number,
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

const ruleRate = message<RuleRate, typeof proto.RuleRateSchema>(proto.RuleRateSchema, {
  limit: number,
  periodMs: number,
  burst: number,
});

export const rule = message<RuleRecord, typeof proto.RuleSchema>(proto.RuleSchema, {
  pattern: text,
  concurrency: optional(whole),
  rate: optional(ruleRate),
  weight: number,
  priority: optional(number),
  description: optional(text),
  disabled: flag,
  version: whole,
  lastModifiedMs: whole,
});

// ── the state ────────────────────────────────────────────────────────────────────────────────────

const handlerView = message<HandlerView, typeof proto.HandlerViewSchema>(proto.HandlerViewSchema, {
  service: text,
  handler: text,
  serviceType: serviceKind,
  handlerType: handlerKind,
  public: flag,
  input: nested(
    message<InputRule, typeof proto.InputRuleSchema>(proto.InputRuleSchema, { none: flag, required: flag, contentType: text }),
    "the input of a handler",
  ),
  output: nested(
    message<OutputRule, typeof proto.OutputRuleSchema>(proto.OutputRuleSchema, {
      contentType: optional(text),
      setContentTypeIfEmpty: flag,
    }),
    "the output of a handler",
  ),
  idempotencyRetentionMs: number,
  workflowRetentionMs: number,
  journalRetentionMs: number,
  inactivityTimeoutMs: number,
  abortTimeoutMs: number,
  enableLazyState: flag,
  retryPolicy: nested(retryPolicy, "the retry policy of a handler"),
});

const serviceView = message<ServiceView, typeof proto.ServiceViewSchema>(proto.ServiceViewSchema, {
  name: text,
  serviceType: serviceKind,
  revision: number,
  deploymentId,
  handlers: byName(handlerView),
});

const deploymentView = message<DeploymentView, typeof proto.DeploymentViewSchema>(proto.DeploymentViewSchema, {
  id: deploymentId,
  address: nested(deploymentAddress, "the address of a deployment"),
  additionalHeaders: texts,
  protocolType,
  minProtocolVersion: number,
  maxProtocolVersion: number,
  services: byName(serviceView),
});

export const snapshot = message<RegistrySnapshot, typeof proto.RegistrySnapshotSchema>(proto.RegistrySnapshotSchema, {
  services: byName(serviceView),
  deployments: byName(deploymentView) as FieldCodec<RegistrySnapshot["deployments"], Record<string, proto.DeploymentView>>,
  rules: list(
    message<FlowRule, typeof proto.FlowRuleSchema>(proto.FlowRuleSchema, {
      pattern: text,
      concurrency: optional(whole),
      rate: optional(ruleRate),
      weight: number,
      priority: optional(number),
      disabled: flag,
    }),
  ),
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
});

// ── requests ─────────────────────────────────────────────────────────────────────────────────────

const requestedAddress: FieldCodec<RequestedAddress, proto.RequestedAddress> = {
  to(address) {
    if (address.kind === "http") {
      const value = { uri: address.uri, useHttp11: address.useHttp11 };
      return create(proto.RequestedAddressSchema, { address: { case: "http", value } });
    }
    const value = { arn: address.arn, ...given("assumeRoleArn", address.assumeRoleArn) };
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

export const ruleChange: FieldCodec<RuleChange, proto.RuleChange> = {
  to({ pattern, concurrency, rate, weight, priority, description, disabled, precondition }) {
    const changes = create(proto.RuleChangeSchema, {
      pattern,
      disabled,
      ...given("concurrency", optional(whole).to(concurrency)),
      ...given("rate", rate === undefined ? undefined : given("value", rate === null ? undefined : ruleRate.to(rate))),
      ...given("weight", weight === undefined ? undefined : given("value", weight ?? undefined)),
      ...given("priority", priority === undefined ? undefined : given("value", priority ?? undefined)),
      ...given("description", description),
    });
    if (precondition.kind === "matches") {
      changes.precondition = { case: "matches", value: BigInt(precondition.version) };
    } else if (precondition.kind === "doesNotExist") {
      changes.precondition = { case: "doesNotExist", value: create(proto.RuleChange_DoesNotExistSchema) };
    }
    return changes;
  },
  from({ pattern, concurrency, rate, weight, priority, description, disabled, precondition }) {
    return {
      pattern,
      concurrency: optional(whole).from(concurrency),
      rate: rate && (rate.value === undefined ? null : ruleRate.from(rate.value)),
      weight: weight && (weight.value ?? null),
      priority: priority && (priority.value ?? null),
      description,
      disabled,
      precondition:
        precondition.case === "matches"
          ? { kind: "matches", version: Number(precondition.value) }
          : { kind: precondition.case === undefined ? "none" : "doesNotExist" },
    };
  },
};
