/** Shapes of responses to operations on one invocation. */
import { z } from "zod";
import { PayloadShape, StepShape } from "./insight.js";

export const RestartedShape = z.strictObject({ new_invocation_id: z.string() }).meta({ id: "RestartAsNewInvocationResponse" });

export const ForkedShape = z
  .strictObject({
    new_invocation_id: z.string(),
    forked_from: z.string().describe("The source, which stays as it is"),
    forked_at_entry: z.int().min(0).describe("Journal index of the last entry that was kept"),
  })
  .meta({ id: "ForkInvocationResponse" });

export const SandboxShape = z
  .strictObject({
    sandbox: z.literal(true),
    forked_from: z.string().describe("The source, which stays as it is"),
    forked_at_entry: z.int().min(0),
    deployment_id: z.string(),
    outcome: z.strictObject({
      kind: z.enum(["success", "failure"]),
      value: PayloadShape.nullable(),
      code: z.int().nullable(),
      message: z.string().nullable(),
      restate_code: z
        .string()
        .nullable()
        .describe("Of a failure that is not the handler's: RT0102 when the sandbox has no answer"),
    }),
    requests: z.int().min(0).describe("Requests to the endpoint of the handler"),
    steps: z.array(StepShape).describe("The journal of the fork"),
    unsent: z
      .array(
        z.strictObject({
          kind: z.enum(["call", "send", "signal", "awakeable"]),
          target: z.string(),
          answered_by: z.enum(["journal", "stub"]).nullable(),
        }),
      )
      .describe("Messages that were not sent, in their order"),
  })
  .meta({ id: "SandboxForkResponse" });

export const CrashedShape = z.strictObject({
  attempt: z.int().min(1).describe("Number of the attempt that was cut off, from 1"),
  journal_length: z.int().min(0).describe("Journal entries that were stored by then; the next attempt replays them"),
});
