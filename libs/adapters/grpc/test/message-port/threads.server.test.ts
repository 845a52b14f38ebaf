/** Partitions that another thread of this process leads. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { MessageChannel, Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { fromUtf8, silentLogger, systemClock } from "@perdure/base";
import type { Invoke } from "@perdure/state-machine";
import { LeaderDirectory, openPortChannel, RemotePartitions, RemoteRows, WorkerLink } from "../../src/index.js";
import { anInvoke, PARTITIONS } from "../../src/testing/index.js";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, "../../../../..");
const ADDRESS = "thread:1";
let bundle: string;
const opened: (() => Promise<unknown> | void)[] = [];

beforeAll(() => {
  bundle = mkdtempSync(join(ROOT, "node_modules/.perdure-port-threads-"));
  const script = `import { bundle } from "./deploy/bundle.mjs"; await bundle(process.argv[1], process.argv[2]);`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script, join(HERE, "worker-thread.ts"), bundle], { cwd: ROOT });
});
afterAll(() => rmSync(bundle, { recursive: true, force: true }));
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A thread that leads all partitions, and how this thread reaches it. */
function startThread() {
  const { port1, port2 } = new MessageChannel();
  const thread = new Worker(join(bundle, "main.mjs"), { workerData: { port: port2 }, transferList: [port2] });
  const channel = openPortChannel(port1);
  const link = new WorkerLink(ADDRESS, channel);
  const directory = new LeaderDirectory();
  const leaders = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, epoch: 1, address: ADDRESS }));
  directory.learn({ partitionCount: PARTITIONS, leaders, workers: [ADDRESS] });
  const partitions = new RemotePartitions({ directory, link: () => link, clock: systemClock });
  const rows = new RemoteRows({ directory, channel: () => channel, clock: systemClock, logger: silentLogger });
  opened.push(
    () => thread.terminate(),
    () => link.close(),
    () => partitions.close(),
  );
  return { thread, link, partitions, rows };
}

function outcomeOf(partitions: RemotePartitions, command: Invoke): Promise<string> {
  return new Promise((resolve) =>
    partitions.invoke(command, true, {
      submitted: () => undefined,
      completed: ({ outcome }) => resolve(outcome.kind === "success" ? fromUtf8(outcome.value) : outcome.failure.message),
      unavailable: (reason) => resolve(`unavailable: ${reason}`),
    }),
  );
}

test("take invocations and answer questions", async () => {
  const { partitions, rows } = startThread();
  const commands = Array.from({ length: 300 }, () => anInvoke());
  const outcomes = await Promise.all(commands.map((command) => outcomeOf(partitions, command)));
  expect(outcomes).toEqual(commands.map(({ id }) => `done ${id}`));
  expect(await partitions.output((commands[0] as Invoke).id)).toMatchObject({ kind: "completed" });
  const nodes = [];
  for await (const node of rows.nodes()) nodes.push(node);
  expect(nodes).toMatchObject([{ address: ADDRESS, status: "alive" }]);
});

test("fail their callers when the thread ends", async () => {
  const { thread, link, partitions } = startThread();
  await outcomeOf(partitions, anInvoke());
  const exit = once(thread, "exit");
  thread.postMessage("end");
  await exit;
  const lost = outcomeOf(partitions, anInvoke());
  partitions.close();
  expect(await lost).toMatch(/^unavailable: /);
  expect(link.openCount).toBe(0);
});

test("do not keep their thread alive when nothing is requested", async () => {
  const { thread, rows } = startThread();
  for await (const { status } of rows.nodes()) expect(status).toBe("alive");
  const exit = once(thread, "exit");
  thread.postMessage("idle"); // The port stays open.
  expect(await exit).toEqual([0]);
});
