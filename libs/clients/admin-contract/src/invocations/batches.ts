/** Shapes of responses about batches and their results. */
import { z } from "zod";
import { TimeShape } from "../fields.js";
import { BATCH_VERBS, INVOCATION_VERBS } from "./verbs.js";

export const BatchShape = z
  .strictObject({
    id: z.string(),
    operation: z.enum(BATCH_VERBS),
    state: z.enum(["running", "finished", "cancelled"]),
    filter: z.string().nullable(),
    deployment: z.string().nullable(),
    matched: z.int(),
    more_matched: z.boolean(),
    done: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    remaining: z.int(),
    started_at: TimeShape,
    finished_at: TimeShape.nullable(),
    started_by: z.string().nullable(),
    reason: z.string().nullable(),
    operation_id: z.string().optional().describe("The operation with which the batch can be undone, or that it undoes"),
  })
  .meta({ id: "Batch" });

export const BatchesShape = z.strictObject({ batches: z.array(BatchShape) });

export const DryRunShape = z.strictObject({
  operation: z.enum(INVOCATION_VERBS),
  dry_run: z.literal(true),
  matched: z.int(),
  more_matched: z.boolean(),
  sample: z.array(z.looseObject({ id: z.string() })),
});

export const BatchResultsShape = z.strictObject({
  results: z.array(
    z.strictObject({
      invocation_id: z.string(),
      result: z.enum(["succeeded", "failed"]),
      status: z.int(),
      error: z.string().optional(),
      note: z.string().optional().describe("What an undo could not revert"),
      new_invocation_id: z.string().optional(),
    }),
  ),
  next_cursor: z.string().nullable(),
});
