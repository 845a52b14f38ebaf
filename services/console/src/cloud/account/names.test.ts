import { expect, test } from "@jest/globals";
import { nameProblem } from "./names.js";

test.each([
  ["", undefined],
  ["staging-2", undefined],
  ["Staging", "Small letters only."],
  ["my env", "No spaces: a–z, 0–9 and “-” only."],
  ["a_b", "No “_”: a–z, 0–9 and “-” only."],
  ["local", "“local” means something else to command lines."],
  ["dev", "There is an environment of this name already."],
  ["a".repeat(41), "At most 40 characters."],
])("%j: %s", (name, problem) => expect(nameProblem(name, ["dev"])).toBe(problem));
