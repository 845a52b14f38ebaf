import { EventEmitter } from "node:events";
import { expect, test } from "@jest/globals";
import { handleErrors } from "./error-events.js";

test("an error of a source that is handled throws nothing, as often as it comes", () => {
  const source = new EventEmitter();
  handleErrors(source);
  source.emit("error", new Error("reset"));
  source.emit("error", new Error("reset again"));
});

test("an owner with a callback receives the errors", () => {
  const source = new EventEmitter();
  const messages: string[] = [];
  handleErrors(source, (cause) => messages.push(cause.message));
  source.emit("error", new Error("reset"));
  expect(messages).toEqual(["reset"]);
});
