import { expect, test } from "@jest/globals";
import { Command, CommanderError } from "commander";
import { invocationId, wholeNumber } from "./commands/manage/values.js";
import { usageMessage } from "./usage-message.js";

function refusalOf(args: readonly string[]): string {
  const command = new Command("explain")
    .argument("<id>", "an invocation", invocationId)
    .option("-p, --port <port>", "a port", wholeNumber(1, 65_535))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  try {
    command.parse(args, { from: "user" });
  } catch (cause) {
    if (cause instanceof CommanderError) return usageMessage(cause);
    throw cause;
  }
  throw new Error("the arguments were accepted");
}

test.each([
  ["an argument", ["nope"], /^'nope' is not valid as 'id'\. Ids of invocations begin with inv_1/],
  ["an option", ["--port", "x"], /^'x' is not valid for --port\. Expected a whole number from 1 to 65535\./],
  ["an option that is unknown", ["--nope"], /^unknown option '--nope'/],
])("the refusal of %s is one sentence that names it", (_what, args, expected) => {
  expect(refusalOf(args)).toMatch(expected);
});
