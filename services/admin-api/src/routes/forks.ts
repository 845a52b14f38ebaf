/** `POST /invocations/{id}/fork`: a new invocation with the beginning of a journal and edited results. */
import { forkInSandbox, forkInvocation } from "@perdure/admin-contract";
import { ForkInSandbox, ForkInvocation } from "@perdure/admin-contract/requests";
import { forkInvocation as fork } from "../forks/fork.js";
import { SandboxRuns } from "../forks/sandbox.js";
import { json } from "../http/answer.js";
import { type ApiRoute, route } from "../http/route.js";
import { invocationParam } from "../ids.js";
import { FORK_BODY_BYTES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";

export function forkRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return [
    route(forkInvocation, {
      summary: "Start a copy of an invocation with edited results",
      body: ForkInvocation,
      answers: {
        201: "The fork",
        400: "The journal cannot be cut there (OPS0013), or the deployment does not fit",
        404: "Unknown invocation",
        410: "The journal is gone",
        422: "An edit does not fit its step (OPS0012), or the invocation is of a workflow",
        425: "Not started yet",
      },
      handle: async (request) => {
        const id = invocationParam(request);
        const body = await request.json(ForkInvocation, FORK_BODY_BYTES_MAX);
        return json(201, { new_invocation_id: await fork(ports, id, body), forked_from: id, forked_at_entry: body.at });
      },
    }),
    ...sandboxRoutes(ports),
  ];
}

/** None where the process reaches no endpoints. */
function sandboxRoutes({ sandboxes, ...ports }: AdminPorts): readonly ApiRoute[] {
  if (sandboxes === undefined) return [];
  const runs = new SandboxRuns({ ...ports, sandboxes });
  return [
    route(forkInSandbox, {
      summary: "Run a fork in memory, without effects beyond the handler itself",
      body: ForkInSandbox,
      answers: {
        200: "The journal and the outcome of the fork; nothing is stored",
        400: "The journal cannot be cut there (OPS0013), or the deployment does not fit",
        404: "Unknown invocation",
        410: "The journal is gone",
        422: "An edit does not fit its step (OPS0012)",
        425: "Not started yet",
        429: "Too many forks run in sandboxes",
      },
      handle: async (request) => {
        const id = invocationParam(request);
        const body = await request.json(ForkInSandbox, FORK_BODY_BYTES_MAX);
        return json(200, await runs.run(id, body, request.signal));
      },
    }),
  ];
}
