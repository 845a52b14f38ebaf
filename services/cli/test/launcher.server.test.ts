/** The script at the root of the project: commands that start the server are unchanged, and everything else is the command line. */

import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "@jest/globals";
import { executable, programBundle } from "@perdure/dev-cluster";

const TEST_MS = 120_000;
const environment = { PATH: process.env["PATH"], HOME: tmpdir() };
const run = (program: string, args: readonly string[]) => promisify(execFile)(program, args, { env: environment, cwd: tmpdir() });
let perdure: string;

beforeAll(async () => {
  await programBundle("services/cli");
  perdure = await executable();
}, TEST_MS);

test(
  "server is the server; no command, help and version are the command line's; what is unknown is 2",
  async () => {
    const [server, settings, help, nothing, version] = await Promise.all(
      [["server", "--help"], ["server", "--print-config"], ["--help"], [], ["--version"]].map((args) => run(perdure, args)),
    );
    expect(server?.stdout).toContain("perdure server [--config-file FILE]");
    expect(settings?.stdout).toContain("[ingress]");
    expect(help?.stdout).toMatch(/login .*tunnel .*completion/s);
    expect(nothing?.stdout).toBe(help?.stdout);
    expect(version?.stdout).toBe("perdure 0.1.0\n");
    await expect(run(perdure, ["nonsense"])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown command"),
    });
  },
  TEST_MS,
);
