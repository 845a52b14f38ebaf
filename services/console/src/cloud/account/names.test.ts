import { expect, test } from "@jest/globals";
import { nameProblem } from "./names.js";

test.each([
  ["", undefined],
  ["staging-2", undefined],
  ["Staging", "Lower-case letters only."],
  ["my env", "No spaces: a–z, 0–9 and “-” only."],
  ["a_b", "No “_”: a–z, 0–9 and “-” only."],
  ["local", "“local” is reserved by the command line."],
  ["dev", "An environment with this name exists."],
  ["a".repeat(41), "At most 40 characters."],
])("%j: %s", (name, problem) => expect(nameProblem(name, ["dev"])).toBe(problem));
