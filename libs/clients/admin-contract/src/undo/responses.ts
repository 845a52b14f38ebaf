/** Shapes of responses about operations that can be undone. */
import { z } from "zod";
import { TimeShape } from "../fields.js";
import { UNDOABLE_CHANGES, UNDOABLE_VERBS } from "../invocations/verbs.js";

export const OperationShape = z
  .strictObject({
    id: z.string(),
    operation: z.enum([...UNDOABLE_VERBS, ...UNDOABLE_CHANGES]),
    invocation_id: z.string().nullable().describe("The invocation, when the request named one"),
    subject: z
      .string()
      .nullable()
      .describe("What was changed, when it is not invocations: the object whose state was edited, or what was deleted"),
    batch_id: z.string().nullable().describe("The batch that applied it to many"),
    matched: z.int().describe("Invocations that the request named or matched; 1 for another change"),
    started_at: TimeShape,
    started_by: z.string().nullable(),
    reason: z.string().nullable(),
    state: z.enum(["undoable", "undoing", "undone", "expired"]),
    undo_until: TimeShape,
    undo_left_ms: z.int().describe("Time left to undo it, 0 when it is over"),
    undo: z
      .strictObject({
        started_at: TimeShape,
        batch_id: z.string().nullable().describe("The batch that undoes it; its results name each invocation"),
        undone: z.int(),
        failed: z.int(),
        cannot_be_undone: z.array(z.string()).describe("What others were notified of, in sentences"),
      })
      .nullable(),
  })
  .meta({ id: "Operation" });

export const OperationsShape = z.strictObject({ operations: z.array(OperationShape) });
