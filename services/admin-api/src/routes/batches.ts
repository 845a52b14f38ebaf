/** Batch routes of the web UI: one request acts on many invocations; each of them succeeds or fails on its own (admin-api.md §5.1). */

import { applyToInvocations, INVOCATION_VERBS, MOVING_VERBS } from "@perdure/admin-contract";
import { ApplyToInvocations, type DeploymentChoice, parseDeploymentChoice } from "@perdure/admin-contract/requests";
import type { InvocationId } from "@perdure/base";
import { applyOne, type BatchOperation } from "../batches/apply-one.js";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import type { VerbOutcome } from "../invocation-operations.js";
import { BATCH_CONCURRENCY_MAX, BATCH_INVOCATIONS_MAX } from "../limits.js";
import { applyUndoable } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";

export function batchRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return INVOCATION_VERBS.map((verb) =>
    route(applyToInvocations(verb), {
      isInternal: true,
      summary: `${verb} up to ${BATCH_INVOCATIONS_MAX} invocations`,
      body: ApplyToInvocations,
      answers: { 200: "Outcome of each", 400: "Too many, or no such way to name a deployment" },
      handle: async (request) => {
        const { invocation_ids: ids, deployment } = await request.json(ApplyToInvocations);
        if (ids.length > BATCH_INVOCATIONS_MAX) {
          throw new RouteError(400, `Batch size ${ids.length} exceeds maximum allowed size of ${BATCH_INVOCATIONS_MAX}`);
        }
        const choice = MOVING_VERBS.has(verb) ? choiceIn(deployment ?? undefined) : undefined;
        const { result, headers } = await applyUndoable(
          ports,
          request,
          verb,
          ids,
          (undo) => applyToAll(ports, { verb, choice, undo }, ids),
          (results) => results.map(({ outcome }) => outcome),
        );
        return json(200, summarise(result), headers);
      },
    }),
  );
}

function choiceIn(text: string | undefined): DeploymentChoice | undefined {
  if (text === undefined) return undefined;
  const parsed = parseDeploymentChoice(text);
  if (parsed.ok) return parsed.value;
  throw new RouteError(400, `The request field 'deployment' is invalid. Reason: ${parsed.problem}`);
}

type BatchItemResult = { readonly id: InvocationId; readonly outcome: VerbOutcome };

/** A few at a time, results in the order of the ids. An unexpected error ends the whole batch. */
async function applyToAll(
  ports: AdminPorts,
  operation: BatchOperation,
  ids: readonly InvocationId[],
): Promise<readonly BatchItemResult[]> {
  const results = new Array<BatchItemResult>(ids.length);
  const queue = ids.entries();
  const workers = Array.from({ length: Math.min(BATCH_CONCURRENCY_MAX, ids.length) }, async () => {
    for (const [index, id] of queue) results[index] = { id, outcome: await applyOne(ports, operation, id, undefined) };
  });
  await Promise.all(workers);
  return results;
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
