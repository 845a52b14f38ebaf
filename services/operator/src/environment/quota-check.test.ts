import { expect, test } from "@jest/globals";
import { environmentWith } from "../../test/an-environment.js";
import { shortOf } from "./quota-check.js";

const hard = { pods: "7", "requests.cpu": "2", "requests.memory": "4Gi" };

test("a quota is too small where one more pod would not fit, and the message names the resource", () => {
  const environment = environmentWith();
  expect(shortOf({ hard, used: { pods: "6", "requests.cpu": "1900m", "requests.memory": "1Gi" } }, environment)).toEqual([]);
  expect(shortOf({ hard, used: { pods: "7", "requests.cpu": "1", "requests.memory": "4000Mi" } }, environment)).toEqual([
    "pods",
    "requests.memory",
  ]);
});

test("a quota without a status yet is not a reason", () => {
  expect(shortOf({}, environmentWith())).toEqual([]);
  expect(shortOf({ hard }, environmentWith())).toEqual([]);
});
