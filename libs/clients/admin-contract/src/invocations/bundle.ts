/** Shape of a bundle: everything that a replay of one invocation needs (docs/reference/bundle.md). Bytes are base64. */
import { z } from "zod";
import { TimeShape } from "../fields.js";
import { TimelineShape } from "./insight.js";

export const BUNDLE_FORMAT = "perdure.bundle";
/** Rises when a reader of the version before would misread a file. */
export const BUNDLE_VERSION = 1;

const Base64Shape = z.base64().describe("Bytes as base64");
const optionalText = z.string().nullable();

const BundleErrorShape = z.strictObject({
  restate_code: z.string(),
  code: z.int(),
  message: z.string(),
  stacktrace: optionalText,
  command_index: z.int().nullable(),
  command_name: optionalText,
  command_type: z.int().nullable(),
});

const TargetShape = z.strictObject({
  service: z.string(),
  handler: z.string(),
  key: optionalText,
  scope: optionalText,
  service_type: z.enum(["service", "virtualObject", "workflow"]),
  handler_type: z.enum(["exclusive", "shared", "workflow"]),
});

const BundleInvocationShape = z.strictObject({
  id: z.string(),
  target: TargetShape,
  status: z.string(),
  run: z.int().describe("Number of times that it was handed to an invoker"),
  invoked_by: z.strictObject({ kind: z.string(), id: optionalText, target: optionalText }),
  idempotency_key: optionalText,
  limit_key: optionalText,
  priority: z.int(),
  random_seed: z.string().describe("Seed of the handler's random numbers, a whole number as text"),
  created_at: TimeShape,
  modified_at: TimeShape,
  starts_at: TimeShape.nullable(),
  completed_at: TimeShape.nullable(),
  completion_retention_ms: z.number(),
  journal_retention_ms: z.number(),
  outcome: z.enum(["success", "failure"]).nullable(),
});

const DeploymentShape = z.strictObject({
  deployment_id: z.string(),
  protocol_version: z.int(),
  endpoint: optionalText,
  sdk: optionalText,
  revision: z.int().nullable().describe("Revision of the service that the deployment serves"),
});

export const BundleShape = z
  .strictObject({
    format: z.literal(BUNDLE_FORMAT),
    version: z.int(),
    created_at: TimeShape,
    server: z.strictObject({ version: z.string() }),
    redaction: z
      .strictObject({
        changed: z.int().describe("Payloads, headers and texts that differ from what is stored"),
        unsearched: z
          .int()
          .optional()
          .describe(
            "Secrets beyond 20,000, replaced where a name shows them and not searched for elsewhere; earlier servers do not count",
          ),
        added: z.array(z.string()),
        kept: z.array(z.string()),
        other_formats_kept: z.boolean(),
      })
      .nullable()
      .describe("`null`: only credentials in headers were replaced"),
    invocation: BundleInvocationShape,
    deployment: DeploymentShape.nullable().describe("What the invocation is pinned to; `null` before its first attempt"),
    journal: z.strictObject({
      entries: z.array(
        z.strictObject({
          index: z.int(),
          type: z.int().describe("Message type of the service protocol"),
          label: z.string().describe("The type in words"),
          at: TimeShape,
          body: Base64Shape.describe("Message of the service protocol, base64"),
        }),
      ),
      length: z.int().describe("Entries of the journal as the server counts them; more than `entries` when it was deleted"),
    }),
    state: z
      .strictObject({
        complete: z.boolean().describe("False: the object may have had further keys when the invocation began"),
        entries: z.array(z.strictObject({ key: Base64Shape, value: Base64Shape })),
      })
      .nullable()
      .describe("State of the object when the invocation began, as far as it can be derived; `null` for plain services"),
    events: z.array(
      z.strictObject({
        kind: z.enum(["transientError", "paused"]),
        after_index: z.int(),
        at: TimeShape,
        error: BundleErrorShape.nullable(),
      }),
    ),
    error: BundleErrorShape.nullable().describe("The failure with which it ended, or that of its last attempt"),
    timeline: TimelineShape,
  })
  .meta({ id: "Bundle" });
