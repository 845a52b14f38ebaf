/**
 * Explains on a button why the server would refuse the action, from the status of the invocation. The server makes the final check. Pure.
 */
import type { ExplanationView } from "@perdure/admin-client";
import { INVOCATION_VERBS, type InvocationVerb } from "@perdure/admin-contract";

/** The state that decides about actions; `status` as in `sys_invocation`. */
export interface ActionFacts {
  readonly status: string;
  readonly isWorkflow: boolean;
  /** Entries that are stored; 0 when the journal was purged or never kept. */
  readonly journalSize: number;
}

const NOT_BEGUN: ReadonlySet<string> = new Set(["scheduled", "pending"]);

/** Why the action is not possible now; undefined when it is. */
export function whyNot(verb: InvocationVerb, { status, isWorkflow, journalSize }: ActionFacts): string | undefined {
  const isDone = status === "completed";
  switch (verb) {
    case "cancel":
    case "kill":
      return isDone ? "The invocation is already completed." : undefined;
    case "pause":
      if (isDone) return "The invocation is already completed.";
      if (NOT_BEGUN.has(status)) return "The invocation has not started yet.";
      if (status === "suspended") return "The invocation is suspended: no attempt is running.";
      return status === "paused" ? "The invocation is already paused." : undefined;
    case "resume":
      if (isDone) return "The invocation is completed. Use Restart as new.";
      if (NOT_BEGUN.has(status)) return "The invocation has not started yet.";
      return status === "running" || status === "ready" ? "The invocation is not paused." : undefined;
    case "restart-as-new":
      if (!isDone) return "Only completed invocations can be restarted.";
      if (isWorkflow) return "A workflow runs once for its key.";
      return journalSize <= 0 ? "The journal with the input is deleted." : undefined;
    case "purge":
      return isDone ? undefined : "Only completed invocations can be purged.";
    case "purge-journal":
      if (!isDone) return "Only the journal of a completed invocation can be deleted.";
      return journalSize <= 0 ? "The journal is already deleted." : undefined;
  }
}

/** Every invocation can be forked as long as its journal is kept, also while it runs. */
export function whyNotFork(journalSize: number): string | undefined {
  return journalSize <= 0 ? "There is no journal: it is deleted, or the invocation has not started." : undefined;
}

/** Why there is nothing that a good run could explain. `hasFailed`: an attempt did. */
export function whyNotCompare({
  status,
  isGood,
  hasFailed,
}: {
  status: string;
  isGood: boolean;
  hasFailed: boolean;
}): string | undefined {
  if (isGood) return "The invocation succeeded.";
  return status === "completed" || status === "paused" || status === "backing-off" || hasFailed
    ? undefined
    : "No attempt of the invocation has failed.";
}

/** A pinned invocation continues on its deployment unless it is moved, and only suspended or paused invocations can be moved. */
export function whyNotMove(status: string): string | undefined {
  return status === "paused" || status === "suspended"
    ? undefined
    : "Only a paused or suspended invocation can be moved. Pause it first.";
}

// ── remedies ─────────────────────────────────────────────────────────────────────────────────────

/** The actions that `explain` proposes, as buttons. */
export type RemedyAction = { readonly effect: string; readonly request: string } & (
  | { readonly kind: "verb"; readonly id: string; readonly verb: InvocationVerb; readonly deployment: string | undefined }
  | { readonly kind: "queue"; readonly queue: string }
  | { readonly kind: "awakeable"; readonly awakeable: string }
  | { readonly kind: "page"; readonly href: string; readonly label: string }
  | { readonly kind: "words" }
);

export function remedyOf({ request, effect }: ExplanationView["remedies"][number]): RemedyAction {
  const invocation = /^PATCH \/invocations\/([^/]+)\/([a-z-]+)(?:\?deployment=([^&\s]+))?$/.exec(request);
  const verb = INVOCATION_VERBS.find((one) => one === invocation?.[2]);
  if (verb !== undefined) {
    return { kind: "verb", id: invocation?.[1] ?? "", verb, deployment: invocation?.[3], request, effect };
  }
  const queue = /^POST \/vqueues\/([^/]+)\/resume$/.exec(request)?.[1];
  if (queue !== undefined) return { kind: "queue", queue: decodeURIComponent(queue), request, effect };
  const awakeable = /^POST \/restate\/awakeables\/([^/]+)\/resolve/.exec(request)?.[1];
  if (awakeable !== undefined) return { kind: "awakeable", awakeable, request, effect };
  if (request.startsWith("PUT /limits/rules")) return { kind: "page", href: "/flow", label: "Rules", request, effect };
  if (request.startsWith("POST /deployments")) {
    return { kind: "page", href: "/deployments", label: "Deployments", request, effect };
  }
  return { kind: "words", request, effect };
}
