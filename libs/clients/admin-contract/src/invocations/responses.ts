/** Shapes of responses to operations on one invocation. */
import { z } from "zod";

export const RestartedShape = z.strictObject({ new_invocation_id: z.string() }).meta({ id: "RestartAsNewInvocationResponse" });

export const ForkedShape = z
  .strictObject({
    new_invocation_id: z.string(),
    forked_from: z.string().describe("The source, which stays as it is"),
    forked_at_entry: z.int().min(0).describe("Journal index of the last entry that was kept"),
  })
  .meta({ id: "ForkInvocationResponse" });

export const CrashedShape = z.strictObject({
  attempt: z.int().min(1).describe("Number of the attempt that was cut off, from 1"),
  journal_length: z.int().min(0).describe("Journal entries that were stored by then; the next attempt replays them"),
});
