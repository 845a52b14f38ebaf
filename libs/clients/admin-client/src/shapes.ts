/**
 * Answers of the management API, as far as clients read them. The shapes are loose on purpose: a server may be newer than its clients, and
 * fields without a shape are passed on (`--json` shows every field of the answer).
 */
import { z } from "zod";

const texts = z.record(z.string(), z.string());
const optionalText = z.string().nullish();

/** Only the options that the handler sets itself; `max_attempts` null: unlimited, or as the service has it. */
const retryPolicyShape = z.looseObject({
  initial_interval: optionalText,
  exponentiation_factor: z.number().nullish(),
  max_attempts: z.int().nullish(),
  max_interval: optionalText,
  on_max_attempts: optionalText,
});
export type RetryPolicyView = z.infer<typeof retryPolicyShape>;

export const handlerShape = z.looseObject({
  name: z.string(),
  ty: z.string().nullish(),
  public: z.boolean().default(true),
  documentation: optionalText,
  metadata: texts.optional(),
  input_description: z.string().default("any"),
  output_description: z.string().default("any"),
  input_json_schema: z.unknown().optional(),
  output_json_schema: z.unknown().optional(),
  idempotency_retention: optionalText,
  journal_retention: optionalText,
  inactivity_timeout: optionalText,
  abort_timeout: optionalText,
  enable_lazy_state: z.boolean().optional(),
  retry_policy: retryPolicyShape.optional(),
});
export type HandlerView = z.infer<typeof handlerShape>;

export const serviceShape = z.looseObject({
  name: z.string(),
  ty: z.enum(["Service", "VirtualObject", "Workflow"]),
  handlers: z.array(handlerShape),
  documentation: optionalText,
  metadata: texts.optional(),
  deployment_id: z.string(),
  revision: z.int(),
  public: z.boolean(),
  idempotency_retention: optionalText,
  workflow_completion_retention: optionalText,
  journal_retention: optionalText,
  inactivity_timeout: optionalText,
  abort_timeout: optionalText,
  enable_lazy_state: z.boolean().optional(),
  retry_policy: retryPolicyShape.optional(),
  /** Options that the server interprets in another way than written. */
  info: z.array(z.looseObject({ code: optionalText, message: z.string() })).optional(),
});
export type ServiceView = z.infer<typeof serviceShape>;

export const serviceListShape = z.looseObject({ services: z.array(serviceShape) });

/** Options that can change without new code; durations such as `1d 2h`. */
export interface ServiceChanges {
  public?: boolean;
  idempotency_retention?: string;
  workflow_completion_retention?: string;
  journal_retention?: string;
  inactivity_timeout?: string;
  abort_timeout?: string;
}

const stepOfCheckShape = z.looseObject({ type: z.string(), name: optionalText });
const verificationShape = z.looseObject({
  checked_at: z.string(),
  duration: z.string(),
  found: z.int(),
  checked: z.int(),
  compatible: z.int(),
  incompatible: z.int(),
  failed: z.int(),
  skipped: z.int(),
  is_complete: z.boolean(),
  findings: z.array(
    z.looseObject({
      kind: z.string(),
      service: z.string(),
      handler: z.string(),
      invocations: z.int(),
      invocation_id: z.string(),
      code: optionalText,
      command_index: z.int().nullish(),
      expected: stepOfCheckShape.nullish(),
      actual: stepOfCheckShape.nullish(),
      message: z.string(),
    }),
  ),
  findings_left_out: z.int().default(0),
});
export type VerificationView = z.infer<typeof verificationShape>;
export { verificationShape };

const deploymentFields = {
  id: z.string(),
  uri: z.string().optional(),
  protocol_type: z.string().optional(),
  http_version: z.string().optional(),
  arn: z.string().optional(),
  assume_role_arn: z.string().optional(),
  additional_headers: texts.optional(),
  metadata: texts.optional(),
  created_at: z.string(),
  min_protocol_version: z.int(),
  max_protocol_version: z.int(),
  sdk_version: optionalText,
};
export const deploymentSummaryShape = z.looseObject({
  ...deploymentFields,
  services: z.array(z.looseObject({ name: z.string(), revision: z.int() })),
});
export type DeploymentSummary = z.infer<typeof deploymentSummaryShape>;

export const deploymentShape = z.looseObject({
  ...deploymentFields,
  services: z.array(serviceShape),
  verification: verificationShape.optional(),
});
export type DeploymentView = z.infer<typeof deploymentShape>;

export const deploymentListShape = z.looseObject({ deployments: z.array(deploymentSummaryShape) });

export const registrationShape = z.looseObject({
  id: z.string(),
  services: z.array(serviceShape),
  min_protocol_version: z.int(),
  max_protocol_version: z.int(),
  sdk_version: optionalText,
  verification: verificationShape.optional(),
});
export type RegistrationView = z.infer<typeof registrationShape>;

export const versionShape = z.looseObject({
  version: z.string(),
  ingress_endpoint: z.string().nullish(),
  features: z.record(z.string(), z.boolean()).default({}),
});
export type VersionView = z.infer<typeof versionShape>;
