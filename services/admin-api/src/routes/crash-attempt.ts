/**
 * Demonstrates recovery on a development server: the request resets the stream of a running attempt, and the next attempt replays the
 * journal and continues.
 */
import { crashRunningAttempt } from "@perdure/admin-contract";
import { type InvocationId, unreachable } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import { invocationParam } from "../ids.js";
import type { InsightSource } from "../insight/source.js";
import type { AdminPorts } from "../ports.js";

/** Returns the route that cuts an attempt off; none where attempts cannot be stopped. */
export function crashAttemptRoutes({ crashAttempt, partitions, insight, clock }: AdminPorts): readonly ApiRoute[] {
  if (crashAttempt === undefined) return [];
  return [
    route(crashRunningAttempt, {
      summary: "Break the connection of the running attempt, to see the invocation recover",
      answers: {
        202: "It was cut off; another attempt follows",
        404: "Unknown invocation, or attempts cannot be cut off here",
        409: "No attempt runs now",
      },
      handle: async (request) => {
        const id = invocationParam(request);
        const cut = await crashAttempt(id);
        if (cut !== undefined) return json(202, { attempt: cut.attempt, journal_length: cut.journalLength });
        const invocation = await partitions.describe(id);
        if (invocation === undefined) throw new RouteError(404, `The requested invocation '${id}' does not exist`);
        throw new RouteError(409, await whyNot(id, invocation, insight, clock.nowMs()));
      },
    }),
  ];
}

async function whyNot(id: InvocationId, invocation: Invocation, { invoker }: InsightSource, nowMs: number): Promise<string> {
  const none = `The invocation '${id}' has no attempt that runs now:`;
  switch (invocation.status) {
    case "scheduled":
      return `${none} it is scheduled for later.`;
    case "inboxed":
      return `${none} it waits in a queue.`;
    case "ready":
      return `${none} it is ready and waits for a slot.`;
    case "suspended":
      return `${none} it is suspended until an awaited result arrives.`;
    case "paused":
      return `${none} it is paused until it is resumed.`;
    case "completed":
      return `${none} it is completed.`;
    case "invoked": {
      const nextAtMs = (await invoker.status(id))?.nextRetryAtMs;
      if (nextAtMs === undefined) return `${none} one is about to begin.`;
      return `${none} it is backing off, and the next one begins in ${Math.max(0, nextAtMs - nowMs)} ms.`;
    }
    default:
      return unreachable(invocation);
  }
}
