/** Encodes the data path's view of a registry as messages of `proto/control/v1/registry.proto`, and decodes it. */

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
import * as proto from "../gen/v1/registry_pb.js";
import { deploymentAddress, deploymentId, handlerKind, onMaxAttempts, protocolType, serviceKind } from "./deployment.js";
import { eventRoutes } from "./events.js";
import { byName, type FieldCodec, flag, list, message, nested, number, optional, text, texts, whole } from "./form.js";
import { ruleRate } from "./rules.js";

export const retryPolicy = message<RetryPolicy, typeof proto.RetryPolicySchema>(proto.RetryPolicySchema, {
  initialIntervalMs: number,
  factor: number,
  maxIntervalMs: optional(number),
  maxAttempts: optional(whole),
  onMaxAttempts,
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
  debounce: optional(text),
  throttle: optional(text),
});

const serviceView = message<ServiceView, typeof proto.ServiceViewSchema>(proto.ServiceViewSchema, {
  name: text,
  serviceType: serviceKind,
  revision: number,
  deploymentId,
  stateTtlMs: optional(number),
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
  events: eventRoutes as FieldCodec<RegistrySnapshot["events"], proto.EventSubscription[]>,
});
