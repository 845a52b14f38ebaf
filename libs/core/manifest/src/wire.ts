/**
 * The discovery manifest as endpoints send it (service-protocol.md §13.2). One schema serves versions 1 to 4: each version only added
 * fields. Unknown fields are refused, because ignoring an option would silently change how the service runs.
 */
import { z } from "zod";
import { DURATION_MS_MAX, HANDLERS_MAX, SERVICES_MAX } from "./limits.js";

const DurationMs = z.number().int().min(0).max(DURATION_MS_MAX);
const ProtocolVersion = z.number().int().min(1).max(2_147_483_647);
const StringMap = z.record(z.string(), z.string());

const SERVICE_NAME = /^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9._-]*$/;
const HANDLER_NAME = /^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$/;

/** Fields that a service and a handler have in common. */
const shared = {
  documentation: z.string().nullish(),
  metadata: StringMap.nullish(),
  inactivityTimeout: DurationMs.nullish(),
  abortTimeout: DurationMs.nullish(),
  journalRetention: DurationMs.nullish(),
  idempotencyRetention: DurationMs.nullish(),
  enableLazyState: z.boolean().nullish(),
  ingressPrivate: z.boolean().nullish(),
  retryPolicyInitialInterval: DurationMs.nullish(),
  retryPolicyExponentiationFactor: z.number().positive().nullish(),
  retryPolicyMaxInterval: DurationMs.nullish(),
  retryPolicyMaxAttempts: z.number().int().min(0).nullish(),
  retryPolicyOnMaxAttempts: z.enum(["PAUSE", "KILL"]).nullish(),
};

const WireHandler = z.strictObject({
  name: z.string().regex(HANDLER_NAME),
  ty: z.enum(["EXCLUSIVE", "SHARED", "WORKFLOW"]).nullish(),
  input: z
    .strictObject({ required: z.boolean().nullish(), contentType: z.string().nullish(), jsonSchema: z.unknown().optional() })
    .nullish(),
  output: z
    .strictObject({
      contentType: z.string().nullish(),
      setContentTypeIfEmpty: z.boolean().nullish(),
      jsonSchema: z.unknown().optional(),
    })
    .nullish(),
  workflowCompletionRetention: DurationMs.nullish(),
  ...shared,
});

const WireService = z.strictObject({
  name: z.string().regex(SERVICE_NAME),
  ty: z.enum(["SERVICE", "VIRTUAL_OBJECT", "WORKFLOW"]),
  handlers: z.array(WireHandler).max(HANDLERS_MAX),
  ...shared,
});

export const WireManifest = z.strictObject({
  protocolMode: z.enum(["BIDI_STREAM", "REQUEST_RESPONSE"]).nullish(),
  minProtocolVersion: ProtocolVersion,
  maxProtocolVersion: ProtocolVersion,
  lambdaCompression: z.enum(["zstd"]).nullish(),
  services: z.array(WireService).max(SERVICES_MAX),
});

export type WireManifest = z.infer<typeof WireManifest>;
export type WireService = z.infer<typeof WireService>;
export type WireHandler = z.infer<typeof WireHandler>;
