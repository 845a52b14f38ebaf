/** Why an invocation is stuck, and where its time went: `GET /invocations/{id}/explain` and `/timeline`. */
import { getExplanation, getTimeline } from "@perdure/admin-contract";
import type { InvocationId } from "@perdure/base";
import { timelineOf } from "@perdure/diagnostics";
import { type ApiAnswer, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { invocationParam } from "../ids.js";
import { explainInvocation, readSnapshot, routeOf } from "../insight/source.js";
import type { AdminPorts } from "../ports.js";
import { explanationView } from "../views/explain-view.js";
import { timelineView } from "../views/timeline-view.js";

export function explainRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return [
    route(getExplanation, {
      summary: "What an invocation waits for, and what an operator can do",
      answers: { 200: "The explanation, as one sentence and in parts", 404: "Unknown invocation" },
      handle: async (request) => {
        const id = invocationParam(request);
        const explanation = await explainInvocation(ports, id);
        if (explanation === undefined) throw unknownInvocation(id);
        return json(200, explanationView(explanation, ports.clock.nowMs()));
      },
    }),
    route(getTimeline, {
      summary: "Where the time of an invocation went: phases, attempts and steps",
      answers: { 200: "The timeline", 404: "Unknown invocation" },
      handle: (request) => timeline(ports, request),
    }),
  ];
}

async function timeline(ports: AdminPorts, request: ApiRequest): Promise<ApiAnswer> {
  const id = invocationParam(request);
  const withPayloads = request.flag("payloads", false);
  const firstStep = indexQuery(request);
  const snapshot = await readSnapshot(ports.insight, id);
  if (snapshot === undefined) throw unknownInvocation(id);
  const { idleMs } = routeOf(ports.registry, snapshot.invocation);
  return json(200, timelineView(timelineOf(snapshot, ports.clock.nowMs(), idleMs, firstStep), snapshot.invocation, withPayloads));
}

function indexQuery(request: ApiRequest): number {
  const text = request.query.get("from_step");
  if (text === null) return 0;
  if (!/^\d{1,10}$/.test(text)) throw badQuery("from_step: expected the index of a journal entry");
  return Number(text);
}

function unknownInvocation(id: InvocationId): RouteError {
  return new RouteError(404, `The requested invocation '${id}' does not exist`);
}
