/** The script at the root of the project: commands that start the server are unchanged, and everything else is the command line. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

/** The texts of a bundle's main module and of every file that it imports, by path. */
function filesOf(main: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const paths = [main]; paths.length > 0; ) {
    const path = paths.pop() as string;
    if (texts.has(path)) continue;
    const text = readFileSync(path, "utf8");
    texts.set(path, text);
    for (const [, name] of text.matchAll(/(?:from |import |import\()"\.\/([\w-]+\.mjs)"/g))
      paths.push(join(dirname(path), name as string));
  }
  return texts;
}

test.each(["cli", "standalone"])(
  "no file of %s imports node:http as an ES module, which would load undici at each start",
  async (service) => {
    const files = filesOf(await programBundle(`services/${service}`));
    expect(files.size).toBeGreaterThan(3);
    for (const [path, text] of files) expect([path, /^import .*"(?:node:)?http";$/m.exec(text)?.[0]]).toEqual([path, undefined]);
    expect([...files.values()].some((text) => text.includes('getBuiltinModule("node:http")'))).toBe(true);
  },
  TEST_MS,
);
