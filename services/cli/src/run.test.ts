import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { runCommand } from "./run.js";
import { Variables } from "./variables.js";

test.each([
  ["an argument", ["explain", "nope"], /^✘ 'nope' is not valid as 'id'\. Ids of invocations begin with inv_1/],
  ["an option", ["dev", "--port", "x"], /^✘ 'x' is not valid for --port\. Expected a whole number from 1 to 65535\./],
])("the value of %s that is refused is named in one sentence, with the command's help", async (_what, args, expected) => {
  let written = "";
  const output = { write: (text: string) => (written += text) };
  const exitCode = await runCommand(args, {
    variables: new Variables({ NO_COLOR: "1" }),
    clock: systemClock,
    stdin: process.stdin,
    stdout: output,
    stderr: output,
    signal: new AbortController().signal,
    fetch,
  });
  expect(exitCode).toBe(2);
  expect(written).toMatch(expected);
  expect(written).toContain(`See: perdure ${args[0]} --help`);
});
