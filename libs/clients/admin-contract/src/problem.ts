/** The body of every refusal and failure. */
import { z } from "zod";

export const ProblemShape = z.object({
  message: z.string(),
  restate_code: z
    .string()
    .nullable()
    .describe("The code of the error, explained in the documentation; `null` where there is none"),
});
