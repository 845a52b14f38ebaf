import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { leakCheck } from "./index.js";

async function messageOf(check: Promise<void>): Promise<string> {
  return check.then(
    () => "nothing left open",
    (cause: unknown) => (cause as Error).message,
  );
}

async function listening(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function leakedTimer(): NodeJS.Timeout {
  return setTimeout(() => {}, 1_000_000);
}

test("a timer left running is named, with the function that set it", async () => {
  const leaks = leakCheck();
  const timer = leakedTimer();
  const message = await messageOf(leaks.closed());
  clearTimeout(timer);
  expect(message).toMatch(/^left open: Timeout opened at .*leakedTimer/);
});

test("a server and both ends of a connection are named until they are closed", async () => {
  const leaks = leakCheck();
  const server = await listening();
  const { port } = server.address() as { port: number };
  const client = connect(port, "127.0.0.1");
  const [accepted] = (await once(server, "connection")) as [{ destroy(): void }];
  const message = await messageOf(leaks.closed());
  client.destroy();
  accepted.destroy();
  server.close();
  expect(message.match(/TCP\w+/g)).toEqual(["TCPSERVERWRAP", "TCPWRAP", "TCPWRAP"]);
});

test("an open file is named", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leak-check-"));
  const leaks = leakCheck();
  const file = await open(join(folder, "file"), "w");
  const message = await messageOf(leaks.closed());
  await file.close();
  await rm(folder, { recursive: true });
  expect(message).toMatch(/^left open: FILEHANDLE/);
});

test("what was closed, fired or unref'd in time is not a leak", async () => {
  await using _leaks = leakCheck();
  clearTimeout(leakedTimer());
  leakedTimer().unref();
  await new Promise((resolve) => setTimeout(resolve, 1));
  const server = await listening();
  server.close();
  const slow = leakedTimer();
  setImmediate(() => setImmediate(() => clearTimeout(slow)));
});

test("what was open before is not held against the test", async () => {
  const before = leakedTimer();
  const message = await messageOf(leakCheck().closed());
  clearTimeout(before);
  expect(message).toBe("nothing left open");
});
