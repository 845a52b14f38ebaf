/** Answers of the management API about invocations and batches, as far as clients read them. */
import { z } from "zod";

export const VERBS = ["cancel", "kill", "pause", "resume", "purge", "purge-journal", "restart-as-new"] as const;
export type InvocationVerb = (typeof VERBS)[number];

export const batchShape = z.looseObject({
  id: z.string(),
  operation: z.enum(VERBS),
  state: z.enum(["running", "finished", "cancelled"]),
  filter: z.string().nullable(),
  matched: z.int(),
  more_matched: z.boolean(),
  done: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  remaining: z.int(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  started_by: z.string().nullable(),
  reason: z.string().nullable(),
});
export type BatchView = z.infer<typeof batchShape>;
export const batchListShape = z.looseObject({ batches: z.array(batchShape) });

export const dryRunShape = z.looseObject({
  operation: z.enum(VERBS),
  dry_run: z.literal(true),
  matched: z.int(),
  more_matched: z.boolean(),
  sample: z.array(z.looseObject({ id: z.string() })),
});
export type DryRunView = z.infer<typeof dryRunShape>;

const batchResultShape = z.looseObject({
  invocation_id: z.string(),
  result: z.enum(["succeeded", "failed"]),
  status: z.int(),
  error: z.string().optional(),
  new_invocation_id: z.string().optional(),
});
export type BatchResult = z.infer<typeof batchResultShape>;
export const batchResultsShape = z.looseObject({ results: z.array(batchResultShape), next_cursor: z.string().nullable() });

/** The stopped attempt, and the number of journal entries stored by then. */
export const crashedShape = z.object({ attempt: z.number(), journal_length: z.number() });
export type CrashedView = z.output<typeof crashedShape>;

export const restartedShape = z.looseObject({ new_invocation_id: z.string() });

const situation = {
  id: z.string(),
  target: z.string().nullable(),
  status: z.string(),
};
export const explanationShape = z.looseObject({
  ...situation,
  at: z.string(),
  since: z.string(),
  for_ms: z.number(),
  sentence: z.string(),
  waits_for: z.looseObject({ kind: z.string() }),
  chain: z.array(z.looseObject({ relation: z.string(), ...situation, sentence: z.string().optional() })),
  chain_is_cut: z.boolean(),
  blocked_by: z.looseObject({ relation: z.string(), id: z.string() }).nullable(),
  deadlock: z.looseObject({ invocations: z.array(z.string()), certain: z.boolean() }).nullable(),
  remedies: z.array(z.looseObject({ request: z.string(), effect: z.string() })),
  deployment: z.looseObject({ id: z.string().nullable(), state: z.string(), pinned: z.boolean() }),
});
export type ExplanationView = z.infer<typeof explanationShape>;

/** The command of the journal at which the failure happened; `index` counts commands only, from the input on. */
const commandShape = z.looseObject({ index: z.int().nullable(), name: z.string().nullable(), type: z.string().nullable() });
const failureShape = z.looseObject({
  code: z.int(),
  message: z.string(),
  restate_code: z.string().nullish(),
  command: commandShape.nullish(),
});
const payloadShape = z.union([
  z.looseObject({ text: z.string(), cut: z.boolean() }),
  z.looseObject({ base64: z.string(), cut: z.boolean() }),
]);
export type PayloadView = z.infer<typeof payloadShape>;

const stepShape = z.looseObject({
  index: z.int(),
  type: z.string(),
  name: z.string(),
  subject: z.string(),
  from: z.string(),
  to: z.string().nullable(),
  duration_ms: z.number().nullable(),
  result: z.enum(["pending", "success", "failure"]),
  failure: failureShape.nullable(),
  invocation_id: z.string().nullable(),
  bytes: z.int().nullable(),
  result_bytes: z.int().nullable(),
  payload: payloadShape.nullish(),
  result_payload: payloadShape.nullish(),
});
export type StepView = z.infer<typeof stepShape>;

const phaseShape = z.looseObject({
  phase: z.string(),
  waits_for: z.string().nullable(),
  from: z.string(),
  to: z.string(),
  duration_ms: z.number(),
  inferred: z.boolean(),
});
export type PhaseView = z.infer<typeof phaseShape>;

const attemptShape = z.looseObject({
  number: z.int(),
  from: z.string().nullable(),
  to: z.string().nullable(),
  duration_ms: z.number().nullable(),
  deployment_id: z.string().nullable(),
  outcome: z.string(),
  failure: failureShape.nullable(),
  inferred: z.boolean(),
});
export type AttemptView = z.infer<typeof attemptShape>;

export const timelineShape = z.looseObject({
  id: z.string(),
  target: z.string(),
  status: z.string(),
  from: z.string(),
  to: z.string(),
  completed_at: z.string().nullable(),
  wall_ms: z.number(),
  totals_ms: z.record(z.string(), z.number()),
  phases: z.array(phaseShape),
  attempts: z.array(attemptShape),
  attempts_may_be_missing: z.boolean(),
  steps: z.array(stepShape),
  next_step: z.int().nullable(),
  journal_is_partial: z.boolean(),
});
export type TimelineView = z.infer<typeof timelineShape>;
