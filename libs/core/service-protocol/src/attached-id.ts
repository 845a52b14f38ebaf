/** Finds the invocation that an attach command names. */
import { type InvocationId, idempotentInvocationId, parseInvocationId, workflowInvocationId } from "@perdure/base";
import type { AttachTarget } from "./journal-command.js";

/** The id of a workflow or an idempotent request is derived from its target. An empty scope is none, as for calls. Undefined for a malformed id. */
export function attachedId(target: AttachTarget): InvocationId | undefined {
  switch (target.kind) {
    case "invocationId": {
      const parsed = parseInvocationId(target.invocationId);
      return parsed.ok ? parsed.value : undefined;
    }
    case "workflow":
      return workflowInvocationId(target.workflowName, target.workflowKey, target.scope || undefined);
    default: {
      const { serviceName: service, serviceKey: key, handlerName: handler, scope, idempotencyKey } = target;
      return idempotentInvocationId({ service, key, handler, scope: scope || undefined }, idempotencyKey);
    }
  }
}
