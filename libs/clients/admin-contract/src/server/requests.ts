import { z } from "zod";

/** One SQL statement over the tables of introspection. */
export const Query = z.object({ query: z.string() }).meta({ id: "QueryRequest" });

/** Longest document of the console: 200 acknowledged failures, or as many views, take a tenth of it. */
export const CONSOLE_DOCUMENT_CHARS_MAX = 512 * 1024;

export const PutConsoleDocument = z.object({
  expected_version: z.int().min(0),
  value: z.string().max(CONSOLE_DOCUMENT_CHARS_MAX),
});
