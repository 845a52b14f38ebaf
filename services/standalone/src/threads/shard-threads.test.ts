import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { Health, Lifecycle } from "@perdure/process-kit";
import type { RegistryRole } from "@perdure/registry";
import { ActionTotals } from "@perdure/storage";
import { expositionText, Metrics, noTracer, Sampler } from "@perdure/telemetry";
import { ShardThreads } from "./shard-threads.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-shards-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Answers calls of the main thread; `on` has the result of each method. */
const ANSWERING = `
  import { workerData } from "node:worker_threads";
  const { calls, thread } = workerData;
  const notify = (method, ...values) => calls.postMessage({ kind: "notice", method, values });
  const answer = (on) => calls.on("message", ({ number, method, values }) => {
    if (number !== undefined) calls.postMessage({ kind: "result", number, value: on[method]?.(...values) });
  });
`;

let moduleCount = 0;
function start(program: string, threads = 2) {
  const file = join(folder, `thread-${++moduleCount}.mjs`);
  writeFileSync(file, ANSWERING + program);
  const lifecycle = new Lifecycle({ logger: silentLogger, clock: systemClock, health: new Health(), shutdownTimeoutMs: 5_000 });
  const metrics = new Metrics();
  metrics.counter({ name: "done_total", help: "Done" }).add(100);
  const sampler = new Sampler({ ratio: 0 }, systemRandom);
  const tracers = { tracer: noTracer, invocationTracer: noTracer, sampler };
  const ports = { lifecycle, metrics, ...tracers, clock: systemClock, random: systemRandom, logger: silentLogger };
  const listeners: (() => void)[] = [];
  const registry = { onChange: (listener: () => void) => void listeners.push(listener) } as unknown as RegistryRole;
  const shards = lifecycle.start(
    "threads",
    () =>
      new ShardThreads(
        registry,
        {
          threads,
          partitionCount: 4,
          directory: folder,
          actions: ActionTotals.ofWriters(threads),
          setup: { inputs: { file: undefined, environment: {}, flags: [] }, isTerminal: false },
          node: "node1",
          entry: pathToFileURL(file),
        },
        ports,
      ),
  );
  const changeRegistry = () => {
    for (const listener of listeners) listener();
  };
  return { lifecycle, shards, changeRegistry };
}

test.each([
  ["throws", 'setTimeout(() => { throw new TypeError("a defect") }, 1);', { code: "OPS0003" }],
  ["ends", "process.exit(3);", { code: "OPS0003", detail: "thread 1 of this process has ended" }],
  ["reports a failure", 'notify("fail", "STO0004", "no space"); answer({});', { code: "STO0004", detail: "thread 1: no space" }],
])("a thread that %s ends the process", async (_how, program, error) => {
  const { lifecycle } = start(program);
  expect(await lifecycle.untilEnded()).toMatchObject({ kind: "failed", error });
});

test("a thread that cannot lead rejects with its error, and calls of one that has ended reject", async () => {
  const { lifecycle, shards } = start(`
    calls.once("message", ({ number }) => calls.postMessage({ kind: "error", number, code: "STO0001", detail: "unreadable" }));
  `);
  const threads = await shards;
  await expect(threads.leads(1)).rejects.toMatchObject({ code: "STO0001", detail: "unreadable" });
  lifecycle.fail(new Error("test"));
  await expect(threads.leads(1)).rejects.toMatchObject({ code: "OPS0004" });
  await lifecycle.untilEnded();
});

test("metrics are sums, and those of a busy thread are its last ones", async () => {
  const { lifecycle, shards } = start(
    `
    let scrapes = 0;
    answer({
      metrics() {
        if (thread === 2 && ++scrapes === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
        return [{ name: "done_total", help: "Done", type: "counter", merge: "sum", samples: [["done_total", "", thread * scrapes + 1]] }];
      },
    });
    `,
    3,
  );
  const threads = await shards;
  const done = async () => expositionText(await threads.metrics()).split("\n")[2];
  expect(await done()).toBe("done_total 104");
  expect(await done()).toBe("done_total 104");
  lifecycle.stop("test");
  expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
});

test("a change of the registry is answered when every thread has its state", async () => {
  const { lifecycle, shards, changeRegistry } = start(
    `
    notify("registryReached", 1n);
    answer({ drain: () => notify("registryReached", 2n), metrics: () => [] });
    `,
    3,
  );
  const threads = await shards;
  await threads.metrics(); // Both have reported their first state.
  expect(await threads.shown(Promise.resolve("nothing was changed"))).toBe("nothing was changed");
  let isShown = false;
  changeRegistry();
  const shown = threads.shown(Promise.resolve("changed")).then((result) => {
    isShown = true;
    return result;
  });
  await threads.metrics();
  expect(isShown).toBe(false);
  await threads.drainIngress();
  expect(await shown).toBe("changed");
  lifecycle.stop("test");
  await lifecycle.untilEnded();
});
