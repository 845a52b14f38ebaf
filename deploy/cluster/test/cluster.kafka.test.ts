/**
 * Runs `make cluster` as a user would: the demo succeeds, the tutorial comes true, data is found again, nothing is left running, not even
 * after a crash.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { programBundle } from "@perdure/dev-cluster";
import { ChildProgram, startOf } from "@perdure/processes";
import { playClusterTutorial } from "./tutorial.js";

const WHOLE_TEST_MS = 600_000;
/** The machine may be busy with other suites. */
const STAYS_UP_MS = 300_000;
/** Ports that follow on each other. */
const INNER_PORTS = 13;
const PUBLIC_PORT_COUNT = 5;
const FIRST_PORT = 12_000;
const PORTS_TO_CHOOSE_FROM = 18_000;

const data = mkdtempSync(join(tmpdir(), "perdure-cluster-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined)).listen(port, "127.0.0.1", () => resolve(server));
  });
}

/** The first of a row of ports that all are free, below those that systems give to clients. */
async function freeRow(): Promise<number> {
  for (;;) {
    const first = FIRST_PORT + Math.floor(Math.random() * PORTS_TO_CHOOSE_FROM);
    const servers = await Promise.all(Array.from({ length: INNER_PORTS + PUBLIC_PORT_COUNT }, (_, i) => listen(first + i)));
    await Promise.all(servers.map((server) => new Promise<void>((closed) => void (server?.close(() => closed()) ?? closed()))));
    if (servers.every((server) => server !== undefined)) return first;
  }
}

/** Two ports for clients, one for the management API, one for the greeter, one for the service of the tutorial; behind the row of the others. */
const publicPortsOf = (row: number): number[] => Array.from({ length: PUBLIC_PORT_COUNT }, (_, i) => row + INNER_PORTS + i);

function start(row: number, ...args: string[]): Promise<ChildProgram> {
  return startWith({}, row, ...args);
}

async function startWith(settings: Readonly<Record<string, string>>, row: number, ...args: string[]): Promise<ChildProgram> {
  const [ingress, secondIngress, admin, greeter] = publicPortsOf(row).map(String);
  const env = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    XDG_CACHE_HOME: process.env["XDG_CACHE_HOME"],
    PERDURE_CLUSTER_DIR: data,
    PERDURE_CLUSTER_PORTS: String(row),
    PERDURE_INGRESS__BIND_PORT: ingress,
    PERDURE_CLUSTER_SECOND_INGRESS_PORT: secondIngress,
    PERDURE_ADMIN__BIND_PORT: admin,
    GREETER_PORT: greeter,
    ...settings,
  };
  return ChildProgram.start({ command: process.execPath, args: [await programBundle("deploy/cluster"), ...args], env });
}

const outputOf = ({ lines }: ChildProgram): string => lines.join("\n");

/** What the cluster wrote down of itself. */
function running(): { readonly name: string; readonly pid: number }[] {
  return JSON.parse(readFileSync(join(data, "running.json"), "utf8")) as { name: string; pid: number }[];
}

/** Zombies that are not reaped yet do not count. */
const isAlive = (pid: number): boolean => startOf(pid) !== undefined;

function expectDemo(output: string, count: number): void {
  expect(output).toContain("finished steps were not repeated");
  expect(output).toMatch(/worker[123], which ran it, was killed with SIGKILL/);
  expect(output).toMatch(new RegExp(`Counter/demo/add, a virtual object +${count}`));
  expect(output).toContain(`${count - 1} + 1 = ${count}`); // The record of Kafka, counted once.
}

test(
  "the demo succeeds, and the tutorial; what a crash of all supervision leaves is stopped by its list; the next run finds the data",
  async () => {
    const row = await freeRow();
    await using cleanup = new AsyncDisposableStack();
    const first = await start(row, "up");
    cleanup.defer(async () => {
      // Whatever fails below: nothing of it stays.
      await (await start(row, "down")).exited;
    });
    await eventually("it stays up", () => !first.isRunning || outputOf(first).includes("It stays up"), STAYS_UP_MS);
    expect(first.isRunning ? "" : outputOf(first)).toBe("");
    expectDemo(outputOf(first), 1);
    expect(outputOf(first)).not.toContain("\u001b[");
    const [ingress, , admin, , service] = publicPortsOf(row) as [number, number, number, number, number];
    await playClusterTutorial({ ingress, admin, service }, data);

    const all = running();
    expect(all.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["PostgreSQL", "Redis", "Kafka", "registry", "worker1", "worker2", "gateway2", "admin-api"]),
    );
    const second = await start(row, "up");
    expect((await second.exited).code).toBe(1);
    expect(outputOf(second)).toMatch(/a cluster is running in .* already \(process \d+\)/);

    const [supervisor, ...others] = all as [(typeof all)[0], ...typeof all];
    process.kill(supervisor.pid, "SIGKILL");
    await first.exited;
    expect(others.every(({ pid }) => isAlive(pid))).toBe(true);
    const down = await start(row, "down");
    expect((await down.exited).code).toBe(0);
    expect(outputOf(down)).toContain("left over from a crash");
    expect(others.filter(({ pid }) => isAlive(pid))).toEqual([]);

    const again = await startWith({ PERDURE_CLUSTER_WORKERS: "3" }, row, "up", "--once");
    expect((await again.exited).code === 0 ? "" : outputOf(again)).toBe("");
    expect(outputOf(again)).toMatch(/of the last run +"Ada-\w+'s party is ready: 6 steps\."/);
    expectDemo(outputOf(again), 2);
    expect(outputOf(again)).toContain("worker3 is ready");
    const nothing = await start(row, "down");
    expect((await nothing.exited).code).toBe(0);
    expect(outputOf(nothing)).toBe("no cluster is running here");
  },
  WHOLE_TEST_MS,
);

test("a port in use is reported with the setting to change, and nothing is left running", async () => {
  const row = await freeRow();
  const greeter = publicPortsOf(row)[3] as number;
  for (const [port, advice] of [
    [row + 1, `PERDURE_CLUSTER_PORTS=${row + 100} make cluster`],
    [greeter, `GREETER_PORT=${greeter + 1} make cluster`],
  ] as const) {
    const occupant = await listen(port);
    const child = await start(row, "up", "--once");
    expect((await child.exited).code).toBe(1);
    await new Promise<void>((closed) => void occupant?.close(() => closed()));
    expect(outputOf(child)).toContain(`port ${port} `);
    expect(outputOf(child)).toContain(advice);
  }
}, 60_000);

test("refuses settings that make no sense, by name", async () => {
  for (const [args, message] of [
    [["up", "--set", "worker=1"], "must be like invoker-worker:worker.cleanup-interval=1s"],
    [["run", "--set", "cook:salt=1"], "there is no role 'cook'"],
    [["sideways"], "usage:"],
  ] as const) {
    const child = await start(FIRST_PORT, ...args);
    expect((await child.exited).code).not.toBe(0);
    expect(outputOf(child)).toContain(message);
  }
}, 60_000);
