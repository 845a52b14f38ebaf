/** Deployments, their services and handlers, and checks of their code as messages of `proto/control/v1/registry.proto`, and back. */

import { create } from "@bufbuild/protobuf";
import { type DeploymentId, type ErrorCode, parseDeploymentId, parseSubscriptionId, type SubscriptionId } from "@perdure/base";
import { isErrorCode } from "@perdure/base/errors";
import type { RetryPolicy } from "@perdure/control";
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
  DeploymentAddress,
  DeploymentRecord,
  FindingKind,
  ServiceOverrides,
  ServiceRevision,
  Verification,
  VerificationFinding,
} from "@perdure/metadata";
import * as proto from "../gen/v1/registry_pb.js";
import { given, refuse } from "./checks.js";
import {
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

export const deploymentId = checked(checkedDeploymentId);
export const subscriptionId = checked(checkedSubscriptionId);
export const errorCode = checked<ErrorCode>((code) => (isErrorCode(code) ? code : refuse("a code of the error catalogue", code)));

export const serviceKind = enumeration<ServiceKind, proto.ServiceKind>(
  {
    service: proto.ServiceKind.SERVICE,
    virtualObject: proto.ServiceKind.VIRTUAL_OBJECT,
    workflow: proto.ServiceKind.WORKFLOW,
  },
  "the kind of a service",
);
export const handlerKind = enumeration<HandlerKind, proto.HandlerKind>(
  { exclusive: proto.HandlerKind.EXCLUSIVE, shared: proto.HandlerKind.SHARED, workflow: proto.HandlerKind.WORKFLOW },
  "the kind of a handler",
);
export const protocolType = enumeration<DeploymentRecord["protocolType"], proto.ProtocolType>(
  { bidiStream: proto.ProtocolType.BIDI_STREAM, requestResponse: proto.ProtocolType.REQUEST_RESPONSE },
  "the protocol of a deployment",
);
const ON_MAX_ATTEMPTS = { pause: proto.OnMaxAttempts.PAUSE, kill: proto.OnMaxAttempts.KILL } as const;
export const onMaxAttempts = enumeration<RetryPolicy["onMaxAttempts"], proto.OnMaxAttempts>(ON_MAX_ATTEMPTS, "a retry policy");

// ── deployments and services ─────────────────────────────────────────────────────────────────────

const HTTP_VERSIONS = {
  "HTTP/1.1": proto.DeploymentAddress_HttpVersion.HTTP_VERSION_1_1,
  "HTTP/2.0": proto.DeploymentAddress_HttpVersion.HTTP_VERSION_2_0,
} as const;
const httpVersion = enumeration<"HTTP/1.1" | "HTTP/2.0", proto.DeploymentAddress_HttpVersion>(HTTP_VERSIONS, "a version of HTTP");
const compression = optional(choice<"zstd">(["zstd"], "the compression of a deployment"));

export const deploymentAddress: FieldCodec<DeploymentAddress, proto.DeploymentAddress> = {
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

/** An empty map means the same as none. */
const textsOrNone: FieldCodec<Readonly<Record<string, string>> | undefined, Record<string, string>> = {
  to: (value) => texts.to(value ?? {}),
  from: (value) => (Object.keys(value).length === 0 ? undefined : value),
};

export const overrides = message<ServiceOverrides, typeof proto.ServiceOverridesSchema>(proto.ServiceOverridesSchema, {
  public: optional(flag),
  idempotencyRetentionMs: optional(number),
  workflowCompletionRetentionMs: optional(number),
  journalRetentionMs: optional(number),
  inactivityTimeoutMs: optional(number),
  abortTimeoutMs: optional(number),
  stateTtlMs: optional(number),
  debounce: textsOrNone,
  throttle: textsOrNone,
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
