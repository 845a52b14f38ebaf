/** Shape of the outcome of a deploy check. */
import { z } from "zod";
import { DurationShape, TimeShape } from "../fields.js";

/** `name` is absent where the command has none; a finding of one kind may have further fields. */
const CommandShape = z.looseObject({ type: z.string() });

export const VerificationShape = z
  .strictObject({
    checked_at: TimeShape,
    duration: DurationShape,
    found: z.int(),
    checked: z.int(),
    compatible: z.int(),
    incompatible: z.int(),
    failed: z.int(),
    skipped: z.int(),
    is_complete: z.boolean(),
    findings: z.array(
      z.strictObject({
        kind: z.enum([
          "journal_mismatch",
          "handler_missing",
          "protocol_version",
          "failed",
          "unclear",
          "output_differs",
          "skipped",
        ]),
        service: z.string(),
        handler: z.string(),
        invocations: z.int(),
        invocation_id: z.string(),
        status: z.string(),
        deployment_id: z.string(),
        code: z.string().optional(),
        command_index: z.int().optional(),
        expected: CommandShape.optional(),
        actual: CommandShape.optional(),
        message: z.string(),
        stacktrace: z.string().optional(),
      }),
    ),
    findings_left_out: z.int(),
  })
  .meta({ id: "Verification" });
