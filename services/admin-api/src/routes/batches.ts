/** Batch routes of the web UI: one request acts on many invocations; each of them succeeds or fails on its own (admin-api.md §5.1). */
import { type InvocationId, parseInvocationId } from "@perdure/base";
import { z } from "zod";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRoute } from "../http/route.js";
import {
  applyVerb,
  type DeploymentChoice,
  type OperationVerb,
  restartAsNew,
  resume,
  type VerbOutcome,
} from "../invocation-operations.js";
import { BATCH_CONCURRENCY_MAX, BATCH_INVOCATIONS_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";
import { parseDeploymentChoice } from "./invocations.js";

/** An invocation id in a body. */
export const Id = z.string().transform((text, context): InvocationId => {
  const parsed = parseInvocationId(text);
  if (parsed.ok) return parsed.value;
  context.addIssue({ code: "custom", message: parsed.problem });
  return z.NEVER;
});

/** The deployment to continue with, in a body. */
export const Choice = z.string().transform((text, context): DeploymentChoice => {
  const refusals: string[] = [];
  try {
    return parseDeploymentChoice(text, (reason) => new Error(reason));
  } catch (refusal) {
    refusals.push((refusal as Error).message);
  }
  context.addIssue({ code: "custom", message: refusals.join() });
  return z.NEVER;
});

const Batch = z.object({ invocation_ids: z.array(Id), deployment: z.string().nullish() });

const VERBS: readonly OperationVerb[] = ["kill", "cancel", "purge", "purge-journal", "resume", "pause", "restart-as-new"];

export function batchRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return VERBS.map((verb) => ({
    path: `/internal/invocations_batch_operations/${verb}`,
    isInternal: true,
    operations: {
      POST: {
        summary: `${verb} up to ${BATCH_INVOCATIONS_MAX} invocations`,
        body: Batch,
        answers: { 200: "Outcome of each", 400: "Too many, or no such way to name a deployment" },
        handle: async (request) => {
          const { invocation_ids: ids, deployment } = await request.json(Batch);
          if (ids.length > BATCH_INVOCATIONS_MAX) {
            throw new RouteError(400, `Batch size ${ids.length} exceeds maximum allowed size of ${BATCH_INVOCATIONS_MAX}`);
          }
          const choice = MOVING.has(verb) ? choiceIn(deployment ?? undefined) : undefined;
          return json(200, summarise(await applyToAll(ports, verb, ids, choice)));
        },
      },
    },
  }));
}

/** Verbs that use a deployment; the others ignore it. */
const MOVING: ReadonlySet<OperationVerb> = new Set<OperationVerb>(["resume", "restart-as-new"]);

function choiceIn(text: string | undefined): DeploymentChoice | undefined {
  if (text === undefined) return undefined;
  return parseDeploymentChoice(
    text,
    (reason) => new RouteError(400, `The request field 'deployment' is invalid. Reason: ${reason}`),
  );
}

type BatchItemResult = { readonly id: InvocationId; readonly outcome: VerbOutcome };

/** A few at a time, results in the order of the ids. An unexpected error ends the whole batch. */
async function applyToAll(
  ports: AdminPorts,
  verb: OperationVerb,
  ids: readonly InvocationId[],
  choice: DeploymentChoice | undefined,
): Promise<readonly BatchItemResult[]> {
  const results = new Array<BatchItemResult>(ids.length);
  const queue = ids.entries();
  const workers = Array.from({ length: Math.min(BATCH_CONCURRENCY_MAX, ids.length) }, async () => {
    for (const [index, id] of queue) results[index] = { id, outcome: await applyOne(ports, verb, id, choice) };
  });
  await Promise.all(workers);
  return results;
}

function applyOne(
  ports: AdminPorts,
  verb: OperationVerb,
  id: InvocationId,
  choice: DeploymentChoice | undefined,
): Promise<VerbOutcome> {
  if (verb === "resume") return resume(ports, id, choice ?? { kind: "keep" });
  if (verb === "restart-as-new") return restartAsNew(ports, id, 0, choice ?? { kind: "latest" });
  return applyVerb(ports, verb, id);
}

function summarise(results: readonly BatchItemResult[]) {
  const succeeded: unknown[] = [];
  const failed: { invocation_id: InvocationId; error: string }[] = [];
  for (const { id, outcome } of results) {
    if (outcome.problem !== undefined) {
      failed.push({ invocation_id: id, error: outcome.status === 404 ? `Invocation '${id}' not found` : outcome.problem });
    } else if (outcome.newId !== undefined) {
      succeeded.push({ old_invocation_id: id, new_invocation_id: outcome.newId });
    } else succeeded.push(id);
  }
  return { succeeded, failed };
}
