/** Shapes of responses about services and handlers. */
import { z } from "zod";
import { DurationShape, listShape, TextMapShape } from "../fields.js";

const NoticeShape = z.strictObject({ code: z.string().optional(), message: z.string() });
const OnMaxAttempts = z.enum(["Pause", "Kill"]);

const HandlerRetryShape = z.strictObject({
  initial_interval: DurationShape.optional(),
  exponentiation_factor: z.number().optional(),
  max_attempts: z.int().nullable().describe("`null`: unlimited, or the value of the service"),
  max_interval: DurationShape.optional(),
  on_max_attempts: OnMaxAttempts.optional(),
});

export const HandlerShape = z
  .strictObject({
    name: z.string(),
    ty: z.enum(["Exclusive", "Shared", "Workflow"]).optional().describe("Absent for plain services"),
    documentation: z.string().optional(),
    metadata: TextMapShape.optional(),
    idempotency_retention: DurationShape.optional(),
    journal_retention: DurationShape.optional(),
    inactivity_timeout: DurationShape.optional(),
    abort_timeout: DurationShape.optional(),
    enable_lazy_state: z.boolean().optional(),
    debounce: z.string().optional().describe("Rule that operators set, as in the header `x-restate-debounce`"),
    throttle: z.string().optional().describe("Rule that operators set, as in the header `x-restate-throttle`"),
    public: z.boolean(),
    input_description: z.string(),
    output_description: z.string(),
    input_json_schema: z.unknown().optional(),
    output_json_schema: z.unknown().optional(),
    retry_policy: HandlerRetryShape,
  })
  .meta({ id: "HandlerMetadata" });

export const ServiceShape = z
  .strictObject({
    name: z.string(),
    ty: z.enum(["Service", "VirtualObject", "Workflow"]),
    handlers: z.array(HandlerShape),
    documentation: z.string().optional(),
    metadata: TextMapShape.optional(),
    deployment_id: z.string(),
    revision: z.int(),
    public: z.boolean(),
    idempotency_retention: DurationShape,
    workflow_completion_retention: DurationShape.optional().describe("Workflows only"),
    journal_retention: DurationShape.optional(),
    inactivity_timeout: DurationShape,
    abort_timeout: DurationShape,
    state_ttl: DurationShape.optional().describe("Virtual objects whose state expires only"),
    enable_lazy_state: z.boolean(),
    retry_policy: z.strictObject({
      initial_interval: DurationShape,
      exponentiation_factor: z.number(),
      max_attempts: z.int().nullable().describe("`null`: without end"),
      max_interval: DurationShape.optional(),
      on_max_attempts: OnMaxAttempts,
    }),
    info: z.array(NoticeShape).optional(),
  })
  .meta({ id: "ServiceMetadata" });

export const ServicesShape = listShape("services", ServiceShape, "ListServicesResponse");
export const HandlersShape = listShape("handlers", HandlerShape, "ListServiceHandlersResponse");

/** A response that is an OpenAPI document itself; the standard defines its content. */
export const DocumentShape = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
});
