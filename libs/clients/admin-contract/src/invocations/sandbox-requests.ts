/** The body of a fork in a sandbox. */
import { parseDuration } from "@perdure/base";
import { z } from "zod";
import { SANDBOX_MS_MAX, SANDBOX_STUBS_MAX } from "../limits.js";
import { AnyJson, ForkInvocation, TerminalFailure } from "./fork-requests.js";

const Name = z.string().min(1);
const Timeout = z.string().superRefine((text, context) => {
  const parsed = parseDuration(text);
  if (!parsed.ok) context.addIssue({ code: "custom", message: `is not a duration: ${parsed.reason}` });
  else if (parsed.ms > SANDBOX_MS_MAX) context.addIssue({ code: "custom", message: `is longer than ${SANDBOX_MS_MAX} ms` });
});

export const ForkInSandbox = z
  .strictObject({
    ...ForkInvocation.shape,
    stubs: z
      .array(
        z.union([
          z.strictObject({ service: Name, handler: Name, value: AnyJson }),
          z.strictObject({ service: Name, handler: Name, failure: TerminalFailure }),
        ]),
      )
      .max(SANDBOX_STUBS_MAX)
      .nullish()
      .describe("Results of calls, in place of those of the source"),
    keep_sleeps: z.boolean().nullish().describe("Whether sleeps last; `false` (default) ends them at once"),
    timeout: Timeout.nullish().describe("Longest time of the run, such as `30s` (default)"),
  })
  .meta({ id: "ForkInSandboxRequest" });

export type SandboxBody = z.infer<typeof ForkInSandbox>;
