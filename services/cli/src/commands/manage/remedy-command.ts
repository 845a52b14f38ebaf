/** Commands in place of the requests that an explanation names. */
import type { ExplanationView } from "@perdure/admin-client";

const VERBS: Readonly<Record<string, string>> = {
  cancel: "cancel",
  kill: "kill",
  pause: "pause",
  resume: "resume",
  purge: "purge",
  "restart-as-new": "restart",
};

/** The command for a request of the API; undefined when there is none. */
export function commandOf(request: ExplanationView["remedies"][number]["request"]): string | undefined {
  const invocation = /^PATCH \/invocations\/([^/?\s]+)\/([a-z-]+)(?:\?deployment=([^&\s]+))?$/.exec(request);
  const verb = VERBS[invocation?.[2] ?? ""];
  if (invocation !== null && verb !== undefined) {
    return `perdure invocations ${verb} ${invocation[1]}${invocation[3] === undefined ? "" : ` --deployment ${invocation[3]}`}`;
  }
  const queue = /^POST \/vqueues\/([^/\s]+)\/(pause|resume)$/.exec(request);
  return queue === null ? undefined : `perdure queues ${queue[2]} ${queue[1]}`;
}
