import { expect, test } from "@jest/globals";
import type { CallResult } from "@perdure/admin-client";
import { answered } from "./answer.js";
import { ANSWER_CHARS_MAX } from "./limits.js";

/** The body as the page shows it. */
function bodyOf(body: Uint8Array, contentType: string | undefined) {
  const response = answered({ status: 200, invocationId: "inv_1", contentType, body } as CallResult, 5);
  if (response.kind !== "answered") throw new Error(response.kind);
  return response.body;
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("JSON is laid out, other texts stay as they are, bytes become digits", () => {
  expect(bodyOf(bytes('{"a":1}'), "application/json")).toMatchObject({ language: "json", text: '{\n  "a": 1\n}', bytes: 7 });
  expect(bodyOf(bytes("<b>no markup</b>"), "text/html")).toMatchObject({ language: "text", text: "<b>no markup</b>" });
  expect(bodyOf(bytes("not json"), "application/json")).toMatchObject({ language: "text", text: "not json" });
  expect(bodyOf(new Uint8Array([0xff, 0]), undefined)).toMatchObject({ language: "text", text: "ff 00" });
});

test("a very long answer is cut and marked as cut", () => {
  const body = bodyOf(bytes("x".repeat(ANSWER_CHARS_MAX + 1)), "text/plain");
  expect([body.isCut, body.text.length, body.bytes]).toEqual([true, ANSWER_CHARS_MAX, ANSWER_CHARS_MAX + 1]);
});
