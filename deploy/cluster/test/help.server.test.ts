import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";
import { runCommand } from "@perdure/processes";

test.each(["cluster", "cloud"])("make %s: its program lists commands and options", async (name) => {
  const program = join(ROOT, `deploy/${name}/dist/main.mjs`);
  const shown = await runCommand(process.execPath, [program, "--help"], { env: process.env });
  expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^usage: .*\n {2}down .*--once/s) });
});
