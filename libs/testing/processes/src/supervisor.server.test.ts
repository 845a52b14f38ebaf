import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { ChildProgram } from "./child-program.js";
import { ProcessGroup } from "./process-group.js";
import { Record } from "./record.js";
import { type SupervisedPlace, stopSupervised, supervise } from "./supervisor.js";

let place: SupervisedPlace;
let printed: string[];
beforeEach(() => {
  place = { what: "group", directory: mkdtempSync(join(tmpdir(), "perdure-group-")), stopCommand: "make group-down" };
  printed = [];
});
afterEach(() => rmSync(place.directory, { recursive: true, force: true }));

const messages = {
  leftovers: (names: readonly string[]) => void printed.push(`leftovers ${names.join()}`),
  restarted: (text: string) => void printed.push(text),
  failed: (cause: unknown) => void printed.push(`failed ${(cause as Error).message}`),
  stopping: () => void printed.push("stopping"),
};
/** Prints how it was requested to end. */
const IDLE =
  "for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => process.exit(name === 'SIGINT' ? 2 : 0)); console.log('up'); setInterval(() => {}, 1000)";
const start = async (): Promise<ChildProgram> => {
  const program = await ChildProgram.start({ command: process.execPath, args: ["-e", IDLE] });
  await program.ready(() => program.lines.includes("up"));
  return program;
};

test("a group is stopped when its work is done: listeners first, servers last, and the list is gone", async () => {
  const order: string[] = [];
  const work = async (group: ProcessGroup): Promise<boolean> => {
    for (const [name, stage] of [
      ["database", "server"],
      ["worker", "work"],
      ["gateway", "listener"],
    ] as const) {
      const program = await start();
      group.keep(name, stage, program);
      void program.exited.then(() => order.push(name));
    }
    expect(new Record(place.directory).alive().map(({ name }) => name)).toEqual(["supervisor", "database", "worker", "gateway"]);
    return true;
  };
  expect(await supervise(place, { run: work }, messages)).toBe(0);
  expect(order).toEqual(["gateway", "worker", "database"]);
  expect(printed).toEqual(["stopping"]);
  expect(existsSync(join(place.directory, "running.json"))).toBe(false);
});

test("work that fails or rejects gives exit code 1", async () => {
  expect(await supervise(place, { run: async () => false }, messages)).toBe(1);
  expect(await supervise(place, { run: () => Promise.reject(new Error("no port")) }, messages)).toBe(1);
  expect(printed).toEqual(["stopping", "failed no port", "stopping"]);
});

test("a second supervisor is refused while the first runs", async () => {
  new Record(place.directory).add("supervisor", process.pid);
  await expect(supervise(place, { run: async () => true }, messages)).rejects.toThrow(
    `a group is running in ${place.directory} already (process ${process.pid}); 'make group-down' stops it`,
  );
});

test("what a crashed supervisor left is stopped from elsewhere, each program with its own signal", async () => {
  const record = new Record(place.directory);
  const supervisor = await start();
  record.add("supervisor", supervisor.pid);
  const group = new ProcessGroup(record);
  const [database, worker] = [await start(), await start()];
  const { pid } = database;
  group.keep("database", "server", {
    ...{ pid, isRunning: true, stopSignal: "SIGINT" },
    stop: () => database.stop(),
    startAgain: () => database.startAgain(),
  });
  group.keep("worker", "work", worker);
  await supervisor.kill();
  const result = await stopSupervised({ ...place, stopOthers: async () => ["env_1"] });
  expect(result).toEqual({ stopped: 2, leftovers: ["worker", "database", "env_1"] });
  expect([(await worker.exited).code, (await database.exited).code]).toEqual([0, 2]);
});

test("a program that ends by itself is started again and listed", async () => {
  const group = new ProcessGroup(new Record(place.directory));
  const program = await start();
  group.keep("worker", "work", program);
  const stop = new AbortController();
  const first = program.pid;
  const watching = group.watch(stop.signal, (text) => {
    printed.push(text);
  });
  await program.kill();
  while (!program.isRunning) await new Promise((resolve) => setTimeout(resolve, 10));
  stop.abort();
  await watching;
  expect(printed).toEqual(["worker ended by itself; starting it again"]);
  expect(program.pid).not.toBe(first);
  expect(new Record(place.directory).alive()).toMatchObject([{ name: "worker", pid: program.pid }]);
  await group.stop();
  expect(program.isRunning).toBe(false);
});
