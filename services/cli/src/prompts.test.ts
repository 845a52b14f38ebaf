import { expect, test } from "@jest/globals";
import { CliError, USAGE } from "./errors.js";
import { Prompts } from "./prompts.js";

test.each([
  ["--yes", "Use --yes"],
  ["Name it: perdure link ENV", "Name it: perdure link ENV"],
])("without a terminal a question ends the command, with what to type instead (%s)", async (instead, advice) => {
  const prompts = new Prompts({ isInteractive: false, signal: new AbortController().signal });
  const failure = await prompts.confirm("End s1 (@daily)?", instead).catch((cause: unknown) => cause);
  expect(failure).toBeInstanceOf(CliError);
  expect(failure).toMatchObject({ message: "There is no terminal to prompt in: End s1 (@daily)?", advice, exitCode: USAGE });
});
