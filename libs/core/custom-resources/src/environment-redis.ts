/** Fields of the `Environment` resource about Redis: one of the user, and the promotion of a replica. */
import { z } from "zod";
import { name, secretRef, text } from "./schema.js";

/** In the spec, instead of a Redis of the environment. */
export const externalRedis = z.strictObject({
  secretRef: secretRef().describe("The URL, in a Secret of the operator's namespace."),
  keyPrefix: text(64).optional(),
});

/** In the spec. */
export const redisFailover = () =>
  z
    .strictObject({
      after: text(8)
        .regex(/^([0-9]{1,5}[smh]|never)$/)
        .default("60s")
        .describe("How long the primary must have been gone, such as 60s or 5m; never leaves it to an operator."),
    })
    .optional()
    .describe("Mode replicated: promotion of a replica when the primary is lost. After 60s when absent.");

/** In the status. */
export const redisPrimary = () =>
  z
    .strictObject({ pod: name(63), promotions: z.int().min(1), since: z.string().meta({ format: "date-time" }) })
    .optional()
    .describe("The Redis that writes, once a replica has been promoted.");
