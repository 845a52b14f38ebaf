import { z } from "zod";

/** One SQL statement over the tables of introspection. */
export const Query = z.object({ query: z.string() }).meta({ id: "QueryRequest" });
