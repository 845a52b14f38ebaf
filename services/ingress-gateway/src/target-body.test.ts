import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { parseTargetBody } from "./target-body.js";

function parse(body: unknown): unknown {
  return parseTargetBody(utf8(typeof body === "string" ? body : JSON.stringify(body)), "request body");
}

describe("parseTargetBody", () => {
  test("a workflow, with and without scope", () => {
    expect(parse({ target: "workflow", workflowName: "Wf", workflowKey: "k" })).toEqual({
      kind: "workflow",
      workflow: "Wf",
      key: "k",
      scope: undefined,
    });
    expect(parse({ target: "workflow", workflowName: "Wf", workflowKey: "", scope: "s1" })).toMatchObject({
      key: "",
      scope: "s1",
    });
  });

  test("an idempotent invocation; key and scope may be null", () => {
    const named = { target: "idempotentInvocation", service: "S", handler: "h", idempotencyKey: "i" };
    const expected = { kind: "idempotent", service: "S", handler: "h", idempotencyKey: "i" };
    expect(parse(named)).toEqual({ ...expected, key: undefined, scope: undefined });
    expect(parse({ ...named, key: null, scope: null })).toEqual({ ...expected, key: undefined, scope: undefined });
    expect(parse({ ...named, key: "k", extra: 1 })).toEqual({ ...expected, key: "k", scope: undefined });
  });

  test("an invocation id is accepted as it is", () => {
    expect(parse({ target: "invocation", invocationId: "inv_bad" })).toEqual({ kind: "id", text: "inv_bad" });
  });

  test.each([
    [{}, "missing field `target`"],
    [{ target: "x" }, "unknown variant `x`, expected one of `workflow`, `idempotentInvocation`, `invocation`"],
    [{ target: 1 }, "unknown variant `1`, expected one of `workflow`, `idempotentInvocation`, `invocation`"],
    [{ target: "workflow" }, "missing field `workflowName`"],
    [{ target: "workflow", workflowName: "W" }, "missing field `workflowKey`"],
    [{ target: "workflow", workflowName: 1, workflowKey: "k" }, "field `workflowName` is not a string"],
    [{ target: "workflow", workflowName: "W", workflowKey: "k", scope: 1 }, "field `scope` is not a string"],
    [{ target: "idempotentInvocation", service: "S", handler: "h" }, "missing field `idempotencyKey`"],
    [{ target: "invocation" }, "missing field `invocationId`"],
    ["[]", "expected an object"],
    ["null", "expected an object"],
    ['"x"', "expected an object"],
  ])("%j is 500", (body, reason) => {
    expect(parse(body)).toMatchObject({
      kind: "refused",
      status: 500,
      message: `cannot read body: invalid request body: ${reason}`,
    });
  });

  test.each(["", "{"])("%j is 500 with the parser's text", (body) => {
    expect(parse(body)).toMatchObject({
      status: 500,
      message: expect.stringMatching(/^cannot read body: invalid request body: ./),
    });
  });

  test("bytes that are not UTF-8 are 500", () => {
    expect(parseTargetBody(Uint8Array.of(0x22, 0xff, 0x22), "lookup body")).toMatchObject({
      status: 500,
      message: "cannot read body: invalid lookup body: it is not UTF-8",
    });
  });

  test("a bad scope is 400", () => {
    expect(parse({ target: "workflow", workflowName: "W", workflowKey: "k", scope: "" })).toMatchObject({
      status: 400,
      message: "bad scope value: value cannot be empty",
    });
  });
});
