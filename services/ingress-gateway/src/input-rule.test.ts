import { describe, expect, test } from "@jest/globals";
import type { InputRule } from "@perdure/control";
import { checkInput } from "./input-rule.js";

const json: InputRule = { none: false, required: false, contentType: "application/json" };
const requiredJson: InputRule = { ...json, required: true };
const text: InputRule = { ...json, contentType: "text/*" };
const anything: InputRule = { ...json, contentType: "*/*" };
const nothing: InputRule = { ...anything, none: true };

const ok = undefined;
const mismatch = (given: string, expected: string) => `Content-type '${given}' does not match '${expected}'`;
const notEmpty = (given: string) => `Expected body and content-type to be empty, but wasn't with content-type '${given}'`;

describe("what a handler declared against what came", () => {
  test.each<[string, InputRule, string | undefined, number, string | undefined]>([
    ["JSON handler, nothing", json, undefined, 0, ok],
    ["JSON handler, JSON", json, "application/json", 2, ok],
    ["JSON handler, empty JSON", json, "application/json", 0, ok],
    ["JSON handler, with parameter", json, "application/json; charset=utf-8", 2, ok],
    ["JSON handler, parameter without space", json, "application/json;charset=utf-8", 2, ok],
    ["JSON handler, space before the semicolon", json, "application/json ;charset=utf-8", 2, ok],
    ["JSON handler, other case", json, "Application/JSON", 2, mismatch("Application/JSON", "application/json")],
    ["JSON handler, longer type", json, "application/jsonx", 2, mismatch("application/jsonx", "application/json")],
    ["JSON handler, text", json, "text/plain", 0, mismatch("text/plain", "application/json")],
    ["JSON handler, body without type", json, undefined, 1, "Empty content-type"],
    ["JSON handler, empty type", json, "", 1, mismatch("", "application/json")],
    ["required JSON, JSON", requiredJson, "application/json", 2, ok],
    ["required JSON, nothing", requiredJson, undefined, 0, "Empty body not allowed"],
    ["required JSON, empty JSON", requiredJson, "application/json", 0, "Empty body not allowed"],
    ["required JSON, body without type", requiredJson, undefined, 2, "Empty content-type"],
    ["text handler, CSV", text, "text/csv", 2, ok],
    ["text handler, CSV with parameter", text, "text/csv; header=present", 2, ok],
    ["text handler, JSON", text, "application/json", 2, mismatch("application/json", "text/*")],
    ["text handler, a type that only begins alike", text, "texture/x", 2, mismatch("texture/x", "text/*")],
    ["any handler, image", anything, "image/png", 2, ok],
    ["any handler, nonsense", anything, "nonsense", 2, ok],
    ["any handler, body without type", anything, undefined, 2, "Empty content-type"],
    ["any handler, nothing", anything, undefined, 0, ok],
    ["no input, nothing", nothing, undefined, 0, ok],
    ["no input, type only", nothing, "application/json", 0, notEmpty('Some("application/json")')],
    ["no input, body only", nothing, undefined, 1, notEmpty("None")],
  ])("%s", (_title, rule, contentType, bytes, problem) => {
    const refused = checkInput(rule, contentType, bytes);
    expect(refused?.message).toBe(problem === undefined ? undefined : `input validation error: ${problem}`);
    expect(refused?.status).toBe(problem === undefined ? undefined : 400);
  });
});
