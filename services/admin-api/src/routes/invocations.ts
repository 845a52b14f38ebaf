/** `/invocations/{id}/<verb>`: operations on one invocation. */
import { parseDeploymentId } from "@perdure/base";
import { z } from "zod";
import { type ApiAnswer, empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import type { ApiRoute, RouteOperation } from "../http/route.js";
import { invocationParam } from "../ids.js";
import {
  applyVerb,
  type DeploymentChoice,
  type OperationVerb,
  restartAsNew,
  resume,
  type VerbOutcome,
} from "../invocation-operations.js";
import type { AdminPorts } from "../ports.js";

type BodylessVerb = Exclude<OperationVerb, "resume" | "restart-as-new">;

const DELETE_MODES: ReadonlyMap<string, BodylessVerb> = new Map([
  ["Cancel", "cancel"],
  ["cancel", "cancel"],
  ["Kill", "kill"],
  ["kill", "kill"],
  ["Purge", "purge"],
  ["purge", "purge"],
]);
const FROM_MAX = 4_294_967_295;

const RestartedShape = z.strictObject({ new_invocation_id: z.string() }).meta({ id: "RestartAsNewInvocationResponse" });

export function invocationRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const verb = (name: OperationVerb, operation: RouteOperation): ApiRoute => ({
    path: `/invocations/{invocation_id}/${name}`,
    operations: { PATCH: operation },
  });
  const simple = (name: BodylessVerb, summary: string, answers: RouteOperation["answers"]): ApiRoute =>
    verb(name, {
      summary,
      answers: { ...answers, 404: "Unknown invocation" },
      handle: async (request) => answerOf(await applyVerb(ports, name, invocationParam(request))),
    });
  return [
    {
      path: "/invocations/{invocation_id}",
      operations: {
        DELETE: {
          summary: "Cancel, kill or purge an invocation",
          isDeprecated: true,
          query: { mode: "`Cancel` (default), `Kill` or `Purge`" },
          answers: { 202: "Accepted, whether the invocation exists or not" },
          handle: async (request) => {
            const id = invocationParam(request);
            const mode = request.query.get("mode") ?? "Cancel";
            const name = DELETE_MODES.get(mode);
            if (name === undefined) {
              const modes = [...DELETE_MODES.keys()].map((key) => `\`${key}\``).join(", ");
              throw badQuery(`mode: unknown variant \`${mode}\`, expected one of ${modes}`);
            }
            await applyVerb(ports, name, id);
            return empty(202);
          },
        },
      },
    },
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
    verb("resume", {
      summary: "Resume a paused, suspended or backing-off invocation",
      query: { deployment: "`keep` (default), `latest` or a deployment id" },
      answers: {
        200: "Goes on",
        400: "The deployment is unknown or does not fit",
        404: "Unknown invocation",
        409: "Completed, or the deployment cannot be changed now",
        425: "Not started yet",
      },
      handle: async (request) => {
        const id = invocationParam(request);
        return answerOf(await resume(ports, id, deploymentQuery(request, { kind: "keep" })));
      },
    }),
    simple("purge", "Delete a completed invocation", { 200: "Deleted", 409: "Not completed" }),
    simple("purge-journal", "Delete the journal of a completed invocation, keep its result", {
      200: "Deleted",
      409: "Not completed",
    }),
    verb("restart-as-new", {
      summary: "Start a copy of a completed invocation",
      query: {
        from: "Last journal entry the copy keeps; 0 (default) keeps the input only",
        deployment: "`latest` (default), `keep` or a deployment id",
      },
      answers: {
        200: "The id of the copy",
        400: "The deployment does not fit, or the journal cannot be cut there",
        404: "Unknown invocation",
        409: "Not completed",
        410: "The journal is gone",
        422: "Workflows cannot be restarted",
        425: "Not started yet",
      },
      results: { 200: RestartedShape },
      handle: async (request) => {
        const id = invocationParam(request);
        const choice = deploymentQuery(request, { kind: "latest" });
        const outcome = await restartAsNew(ports, id, fromQuery(request), choice);
        return outcome.newId === undefined ? answerOf(outcome) : json(200, { new_invocation_id: outcome.newId });
      },
    }),
  ];
}

function answerOf(outcome: VerbOutcome): ApiAnswer {
  if (outcome.problem !== undefined) throw new RouteError(outcome.status, outcome.problem);
  return empty(outcome.status);
}

function fromQuery(request: ApiRequest): number {
  const text = request.query.get("from");
  if (text === null) return 0;
  if (!/^\+?\d+$/.test(text)) throw badQuery("from: invalid digit found in string");
  const from = Number(text);
  if (from > FROM_MAX) throw badQuery("from: number too large to fit in target type");
  return from;
}

function deploymentQuery(request: ApiRequest, fallback: DeploymentChoice): DeploymentChoice {
  const text = request.query.get("deployment");
  return text === null ? fallback : parseDeploymentChoice(text, (reason) => invalidDeployment(reason));
}

/** `keep` or `latest` in any case, or an id; `refuse` makes the error for anything else. */
export function parseDeploymentChoice(text: string, refuse: (reason: string) => Error): DeploymentChoice {
  const lower = text.toLowerCase();
  if (lower === "keep" || lower === "latest") return { kind: lower };
  const parsed = parseDeploymentId(text);
  if (!parsed.ok) throw refuse(parsed.problem);
  return { kind: "id", id: parsed.value };
}

function invalidDeployment(reason: string): RouteError {
  return new RouteError(400, `The query parameter 'deployment' is invalid. Reason: ${reason}`);
}
