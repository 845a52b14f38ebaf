/** Validates documents from storage. One schema per document, each giving the record's own type. */
import { type ErrorCode, parseDeploymentId, parseEventSubscriptionId, parseSubscriptionId } from "@perdure/base";
import type { HandlerDefinition, ManifestOptions, ServiceDefinition } from "@perdure/manifest";
import {
  type CheckedCommand,
  type DeploymentRecord,
  type EventSubscriptionRecord,
  type KafkaClusterRecord,
  RULE_WEIGHT_DEFAULT,
  type RuleRecord,
  type ServiceRevision,
  type SubscriptionRecord,
  type Verification,
  type VerificationFinding,
} from "@perdure/metadata";
import { EVENT_TYPES } from "@perdure/state-machine";
import { z } from "zod";
import type { RuleDocument } from "./state.js";

const StringMap = z.record(z.string(), z.string());
const Ms = z.number().int().min(0);
/** Absent in JSON, present as `undefined` in memory: records keep one shape. */
const maybe = <T extends z.ZodType>(schema: T) =>
  schema.optional().default(undefined as never) as z.ZodType<z.infer<T> | undefined>;

const StoredOptions: z.ZodType<ManifestOptions> = z.object({
  inactivityTimeoutMs: maybe(Ms),
  abortTimeoutMs: maybe(Ms),
  journalRetentionMs: maybe(Ms),
  idempotencyRetentionMs: maybe(Ms),
  enableLazyState: maybe(z.boolean()),
  ingressPrivate: maybe(z.boolean()),
  retry: z.object({
    initialIntervalMs: maybe(Ms),
    factor: maybe(z.number()),
    maxIntervalMs: maybe(Ms),
    maxAttempts: maybe(z.number().int().min(1)),
    onMaxAttempts: maybe(z.enum(["pause", "kill"])),
  }),
});

const StoredHandler: z.ZodType<HandlerDefinition> = z.object({
  name: z.string(),
  kind: z.enum(["exclusive", "shared", "workflow"]),
  documentation: maybe(z.string()),
  metadata: StringMap,
  input: z.object({ none: z.boolean(), required: z.boolean(), contentType: z.string(), jsonSchema: maybe(z.unknown()) }),
  output: z.object({ contentType: maybe(z.string()), setContentTypeIfEmpty: z.boolean(), jsonSchema: maybe(z.unknown()) }),
  options: StoredOptions,
  workflowCompletionRetentionMs: maybe(Ms),
});

const StoredService: z.ZodType<ServiceDefinition> = z.object({
  name: z.string(),
  kind: z.enum(["service", "virtualObject", "workflow"]),
  documentation: maybe(z.string()),
  metadata: StringMap,
  options: StoredOptions,
  handlers: z.array(StoredHandler),
});

const StoredRevision: z.ZodType<ServiceRevision> = z.object({
  definition: StoredService,
  revision: z.number().int().min(1),
  overrides: z.object({
    public: maybe(z.boolean()),
    idempotencyRetentionMs: maybe(Ms),
    workflowCompletionRetentionMs: maybe(Ms),
    journalRetentionMs: maybe(Ms),
    inactivityTimeoutMs: maybe(Ms),
    abortTimeoutMs: maybe(Ms),
    stateTtlMs: maybe(Ms),
    debounce: maybe(StringMap),
    throttle: maybe(StringMap),
  }),
});

const Count = z.number().int().min(0);
const StoredCommand: z.ZodType<CheckedCommand> = z.object({ type: z.string(), name: maybe(z.string()) });
const StoredFinding: z.ZodType<VerificationFinding> = z.object({
  kind: z.enum(["journalMismatch", "handlerMissing", "protocolVersion", "failed", "unclear", "outputDiffers", "skipped"]),
  service: z.string(),
  handler: z.string(),
  invocations: Count,
  invocationId: z.string(),
  status: z.string(),
  deploymentId: z.string(),
  code: maybe(z.custom<ErrorCode>((code) => typeof code === "string")),
  commandIndex: maybe(Count),
  expected: maybe(StoredCommand),
  actual: maybe(StoredCommand),
  message: z.string(),
  stacktrace: maybe(z.string()),
});
const StoredVerification: z.ZodType<Verification> = z.object({
  checkedAtMs: Ms,
  durationMs: Ms,
  found: Count,
  checked: Count,
  compatible: Count,
  incompatible: Count,
  failed: Count,
  skipped: Count,
  isComplete: z.boolean(),
  findings: z.array(StoredFinding),
  findingsLeftOut: Count,
});

export const StoredDeployment: z.ZodType<DeploymentRecord> = z.object({
  id: z.string().transform((text, context) => idOrIssue(parseDeploymentId(text), context)),
  address: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("http"), uri: z.url(), httpVersion: z.enum(["HTTP/1.1", "HTTP/2.0"]) }),
    z.object({
      kind: z.literal("lambda"),
      arn: z.string(),
      assumeRoleArn: maybe(z.string()),
      compression: maybe(z.enum(["zstd"])),
    }),
  ]),
  additionalHeaders: StringMap,
  metadata: StringMap,
  createdAtMs: Ms,
  protocolType: z.enum(["bidiStream", "requestResponse"]),
  minProtocolVersion: z.number().int().min(1),
  maxProtocolVersion: z.number().int().min(1),
  sdkVersion: maybe(z.string()),
  services: z.array(StoredRevision),
  verification: maybe(StoredVerification),
});

export const StoredKafkaCluster: z.ZodType<KafkaClusterRecord> = z.object({
  name: z.string().min(1),
  properties: StringMap,
  createdAtMs: Ms,
});

export const StoredSubscription: z.ZodType<SubscriptionRecord> = z.object({
  id: z.string().transform((text, context) => idOrIssue(parseSubscriptionId(text), context)),
  source: z.string(),
  sink: z.string(),
  options: StringMap,
  paused: z.boolean().default(false),
  skipped: z.array(z.object({ partition: Count, offset: Count })).default([]),
});

export const StoredEventSubscription: z.ZodType<EventSubscriptionRecord> = z.object({
  id: z.string().transform((text, context) => idOrIssue(parseEventSubscriptionId(text), context)),
  types: z.array(z.enum(EVENT_TYPES)),
  filter: z.object({ service: maybe(z.string()), handler: maybe(z.string()), scope: maybe(z.string()) }),
  target: z.object({ service: z.string(), handler: z.string() }),
  webhook: maybe(z.object({ url: z.string(), secrets: z.array(z.string()) })),
  description: maybe(z.string()),
  createdAtMs: Ms,
});

export const StoredRule: z.ZodType<RuleRecord> = z.object({
  pattern: z.string(),
  concurrency: maybe(z.number().int().min(1)),
  rate: maybe(z.object({ limit: z.number().int().min(1), periodMs: z.number().int().min(1), burst: z.number().int().min(1) })),
  weight: z.number().int().min(1).default(RULE_WEIGHT_DEFAULT),
  priority: maybe(z.number().int().min(1).max(5)),
  description: maybe(z.string()),
  disabled: z.boolean(),
  version: z.number().int().min(1),
  lastModifiedMs: Ms,
});

export const StoredRuleBook: z.ZodType<RuleDocument> = z.object({ version: z.number().int().min(0), rules: z.array(StoredRule) });

function idOrIssue<T>(parsed: { ok: true; value: T } | { ok: false; problem: string }, context: z.RefinementCtx): T {
  if (parsed.ok) return parsed.value;
  context.addIssue({ code: "custom", message: parsed.problem });
  return z.NEVER;
}
