import { inspect } from "node:util";
import { expect, test } from "@jest/globals";
import { Secret } from "./index.js";

test("only reveal() shows the text", () => {
  const secret = new Secret("hunter2");
  expect(secret.reveal()).toBe("hunter2");
  const shown = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { depth: 9, showHidden: true }),
    Object.values(secret).join(),
  ];
  expect(shown).toEqual(["***", '{"secret":"***"}', "{ secret: *** }", ""]);
});
