/**
 * Pause and resume a virtual queue, for example while a system behind it is broken (admin-api.md §5.2). No invocation starts from a paused
 * queue; running ones continue. Any id is accepted, also that of an empty queue.
 */
import { pauseOrResumeQueue } from "@perdure/admin-contract";
import { routeOfQueue } from "@perdure/state-machine";
import { empty } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import { vqueueParam } from "../ids.js";
import type { AdminPorts } from "../ports.js";

export function vqueueRoutes({ partitions }: Pick<AdminPorts, "partitions">): readonly ApiRoute[] {
  return (["pause", "resume"] as const).map((verb) =>
    route(pauseOrResumeQueue(verb), {
      summary: `${verb === "pause" ? "Pause" : "Resume"} a virtual queue`,
      answers: { 202: "Accepted", 400: "Not the id of a virtual queue", 409: "Too many queues are paused" },
      handle: async (request) => {
        const queue = vqueueParam(request);
        const kind = verb === "pause" ? "pauseQueue" : "resumeQueue";
        const answer = await partitions.submit({ kind, id: routeOfQueue(queue), queue });
        if (answer.kind === "tooManyPauses") {
          throw new RouteError(
            409,
            `The queue '${queue}' was not paused: too many queues are paused already. Resume some first.`,
          );
        }
        return empty(202);
      },
    }),
  );
}
