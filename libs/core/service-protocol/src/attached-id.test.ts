import { expect, test } from "@jest/globals";
import { idempotentInvocationId, workflowInvocationId } from "@perdure/base";
import { attachedId } from "./attached-id.js";

const REQUEST = { serviceName: "O", serviceKey: "k", handlerName: "h", idempotencyKey: "i" };

test("an attachment with an empty scope names the invocation without a scope, as a call does", () => {
  for (const scope of [undefined, ""]) {
    expect(attachedId({ kind: "workflow", workflowName: "W", workflowKey: "k", scope })).toBe(workflowInvocationId("W", "k"));
    const id = idempotentInvocationId({ service: "O", key: "k", handler: "h" }, "i");
    expect(attachedId({ kind: "idempotentRequest", ...REQUEST, scope })).toBe(id);
  }
  const scoped = workflowInvocationId("W", "k", "s");
  expect(attachedId({ kind: "workflow", workflowName: "W", workflowKey: "k", scope: "s" })).toBe(scoped);
});

test("an attachment to a malformed id names no invocation", () => {
  expect(attachedId({ kind: "invocationId", invocationId: "inv_" })).toBeUndefined();
});
