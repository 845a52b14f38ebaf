import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { Health, Lifecycle, Metrics, noTracer } from "@perdure/role";
import { type Doors, startStandalone } from "./composition.js";
import { loadSettings } from "./config.js";

let folder: string;
let running: Lifecycle[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-standalone-"));
  running = [];
});

afterEach(async () => {
  for (const lifecycle of running) {
    lifecycle.stop("test");
    await lifecycle.untilEnded();
  }
  rmSync(folder, { recursive: true });
});

const FREE_PORTS = [
  "--ingress.bind-address=127.0.0.1",
  "--admin.bind-address=127.0.0.1",
  "--ingress.bind-port=0",
  "--admin.bind-port=0",
];

async function start(...flags: string[]): Promise<Doors> {
  const { values } = loadSettings({
    file: undefined,
    environment: {},
    flags: [...FREE_PORTS, "--worker.num-partitions=2", "--base-dir", folder, ...flags],
  });
  const lifecycle = new Lifecycle({ logger: silentLogger, clock: systemClock, health: new Health(), shutdownTimeoutMs: 5000 });
  const metrics = new Metrics();
  const doors = await startStandalone(values, {
    lifecycle,
    metrics,
    tracer: noTracer,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  running.push(lifecycle);
  return doors;
}

async function stopLast(): Promise<void> {
  const lifecycle = running.pop()!;
  lifecycle.stop("test");
  expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
}

const NODE = "node1";
const FORMAT_FILE = "perdure-format.json";

describe("a whole server in one process", () => {
  test("both doors answer, and the management API shows the metrics", async () => {
    const { ingressPort, adminPort } = await start();
    const health = await fetch(`http://127.0.0.1:${ingressPort}/restate/health`);
    expect(await health.json()).toEqual({ services: [] });
    const version = (await (await fetch(`http://127.0.0.1:${adminPort}/version`)).json()) as { ingress_endpoint: string };
    expect(version.ingress_endpoint).toBe(`http://localhost:${ingressPort}/`);
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    expect(metrics).toContain('perdure_gateway_requests_total{kind="health",code="2xx",outcome="ok"} 1');
  });

  test("it stops in order, and starts again on the same data", async () => {
    await start();
    await stopLast();
    const { ingressPort } = await start();
    expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`)).status).toBe(200);
  });
});

describe("refusals to start", () => {
  let occupant: Server;
  let taken: number;

  beforeEach(async () => {
    occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(0, "127.0.0.1", resolve));
    taken = (occupant.address() as AddressInfo).port;
  });
  afterEach(() => new Promise<void>((resolve) => void occupant.close(() => resolve())));

  test.each(["ingress", "admin"])("RT0004 when the port of %s is taken, before any data is touched", async (door) => {
    const refused = start(`--${door}.bind-port=${taken}`);
    await expect(refused).rejects.toMatchObject({ code: "RT0004", detail: expect.stringContaining(`127.0.0.1:${taken}`) });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("RT0005 when another server has the data; that one is not disturbed", async () => {
    const { ingressPort } = await start();
    await expect(start()).rejects.toMatchObject({ code: "RT0005" });
    expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`)).status).toBe(200);
  });

  test.each([
    ["RT0009", "db", "worker.storage-rocksdb.path"],
    ["META0011", "local-metadata-store", "meta.storage-path"],
  ])("%s when the directory %s holds something without a version; nothing of it is touched", async (code, directory, setting) => {
    const path = join(folder, NODE, directory);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "somebody-elses.txt"), "data");
    await expect(start()).rejects.toMatchObject({ code, detail: expect.stringContaining(setting) });
    expect(readdirSync(path)).toEqual(["somebody-elses.txt"]);
  });

  test.each(["db", "local-metadata-store"])(
    "META0010 when %s was written in a format of the future; nothing of it is touched",
    async (directory) => {
      await start();
      await stopLast();
      const file = join(folder, NODE, directory, FORMAT_FILE);
      writeFileSync(file, '{"format":999}');
      await expect(start()).rejects.toMatchObject({ code: "META0010", detail: expect.stringContaining("999") });
      expect(readFileSync(file, "utf8")).toBe('{"format":999}');
    },
  );

  test("after a refusal nothing is locked: correcting it is enough", async () => {
    const path = join(folder, NODE, "db");
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "in-the-way"), "");
    await expect(start()).rejects.toMatchObject({ code: "RT0009" });
    rmSync(path, { recursive: true });
    await start();
    expect(existsSync(join(path, FORMAT_FILE))).toBe(true);
  });

  test("OPS0001 when the identity key is missing or no key, without showing what it is", async () => {
    await expect(start("--request-identity-private-key-pem-file", join(folder, "none.pem"))).rejects.toMatchObject({
      code: "OPS0001",
      detail: expect.stringContaining("there is no such file"),
    });
    const file = join(folder, "key.pem");
    writeFileSync(file, "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n");
    const refused = start("--request-identity-private-key-pem-file", file);
    await expect(refused).rejects.toMatchObject({ code: "OPS0001", detail: expect.not.stringContaining("hunter2") });
  });
});
