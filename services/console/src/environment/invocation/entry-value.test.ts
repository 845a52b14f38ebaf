import { describe, expect, test } from "@jest/globals";
import { completionIdOf, entryValueOf } from "./entry-value.js";

const command = (type: string, fields: object) => JSON.stringify({ Command: { [type]: fields } });
const completion = (type: string, fields: object) => JSON.stringify({ Notification: { Completion: { [type]: fields } } });
const textOf = (json: string) => {
  const { bytes } = entryValueOf(json);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
};

describe("the value of an entry", () => {
  test("is in a field that differs by type", () => {
    expect(textOf(command("SetState", { key: "left", value: [52, 50] }))).toBe("42");
    expect(textOf(command("Output", { result: { Success: [104, 105] } }))).toBe("hi");
    expect(textOf(command("Call", { request: { parameter: [55] }, result_completion_id: 3 }))).toBe("7");
    expect(textOf(command("CompletePromise", { key: "p", value: { Success: [49] } }))).toBe("1");
    expect(textOf(completion("Run", { completion_id: 1, result: { Success: [] } }))).toBe("");
    expect(textOf(JSON.stringify({ Notification: { Signal: { id: { Name: "s" }, result: { Success: [120] } } } }))).toBe("x");
  });

  test("of an input has headers", () => {
    const input = entryValueOf(command("Input", { headers: [{ name: "a", value: "b" }], payload: [49], name: "" }));
    expect(input.headers).toEqual([["a", "b"]]);
    expect(input.bytes).toEqual(Uint8Array.of(49));
  });

  test("may be a failure, a list of keys, or nothing", () => {
    const failed = entryValueOf(completion("Call", { completion_id: 5, result: { Failure: { code: 402, message: "no" } } }));
    expect(failed).toMatchObject({ bytes: undefined, failure: { code: 402, message: "no" } });
    expect(entryValueOf(completion("GetLazyStateKeys", { completion_id: 2, state_keys: ["a", "b"] })).keys).toEqual(["a", "b"]);
    expect(entryValueOf(completion("Sleep", { completion_id: 6 }))).toMatchObject({ bytes: undefined, failure: undefined });
    expect(entryValueOf("no JSON")).toMatchObject({ bytes: undefined, headers: [] });
  });
});

test("a command's result is read by its completion id", () => {
  expect(completionIdOf(command("Call", { invocation_id_completion_id: 2, result_completion_id: 3 }))).toBe(3);
  expect(completionIdOf(command("Run", { completion_id: 1, name: "pack it" }))).toBe(1);
  expect(completionIdOf(command("SetState", { key: "left", value: [] }))).toBeUndefined();
});
