/** Shapes of responses about rules of flow control. */
import { z } from "zod";

export const RuleShape = z
  .strictObject({
    pattern: z.string(),
    limits: z.strictObject({
      concurrency: z.int().optional(),
      rate: z.strictObject({ limit: z.int(), per: z.string(), burst: z.int() }).optional(),
    }),
    description: z.string().optional(),
    disabled: z.boolean(),
    weight: z.int().optional(),
    priority: z.int().optional(),
    version: z.int(),
    last_modified_millis_since_epoch: z.int(),
  })
  .meta({ id: "RuleResponse" });

export const RulesShape = z.array(RuleShape);

/** Patterns of the rules that were deleted. */
export const DeletedRulesShape = z.array(z.string());
