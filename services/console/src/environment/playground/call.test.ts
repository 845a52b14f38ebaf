import { expect, test } from "@jest/globals";
import type { HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { aHandler, aService } from "@perdure/admin-client/testing";
import { bodyKindOf, bodyProblems, type Draft, firstBody, inputOf, isNotRetained, NO_EXTRAS, obstacleOf } from "./call.js";

const SCHEMA = { type: "object", required: ["amount"], properties: { amount: { type: "integer" } } };
const handler = (more: Partial<HandlerMetadata> = {}) => aHandler("take", { input_description: "application/json", ...more });
const service = (more: Partial<ServiceMetadata> = {}) => aService("Stock", [handler()], { ty: "VirtualObject", ...more });
const draft = (more: Partial<Draft> = {}): Draft => ({
  service: service(),
  handler: handler(),
  key: "lamp",
  way: "call",
  body: "5",
  extras: NO_EXTRAS,
  ...more,
});

test.each([
  ["application/json", "json"],
  ["any", "json"],
  ["*/*", "json"],
  ["none", "none"],
  ["text/plain", "text"],
  ["application/octet-stream", "text"],
])("a handler that takes %s has a body of %s", (takes, kind) =>
  expect(bodyKindOf(handler({ input_description: takes }))).toBe(kind),
);

test("an initial body matches its schema", () => {
  expect(firstBody(handler({ input_json_schema: SCHEMA }))).toBe('{\n  "amount": 0\n}');
  expect(firstBody(handler())).toBe("");
});

test("a call that cannot be sent has an error", () => {
  expect(obstacleOf(draft())).toBeUndefined();
  expect(obstacleOf(draft({ service: service({ ty: "Service" }), key: "" }))).toBeUndefined();
  expect(obstacleOf(draft({ key: "" }))).toMatch(/^A key/);
  expect(obstacleOf(draft({ body: "{" }))).toMatch(/not valid JSON/);
  expect(obstacleOf(draft({ handler: handler({ public: false }) }))).toMatch(/private/);
  expect(obstacleOf(draft({ way: "delayed", extras: { ...NO_EXTRAS, delay: " " } }))).toMatch(/delay/);
  expect(obstacleOf(draft({ extras: { ...NO_EXTRAS, headers: "no header" } }))).toMatch(/name: value/);
});

test("the schema reports the errors of a body", () => {
  const of = handler({ input_json_schema: SCHEMA });
  expect(bodyProblems(of, '{"amount":1}')).toEqual([]);
  expect(bodyProblems(of, "{}")).toEqual([{ path: "amount", message: "is required" }]);
  expect(bodyProblems(of, "")).toHaveLength(1);
  expect(bodyProblems(handler(), "")).toEqual([]);
});

test("headers are lines", () => {
  const extras = { ...NO_EXTRAS, headers: "X-A: b:c\n\n x-d:\n" };
  expect(inputOf(draft({ extras })).headers).toEqual({ "x-a": "b:c", "x-d": "" });
});

test("only what was written is sent", () => {
  expect(inputOf(draft({ body: "" }))).toEqual({
    body: undefined,
    contentType: undefined,
    idempotencyKey: undefined,
    headers: {},
    scope: undefined,
    limitKey: undefined,
    priority: undefined,
  });
  const extras = { ...NO_EXTRAS, idempotencyKey: "k", headers: "x-a: b", scope: "s", limitKey: "l", priority: "2" };
  expect(inputOf(draft({ handler: handler({ input_description: "text/*" }), body: "hi", extras }))).toEqual({
    body: "hi",
    contentType: "text/plain",
    idempotencyKey: "k",
    headers: { "x-a": "b" },
    scope: "s",
    limitKey: "l",
    priority: 2,
  });
});

test("an invocation is not kept when no retention keeps it", () => {
  expect(isNotRetained(draft())).toBe(false);
  expect(isNotRetained(draft({ service: service({ journal_retention: "0" }) }))).toBe(true);
  expect(
    isNotRetained(draft({ service: service({ journal_retention: "0s" }), handler: handler({ journal_retention: "1d" }) })),
  ).toBe(false);
  const kept = { ...NO_EXTRAS, idempotencyKey: "k" };
  expect(isNotRetained(draft({ service: service({ journal_retention: "0s" }), extras: kept }))).toBe(false);
});
