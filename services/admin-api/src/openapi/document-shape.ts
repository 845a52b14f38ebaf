/** Shape of answers that are OpenAPI documents themselves; the standard defines their content. */
import { z } from "zod";

export const DocumentShape = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
});
