/** Bodies of requests about many invocations. */
import { type DeploymentId, type InvocationId, type Parsed, parseDeploymentId, parseInvocationId } from "@perdure/base";
import { CONDITION_CHARS_MAX } from "@perdure/introspection";
import { z } from "zod";
import { BATCH_MATCHED_MAX, BATCH_NAMED_IDS_MAX, BATCH_NOTE_CHARS_MAX } from "../limits.js";
import { INVOCATION_VERBS, MOVING_VERBS } from "./verbs.js";

/** The deployment with which an invocation continues. */
export type DeploymentChoice =
  | { readonly kind: "keep" }
  | { readonly kind: "latest" }
  | { readonly kind: "id"; readonly id: DeploymentId };

/** `keep` or `latest` in any case, or the id of a deployment. */
export function parseDeploymentChoice(text: string): Parsed<DeploymentChoice> {
  const lower = text.toLowerCase();
  if (lower === "keep" || lower === "latest") return { ok: true, value: { kind: lower } };
  const parsed = parseDeploymentId(text);
  return parsed.ok ? { ok: true, value: { kind: "id", id: parsed.value } } : parsed;
}

function parsedText<T>(parse: (text: string) => Parsed<T>) {
  return z.string().transform((text, context): T => {
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    context.addIssue({ code: "custom", message: parsed.problem });
    return z.NEVER;
  });
}

/** `keep`, `latest` or the id of a deployment. */
export const Deployment = parsedText(parseDeploymentChoice);

const Id = parsedText<InvocationId>(parseInvocationId);

/** Strict, because a misspelt `dry_run` must not count as absent. */
export const StartBatch = z
  .strictObject({
    operation: z.enum(INVOCATION_VERBS),
    /** A condition over the columns of `sys_invocation`. */
    filter: z.string().min(1).max(CONDITION_CHARS_MAX).nullish(),
    ids: z.array(Id).min(1).max(BATCH_NAMED_IDS_MAX).nullish(),
    limit: z.int().min(1).max(BATCH_MATCHED_MAX).nullish(),
    dry_run: z.boolean().nullish(),
    deployment: Deployment.nullish(),
    /** Shown with the batch. */
    reason: z.string().max(BATCH_NOTE_CHARS_MAX).nullish(),
  })
  .refine(({ filter, ids }) => (filter ?? undefined) === undefined || (ids ?? undefined) === undefined, {
    message: "give either `filter` or `ids`, not both",
  })
  .refine(({ filter, ids }) => (filter ?? ids ?? undefined) !== undefined, { message: "give `filter` or `ids`" })
  .refine(({ operation, deployment }) => (deployment ?? undefined) === undefined || MOVING_VERBS.has(operation), {
    message: "`deployment` goes with `resume` and `restart-as-new` only",
  })
  .meta({ id: "StartBatchRequest" });

/** The body of `applyToInvocations`. */
export const ApplyToInvocations = z.object({ invocation_ids: z.array(Id), deployment: z.string().nullish() });
