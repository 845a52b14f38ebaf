/** Signals, exit codes and broken pipes exist only for a real process. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { executable } from "@perdure/dev-cluster";

type Server = ChildProcessByStdio<null, Readable, Readable>;

let data: string;
const started: Server[] = [];

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "perdure-process-"));
});
afterEach(() => {
  for (const server of started.splice(0)) server.kill("SIGKILL");
  rmSync(data, { recursive: true, force: true });
});

async function start(...flags: string[]): Promise<Server> {
  const args = ["server", "--base-dir", data, "--ingress.bind-port=0", "--admin.bind-port=0", "--log-format=json", ...flags];
  const server = spawn(await executable(), args, { env: { PATH: process.env["PATH"] }, stdio: ["ignore", "pipe", "pipe"] });
  started.push(server);
  return server;
}

/** Resolves when the server has written its line `ready`. */
async function ready(server: Server): Promise<void> {
  let written = "";
  for await (const chunk of server.stdout.iterator({ destroyOnReturn: false })) {
    written += String(chunk);
    if (written.includes('"msg":"ready"')) return;
  }
  throw new Error(`the server ended: ${written}`);
}

const ended = async (server: Server): Promise<unknown[]> => once(server, "exit");

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends it well",
  async (signal) => {
    const server = await start();
    await ready(server);
    server.kill(signal);
    expect(await ended(server)).toEqual([0, null]);
  },
  30_000,
);

test("it continues after the reader of its output has closed, and still stops on a signal", async () => {
  const server = await start();
  await ready(server);
  server.stdout.destroy();
  server.stderr.destroy();
  server.kill("SIGTERM"); // Writes a log line into a closed pipe.
  expect(await ended(server)).toEqual([0, null]);
}, 30_000);

test("a refused start writes the remedy to standard error, and ends with 1", async () => {
  const server = await start("--ingress.bind-prot=1");
  const [[code], output, complaint] = await Promise.all([ended(server), text(server.stdout), text(server.stderr)]);
  expect(code).toBe(1);
  expect(output).toBe("");
  expect(complaint).toContain("RT0002: configuration cannot be read");
  expect(complaint).toContain("did you mean '--ingress.bind-port'?");
  expect(complaint).toContain("What to do: ");
}, 30_000);
