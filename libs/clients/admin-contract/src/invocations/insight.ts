/** Shapes of explanations and timelines. `waits_for` has one form for each kind of wait. */
import { z } from "zod";
import { TimeShape } from "../fields.js";

const millis = z.number();
const FailureShape = z.strictObject({
  restate_code: z.string(),
  doc: z.string(),
  code: z.int(),
  message: z.string(),
  command: z.strictObject({ index: z.int().nullable(), name: z.string().nullable(), type: z.string().nullable() }).nullable(),
});

const situation = {
  id: z.string(),
  target: z.string(),
  status: z.string(),
  since: TimeShape,
  for_ms: millis,
  sentence: z.string(),
  waits_for: z.looseObject({ kind: z.string() }).describe("What it waits for; the other fields depend on `kind`"),
  deployment: z.strictObject({
    id: z.string().nullable(),
    state: z.enum(["found", "gone", "no_service", "handler_removed"]),
    pinned: z.boolean(),
  }),
  journal_is_partial: z.boolean(),
};

export const ExplanationShape = z
  .strictObject({
    ...situation,
    at: TimeShape,
    chain: z.array(
      z.union([
        z.strictObject({ relation: z.string(), ...situation }),
        z.strictObject({ relation: z.string(), id: z.string(), target: z.null(), status: z.literal("absent") }),
      ]),
    ),
    chain_is_cut: z.boolean(),
    blocked_by: z.strictObject({ relation: z.string(), id: z.string() }).nullable(),
    deadlock: z.strictObject({ invocations: z.array(z.string()), certain: z.boolean() }).nullable(),
    remedies: z.array(z.strictObject({ request: z.string(), effect: z.string() })),
  })
  .meta({ id: "Explanation" });

export const PayloadShape = z
  .union([z.strictObject({ text: z.string(), cut: z.boolean() }), z.strictObject({ base64: z.string(), cut: z.boolean() })])
  .nullable();

/** A step of a journal, with its result. */
export const StepShape = z.strictObject({
  index: z.int(),
  type: z.string(),
  name: z.string(),
  subject: z.string(),
  from: TimeShape,
  to: TimeShape.nullable(),
  duration_ms: millis.nullable(),
  result: z.enum(["pending", "success", "failure"]),
  failure: z.strictObject({ code: z.int(), message: z.string() }).nullable(),
  invocation_id: z.string().nullable(),
  bytes: z.int().nullable(),
  result_bytes: z.int().nullable(),
  payload: PayloadShape.optional(),
  result_payload: PayloadShape.optional(),
});

export const TimelineShape = z
  .strictObject({
    id: z.string(),
    target: z.string(),
    status: z.string(),
    from: TimeShape,
    to: TimeShape,
    completed_at: TimeShape.nullable(),
    wall_ms: millis,
    totals_ms: z.record(z.string(), millis),
    phases: z.array(
      z.strictObject({
        phase: z.string(),
        waits_for: z.string().nullable(),
        from: TimeShape,
        to: TimeShape,
        duration_ms: millis,
        inferred: z.boolean(),
      }),
    ),
    attempts: z.array(
      z.strictObject({
        number: z.int(),
        from: TimeShape.nullable(),
        to: TimeShape.nullable(),
        duration_ms: millis.nullable(),
        deployment_id: z.string().nullable(),
        outcome: z.string(),
        failure: FailureShape.nullable(),
        inferred: z.boolean(),
      }),
    ),
    attempts_may_be_missing: z.boolean(),
    steps: z.array(StepShape),
    next_step: z.int().nullable(),
    journal_is_partial: z.boolean(),
    fork: z
      .strictObject({
        forked_from: z.string(),
        forked_at_entry: z.int().describe("Journal index, in the source, of the last entry that was kept"),
        edited_steps: z.array(z.int()).describe("Journal indexes, in the source, of the steps with edited results"),
      })
      .optional()
      .describe("Only of forks"),
    debounce: z
      .strictObject({
        key: z.string().describe("Empty when the sender gave none"),
        sends: z.int().describe("Sends that became the invocation"),
        latest_start_at: z.string(),
      })
      .optional()
      .describe("Only of debounced invocations"),
  })
  .meta({ id: "Timeline" });
