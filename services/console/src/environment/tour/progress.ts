/** A user who leaves the tour comes back to the same step. Kept in this browser only. Pure. */
import { z } from "zod";

/** The progress of one environment; each field may be missing. */
const progressShape = z.object({
  language: z.enum(["typescript", "python", "java", "go", "rust"]).default("typescript"),
  address: z.string().max(2_000).default("http://localhost:9080"),
  /** The invocation that was called, when it succeeded. */
  calledId: z.string().max(200).optional(),
  /** The one that is to be crashed. */
  crash: z
    .object({
      id: z.string().max(200),
      /** Set when it was cut off. */
      cut: z.object({ journalLength: z.int().min(0), attemptsBefore: z.int().min(0) }).optional(),
      /** The invocation was cut off and completed nevertheless. */
      isSurvived: z.boolean().default(false),
    })
    .optional(),
});
export type TourProgress = z.infer<typeof progressShape>;

export const NO_PROGRESS: TourProgress = progressShape.parse({});

/** Values that were edited in the storage by hand do not count. */
export function parseProgress(text: string | null): TourProgress {
  if (text === null) return NO_PROGRESS;
  try {
    const parsed = progressShape.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : NO_PROGRESS;
  } catch (cause) {
    if (cause instanceof SyntaxError) return NO_PROGRESS;
    throw cause;
  }
}
