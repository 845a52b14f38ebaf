import { expect, test } from "@jest/globals";
import { RunningCommand, runCommand } from "./command.js";

const script = (body: string): readonly string[] => ["-e", body];

test("a command gets its input, and its outputs and its exit code come back apart", async () => {
  const body = "process.stdin.on('data', (text) => { console.log('got ' + text); console.error('done'); process.exitCode = 4; })";
  const result = await runCommand(process.execPath, script(body), { stdin: "tea" });
  expect(result).toEqual({ exitCode: 4, stdout: "got tea\n", stderr: "done\n" });
});

test("a command that takes too long is killed", async () => {
  const { exitCode } = await runCommand(process.execPath, script("setInterval(() => {}, 1000)"), { timeoutMs: 200 });
  expect(exitCode).toBeNull();
});

test("a command that does not exist rejects", async () => {
  await expect(runCommand("/nowhere/command", [])).rejects.toThrow("ENOENT");
});

test("what it prints can be awaited; an end without it rejects with the output", async () => {
  const command = new RunningCommand(process.execPath, script("console.log('code 42'); setInterval(() => {}, 1000)"));
  expect((await command.until(/code (\d+)/))[1]).toBe("42");
  command.signal("SIGTERM");
  await expect(command.until(/never/)).rejects.toThrow("the command ended without /never/:\ncode 42");
  expect((await command.ended).exitCode).toBeNull();
});
