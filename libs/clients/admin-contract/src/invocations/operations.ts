import type { AdminOperation } from "../operation.js";
import { BatchesShape, BatchResultsShape, BatchShape, DryRunShape } from "./batches.js";
import { BundleShape } from "./bundle.js";
import { ExplanationShape, TimelineShape } from "./insight.js";
import { CrashedShape, ForkedShape, RestartedShape, SandboxShape } from "./responses.js";
import type { InvocationVerb } from "./verbs.js";

/** Ends an invocation in the way that older tools request it. Ids of invocations that do not exist are accepted. */
export const endInvocation = {
  method: "DELETE",
  path: "/invocations/{invocation_id}",
  query: { mode: "`Cancel` (default), `Kill` or `Purge`" },
} as const satisfies AdminOperation;

/** 202: the operation takes effect later. */
export function applyToInvocation<Verb extends Exclude<InvocationVerb, "resume" | "restart-as-new">>(verb: Verb) {
  return { method: "PATCH", path: `/invocations/{invocation_id}/${verb}` } as const satisfies AdminOperation;
}

export const resumeInvocation = {
  method: "PATCH",
  path: "/invocations/{invocation_id}/resume",
  query: { deployment: "`keep` (default), `latest` or a deployment id" },
} as const satisfies AdminOperation;

export const restartInvocation = {
  method: "PATCH",
  path: "/invocations/{invocation_id}/restart-as-new",
  query: {
    from: "Last journal entry the copy keeps; 0 (default) keeps the input only",
    deployment: "`latest` (default), `keep` or a deployment id",
  },
  results: { 200: RestartedShape },
} as const satisfies AdminOperation;

export const forkInvocation = {
  method: "POST",
  path: "/invocations/{invocation_id}/fork",
  results: { 201: ForkedShape },
} as const satisfies AdminOperation;

/** Runs the fork before it responds, and stores nothing. */
export const forkInSandbox = {
  method: "POST",
  path: "/invocations/{invocation_id}/fork-in-sandbox",
  results: { 200: SandboxShape },
} as const satisfies AdminOperation;

export const crashRunningAttempt = {
  method: "POST",
  path: "/invocations/{invocation_id}/crash-attempt",
  results: { 202: CrashedShape },
} as const satisfies AdminOperation;

export const getExplanation = {
  method: "GET",
  path: "/invocations/{invocation_id}/explain",
  results: { 200: ExplanationShape },
} as const satisfies AdminOperation;

export const getTimeline = {
  method: "GET",
  path: "/invocations/{invocation_id}/timeline",
  query: {
    payloads: "`true` shows the first bytes of payloads, `false` (default) their sizes",
    from_step: "Journal index of the first step to show, 0 (default) is the input",
  },
  results: { 200: TimelineShape },
} as const satisfies AdminOperation;

export const getBundle = {
  method: "GET",
  path: "/invocations/{invocation_id}/bundle",
  query: {
    redact: "`true` (default) replaces secrets in payloads and texts; `false` replaces only credentials in headers",
    secret: "Further names of fields, steps and state keys that hold secrets, separated by commas",
    keep: "Names whose values stay as they are, separated by commas",
    keep_other_formats: "`true`: payloads that are not JSON stay as they are",
  },
  results: { 200: BundleShape },
} as const satisfies AdminOperation;

/** 200 is the response to a dry run. */
export const startBatch = {
  method: "POST",
  path: "/invocations/batch",
  results: { 200: DryRunShape, 202: BatchShape },
} as const satisfies AdminOperation;

export const listBatches = {
  method: "GET",
  path: "/invocations/batches",
  results: { 200: BatchesShape },
} as const satisfies AdminOperation;

export const getBatch = {
  method: "GET",
  path: "/invocations/batches/{batch_id}",
  results: { 200: BatchShape },
} as const satisfies AdminOperation;

export const cancelBatch = {
  method: "DELETE",
  path: "/invocations/batches/{batch_id}",
  results: { 200: BatchShape },
} as const satisfies AdminOperation;

export const getBatchResults = {
  method: "GET",
  path: "/invocations/batches/{batch_id}/results",
  query: { cursor: "`next_cursor` of the answer before; the beginning when absent" },
  results: { 200: BatchResultsShape },
} as const satisfies AdminOperation;

/** Returns the operation that the reference system's web UI calls. The server applies it to each invocation before it responds. */
export function applyToInvocations(verb: InvocationVerb) {
  return { method: "POST", path: `/internal/invocations_batch_operations/${verb}` } as const satisfies AdminOperation;
}
