import { expect, test } from "@jest/globals";
import type { HandlerMetadata } from "@perdure/admin-client";
import { aHandler, aService } from "@perdure/admin-client/testing";
import { addressOf, callablesOf, chosenOf } from "./handlers.js";
import { NO_PROGRESS, parseProgress } from "./progress.js";

const handler = (name: string, more: Partial<HandlerMetadata> = {}): HandlerMetadata =>
  aHandler(name, { input_description: "value of content-type 'application/json'", ...more });

test("what can be called from outside, each with an argument that fits", () => {
  const order = { type: "object", required: ["amount"], properties: { amount: { type: "integer", minimum: 3 }, note: {} } };
  const callables = callablesOf([
    aService("Greeter", [handler("greet"), handler("hidden", { public: false })]),
    aService("Stock", [handler("take", { input_json_schema: order }), handler("level", { input_description: "none" })], {
      ty: "VirtualObject",
    }),
    aService("Inner", [handler("run")], { public: false }),
  ]);
  expect(callables.map(({ value, example }) => [value, example])).toEqual([
    ["Greeter/greet", '"Ada"'],
    ["Stock/take", '{\n  "amount": 3\n}'],
    ["Stock/level", ""],
  ]);
  expect(chosenOf(callables, [undefined, "Greeter/party", "Stock/level"])?.value).toBe("Stock/level");
  expect(chosenOf(callables, ["Nobody/knows"])?.value).toBe("Greeter/greet");
  expect(chosenOf([], ["Greeter/greet"])).toBeUndefined();
  const [greet, take] = callables.map((callable) => addressOf(callable, "lamp"));
  expect(greet).toEqual({ service: "Greeter", handler: "greet" });
  expect(take).toEqual({ service: "Stock", key: "lamp", handler: "take" });
});

test.each([null, "", "{", "[]", '{"language":"cobol"}', '{"crash":{"id":7}}', '{"crash":{"id":"inv_1","cut":{}}}'])(
  "%p is not progress",
  (text) => {
    expect(parseProgress(text)).toEqual(NO_PROGRESS);
  },
);

test("progress is restored as it was left", () => {
  const left = { ...NO_PROGRESS, language: "go" as const, calledId: "inv_1", crash: { id: "inv_2", isSurvived: true } };
  expect(parseProgress(JSON.stringify(left))).toEqual(left);
});
