/** `/operations`: changes that can be undone for a while, and their undo. */
import { getOperation, listOperations, undoOperation } from "@perdure/admin-contract";
import { type OperationId, parseOperationId } from "@perdure/base";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { isUndone } from "../operations/operation-state.js";
import type { AdminPorts } from "../ports.js";
import { operationView } from "../views/operation-view.js";

export function operationRoutes({ operations, clock }: AdminPorts): readonly ApiRoute[] {
  return [
    route(listOperations, {
      summary: "Changes that can be undone, the newest first",
      answers: { 200: "Those of the last hour, and all that can still be undone" },
      handle: async () => {
        const listed = (await operations?.list()) ?? [];
        return json(200, { operations: listed.map((each) => operationView(each, clock.nowMs())) });
      },
    }),
    route(getOperation, {
      summary: "A change that can be undone, and the state of its undo",
      answers: { 200: "The operation", 404: "Unknown operation" },
      handle: async (request) => {
        const id = operationParam(request);
        return json(200, operationView(existing(id, await operations?.get(id)), clock.nowMs()));
      },
    }),
    route(undoOperation, {
      summary:
        "Undo a kill, a cancellation before the start, a purge, a pause, a resumption, a restart as new, a state edit or a deletion of a deployment, Kafka cluster, subscription, event subscription, schedule or rule; `cannot_be_undone` names what others were notified of",
      answers: {
        200: "Undone, now or before",
        202: "A batch undoes it",
        404: "Unknown operation",
        409: "Nothing is kept, or something newer is in the way",
        410: "The time is over",
        429: "Too many batches are running",
      },
      handle: async (request) => {
        const id = operationParam(request);
        const operation = existing(id, await operations?.undo(id));
        return json(isUndone(operation) ? 200 : 202, operationView(operation, clock.nowMs()));
      },
    }),
  ];
}

function operationParam(request: ApiRequest): OperationId {
  const parsed = parseOperationId(request.param("operation_id"));
  if (parsed.ok) return parsed.value;
  throw new RouteError(400, `The request field 'operation_id' is invalid. Reason: ${parsed.problem}`);
}

function existing<T>(id: OperationId, value: T | undefined): T {
  if (value === undefined) throw new RouteError(404, `The requested operation '${id}' does not exist`);
  return value;
}
