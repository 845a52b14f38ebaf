/** `/invocations/{id}/<verb>`: operations on one invocation. */
import {
  applyToInvocation,
  endInvocation,
  type InvocationVerb,
  restartInvocation,
  resumeInvocation,
} from "@perdure/admin-contract";
import { type DeploymentChoice, parseDeploymentChoice } from "@perdure/admin-contract/requests";
import type { InvocationId } from "@perdure/base";
import { type ApiAnswer, empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import { type ApiRoute, type RouteImplementation, route } from "../http/route.js";
import { invocationParam } from "../ids.js";
import { applyVerb, idOfCopy, restartAsNew, resume, type VerbOutcome } from "../invocation-operations.js";
import { type Applied, applyUndoable } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";

type BodylessVerb = Exclude<InvocationVerb, "resume" | "restart-as-new">;

const DELETE_MODES: ReadonlyMap<string, BodylessVerb> = new Map([
  ["Cancel", "cancel"],
  ["cancel", "cancel"],
  ["Kill", "kill"],
  ["kill", "kill"],
  ["Purge", "purge"],
  ["purge", "purge"],
]);
const FROM_MAX = 4_294_967_295;

export function invocationRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const simple = (name: BodylessVerb, summary: string, answers: RouteImplementation["answers"]): ApiRoute =>
    route(applyToInvocation(name), {
      summary,
      answers: { ...answers, 404: "Unknown invocation" },
      handle: async (request) => {
        const { result, headers } = await applyNamed(ports, request, name, invocationParam(request));
        return answerOf(result, headers);
      },
    });
  return [
    endRoute(ports),
    simple("cancel", "Request the cancellation of an invocation", {
      200: "Cancelled before it started",
      202: "The handler is notified",
      409: "Already completed",
    }),
    simple("kill", "Terminate an invocation and what it called, without compensations", {
      200: "Killed",
      409: "Already completed",
    }),
    simple("pause", "Stop attempts until the invocation is resumed", {
      200: "Already paused",
      202: "Pauses when the running attempt stops",
      409: "Not running",
    }),
    resumeRoute(ports),
    simple("purge", "Delete a completed invocation", { 200: "Deleted", 409: "Not completed" }),
    simple("purge-journal", "Delete the journal of a completed invocation, keep its result", {
      200: "Deleted",
      409: "Not completed",
    }),
    restartRoute(ports),
  ];
}

function endRoute(ports: AdminPorts): ApiRoute {
  return route(endInvocation, {
    summary: "Cancel, kill or purge an invocation",
    isDeprecated: true,
    answers: { 202: "Accepted, whether the invocation exists or not" },
    handle: async (request) => {
      const id = invocationParam(request);
      const mode = request.query.get("mode") ?? "Cancel";
      const name = DELETE_MODES.get(mode);
      if (name === undefined) {
        const modes = [...DELETE_MODES.keys()].map((key) => `\`${key}\``).join(", ");
        throw badQuery(`mode: unknown variant \`${mode}\`, expected one of ${modes}`);
      }
      const { headers } = await applyNamed(ports, request, name, id);
      return empty(202, headers);
    },
  });
}

function resumeRoute(ports: AdminPorts): ApiRoute {
  return route(resumeInvocation, {
    summary: "Resume a paused, suspended or backing-off invocation",
    answers: {
      200: "Continues",
      400: "The deployment is unknown or does not fit",
      404: "Unknown invocation",
      409: "Completed, or the deployment cannot be changed now",
      425: "Not started yet",
    },
    handle: async (request) => {
      const id = invocationParam(request);
      const choice = deploymentQuery(request, { kind: "keep" });
      const { result, headers } = await applyUndoable(
        ports,
        request,
        "resume",
        [id],
        (undo) => resume(ports, id, choice, undo),
        (outcome) => [outcome],
      );
      return answerOf(result, headers);
    },
  });
}

function restartRoute(ports: AdminPorts): ApiRoute {
  return route(restartInvocation, {
    summary: "Start a copy of a completed invocation",
    answers: {
      200: "The id of the copy; `x-perdure-operation` names the operation whose undo ends it",
      400: "The deployment does not fit, or the journal cannot be cut there",
      404: "Unknown invocation",
      409: "Not completed",
      410: "The journal is gone",
      422: "Workflows cannot be restarted",
      425: "Not started yet",
    },
    handle: async (request) => {
      const id = invocationParam(request);
      const choice = deploymentQuery(request, { kind: "latest" });
      const from = fromQuery(request); // Before the operation is stored: a refused request is none.
      const newId = idOfCopy(ports, id);
      const { result, headers } = await applyUndoable(
        ports,
        request,
        "restart-as-new",
        [newId],
        () => restartAsNew(ports, id, from, choice, { newId }),
        (outcome) => [outcome],
      );
      return result.newId === undefined ? answerOf(result) : json(200, { new_invocation_id: result.newId }, headers);
    },
  });
}

function applyNamed(ports: AdminPorts, request: ApiRequest, verb: BodylessVerb, id: InvocationId): Promise<Applied<VerbOutcome>> {
  return applyUndoable(
    ports,
    request,
    verb,
    [id],
    (undo) => applyVerb(ports, verb, id, undo),
    (outcome) => [outcome],
  );
}

function answerOf(outcome: VerbOutcome, headers?: Applied<VerbOutcome>["headers"]): ApiAnswer {
  if (outcome.problem !== undefined) throw new RouteError(outcome.status, outcome.problem);
  return empty(outcome.status, headers);
}

function fromQuery(request: ApiRequest): number {
  const text = request.query.get("from");
  if (text === null) return 0;
  if (!/^\+?\d+$/.test(text)) throw badQuery("from: invalid digit found in string");
  const from = Number(text);
  if (from > FROM_MAX) throw badQuery("from: number too large to fit in target type");
  return from;
}

/** `keep`, `latest` or an id; `fallback` when the query has none. */
export function deploymentQuery(request: ApiRequest, fallback: DeploymentChoice): DeploymentChoice {
  const text = request.query.get("deployment");
  if (text === null) return fallback;
  const parsed = parseDeploymentChoice(text);
  if (parsed.ok) return parsed.value;
  throw new RouteError(400, `The query parameter 'deployment' is invalid. Reason: ${parsed.problem}`);
}
