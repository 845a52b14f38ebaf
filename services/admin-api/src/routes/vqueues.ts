/** Why: clients may pause and resume virtual queues; we have none, and like a server without them we accept the request (admin-api.md §5.2). */
import { empty } from "../http/answer.js";
import type { Route } from "../http/route.js";
import { checkVqueueParam } from "../ids.js";

export function vqueueRoutes(): readonly Route[] {
  return (["pause", "resume"] as const).map((verb) => ({
    path: `/vqueues/{vqueue_id}/${verb}`,
    operations: {
      POST: {
        summary: `${verb === "pause" ? "Pause" : "Resume"} a virtual queue`,
        answers: { 202: "Accepted", 400: "Not the id of a virtual queue" },
        handle: (request) => {
          checkVqueueParam(request);
          return empty(202);
        },
      },
    },
  }));
}
