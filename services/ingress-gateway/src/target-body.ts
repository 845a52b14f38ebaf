/** Attach, output and lookup by POST name their target in a JSON body (ingress.md §5.3). */
import { fromUtf8Strict, jsonFields } from "@perdure/base";
import { type IngressRefusal, unreadableBody } from "./refusal.js";
import type { ResultTarget } from "./route.js";
import { checkScope } from "./scope.js";

type BodyFields = Readonly<Record<string, unknown>>;

/** A malformed body is answered with 500, as recorded from the reference; only the scope has a 400 of its own. `what` opens the text. */
export function parseTargetBody(bytes: Uint8Array, what: "lookup body" | "request body"): ResultTarget | IngressRefusal {
  const text = fromUtf8Strict(bytes);
  if (text === undefined) return bad(what, "it is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return bad(what, cause instanceof SyntaxError ? cause.message : "it is not JSON");
  }
  const fields = jsonFields(value);
  if (fields === undefined) return bad(what, "expected an object");
  const target = readTarget(fields);
  if (typeof target === "string") return bad(what, target);
  if (target.kind === "id" || target.scope === undefined) return target;
  return checkScope(target.scope) ?? target;
}

/** The target, or the error. */
function readTarget(fields: BodyFields): ResultTarget | string {
  switch (fields["target"]) {
    case "workflow": {
      const problem = problemOf(fields, ["workflowName", "workflowKey"], ["scope"]);
      if (problem !== undefined) return problem;
      return {
        kind: "workflow",
        workflow: textOf(fields, "workflowName") ?? "",
        key: textOf(fields, "workflowKey") ?? "",
        scope: textOf(fields, "scope"),
      };
    }
    case "idempotentInvocation": {
      const problem = problemOf(fields, ["service", "handler", "idempotencyKey"], ["key", "scope"]);
      if (problem !== undefined) return problem;
      return {
        kind: "idempotent",
        service: textOf(fields, "service") ?? "",
        key: textOf(fields, "key"),
        handler: textOf(fields, "handler") ?? "",
        idempotencyKey: textOf(fields, "idempotencyKey") ?? "",
        scope: textOf(fields, "scope"),
      };
    }
    case "invocation": {
      const problem = problemOf(fields, ["invocationId"], []);
      return problem ?? { kind: "id", text: textOf(fields, "invocationId") ?? "" };
    }
    case undefined:
      return "missing field `target`";
    default:
      return `unknown variant \`${String(fields["target"])}\`, expected one of \`workflow\`, \`idempotentInvocation\`, \`invocation\``;
  }
}

/** Of fields without a problem. */
function textOf(fields: BodyFields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" ? value : undefined;
}

function problemOf(fields: BodyFields, required: readonly string[], optional: readonly string[]): string | undefined {
  for (const name of required) {
    if (fields[name] === undefined) return `missing field \`${name}\``;
    if (typeof fields[name] !== "string") return `field \`${name}\` is not a string`;
  }
  for (const name of optional) {
    const value = fields[name];
    if (value !== undefined && value !== null && typeof value !== "string") return `field \`${name}\` is not a string`;
  }
  return undefined;
}

function bad(what: string, reason: string): IngressRefusal {
  return unreadableBody(`invalid ${what}: ${reason}`);
}
