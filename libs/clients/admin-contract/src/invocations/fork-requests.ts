/** The body of a fork: where the journal is cut, and which results differ from those of the source. */
import { z } from "zod";
import { FORK_EDITS_MAX, FORK_FAILURE_CHARS_MAX } from "../limits.js";
import { Deployment } from "./requests.js";

const ENTRY_INDEX_MAX = 4_294_967_295;
const FAILURE_CODE_MAX = 65_535;

const Step = z.int().min(0).max(ENTRY_INDEX_MAX).describe("Journal index of the step, as in the timeline");

/** An absent value is refused: it is `none` that stands for no value. */
export const AnyJson = z.unknown().refine((value) => value !== undefined, { message: "is missing" });

export const TerminalFailure = z.strictObject({
  code: z.int().min(1).max(FAILURE_CODE_MAX),
  message: z.string().max(FORK_FAILURE_CHARS_MAX),
});

/** Strict, because an edit with a misspelt field must not count as another one. */
const StepEdit = z.union([
  z.strictObject({ step: Step, value: AnyJson.describe("Result as JSON") }),
  z.strictObject({ step: Step, text: z.string().describe("Result as it is, in UTF-8") }),
  z.strictObject({ step: Step, base64: z.base64().describe("Result as bytes") }),
  z.strictObject({
    step: Step,
    failure: TerminalFailure,
  }),
  z.strictObject({ step: Step, none: z.literal(true).describe("There is no value: an absent state, a finished sleep") }),
]);

export const ForkInvocation = z
  .strictObject({
    at: z.int().min(0).max(ENTRY_INDEX_MAX).describe("Journal index of the last entry that the fork keeps; 0 is the input"),
    edits: z.array(StepEdit).max(FORK_EDITS_MAX).nullish().describe("Results that differ from those of the source"),
    deployment: Deployment.nullish().describe("`keep` (default), `latest` or a deployment id"),
  })
  .meta({ id: "ForkInvocationRequest" });

export type ForkBody = z.infer<typeof ForkInvocation>;
export type StepEditBody = NonNullable<ForkBody["edits"]>[number];
