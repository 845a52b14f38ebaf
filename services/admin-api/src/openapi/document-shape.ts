/** Why: answers that are OpenAPI documents themselves; the standard says what is in them. */
import { z } from "zod";

export const DocumentShape = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
});
