import { expect, test } from "@jest/globals";
import { browserAdvice } from "./advice.js";
import { problemOf } from "./problem-text.js";

test.each([
  ["Check the address. docs/errors/META0003.md (discovery failed) says more.", "META0003", 500, "Check the address."],
  ["docs/errors/RT0001.md (unknown) says more.", "RT0001", 500, undefined],
  ["Register it with --use-http1.1. docs/errors/META0014.md (x) says more.", "META0014", 400, "Select “Use HTTP/1.1”."],
  ["Log in with `perdure login`, or set an API key for this environment.", undefined, 401, "Sign in again."],
  ["Log in with `perdure login`, or set an API key for this environment.", "PERD0401", 401, "Sign in again."],
  ["Wait some seconds.", "PERD0101", 503, "The environment is being set up: try again in some seconds."],
  ["Wait a moment and try again.", undefined, 429, "Wait a moment and try again."],
  [undefined, undefined, undefined, undefined],
])("%j of %s, %s becomes %j", (advice, code, status, text) => expect(browserAdvice(advice, code, status)).toBe(text));

test("a server that cannot be reached is described in one sentence, without a command to type", () => {
  const cause = Object.assign(new Error("http://localhost:9070 cannot be reached: Failed to fetch"), {
    status: 0,
    advice: "Is the server running? `perdure dev` starts one; `perdure env use` chooses another environment.",
  });
  expect(problemOf(cause)).toEqual({
    message: "The server cannot be reached.",
    code: undefined,
    advice: undefined,
    requestId: undefined,
    isNoAnswer: true,
  });
});
