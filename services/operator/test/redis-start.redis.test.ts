/**
 * The start script of replicated Redis, with real servers, each on a loopback address of its own: which one is primary, and which data each
 * has.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock } from "@perdure/base";
import type { KubeObject } from "@perdure/kubernetes";
import { ChildProgram, runCommand } from "@perdure/processes";
import { connectRedis, type RedisConnections } from "@perdure/redis";
import { freePorts, redisProgram } from "@perdure/servers";
import { bundledRedis } from "../src/desired/redis.js";
import { START_REPLICATED } from "../src/desired/redis-start.js";
import { BUNDLED, environmentWith } from "./an-environment.js";
import { cell } from "./cell.js";

const TEST_MS = 30_000;
const HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"] as const;
const PASSWORD = "secret";

let program: Awaited<ReturnType<typeof redisProgram>>;
let root: string;
let port: number;
let running: Map<number, ChildProgram>;

beforeAll(async () => {
  program = await redisProgram();
}, TEST_MS);
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-replicated-"));
  [port] = (await freePorts(1)) as [number];
  running = new Map();
});
afterEach(async () => {
  for (const ordinal of [...running.keys()]) await kill(ordinal);
  await rm(root, { recursive: true, force: true });
});
afterAll(() => expect(running.size).toBe(0));

/** The arguments that the operator configures, with another folder. */
function containerArgs(folder: string): string[] {
  const environment = environmentWith({ redis: { bundled: { ...BUNDLED, mode: "replicated" } } });
  const set = bundledRedis(environment, cell, "hash").find(({ kind }) => kind === "StatefulSet") as KubeObject;
  const { template } = set["spec"] as { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
  const [container] = template.spec.containers as readonly [Container];
  expect(container.command).toEqual(["sh", "-c", START_REPLICATED, "redis"]);
  return container.args.map((arg) => arg.replace("$(REDIS_PASSWORD)", PASSWORD).replace(/^\/data$/, folder));
}

interface Container {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
}

const volume = (ordinal: number): string => join(root, `volume-${ordinal}`);

/** As its pod would be started, with the volume that it has. */
async function start(ordinal: number): Promise<void> {
  await mkdir(volume(ordinal), { recursive: true });
  const own = { "--bind": HOSTS[ordinal] as string, "--port": String(port) };
  const args = [...containerArgs(volume(ordinal)), ...Object.entries(own).flat()];
  // In a group of its own: what it starts ends with it, as in a container.
  const child = await ChildProgram.start({
    command: "sh",
    args: ["-c", START_REPLICATED, "redis", ...args],
    env: {
      ...program.env,
      PATH: `${dirname(program.path)}${delimiter}${process.env["PATH"] ?? ""}`,
      REDIS_PASSWORD: PASSWORD,
      REDIS_HOSTS: HOSTS.join(" "),
      REDIS_PORT: String(port),
      REDIS_DATA: volume(ordinal),
      POD_NAME: `redis-${ordinal}`,
    },
  });
  running.set(ordinal, child);
}

async function kill(ordinal: number): Promise<void> {
  const child = running.get(ordinal);
  running.delete(ordinal);
  await child?.kill();
}

/** To the primary, each write acknowledged by one replica at least. */
const connect = (ordinal: number): Promise<RedisConnections> =>
  connectRedis(
    { nodes: [{ host: HOSTS[ordinal] as string, port }], password: new Secret(PASSWORD), replicas: 1, timeoutMs: TEST_MS / 2 },
    { clock: systemClock, logger: silentLogger },
  );

const set = (redis: RedisConnections, key: string) => redis.commits.one(["SET", key, "1"], { replicated: true });
const size = async (redis: RedisConnections): Promise<number> => Number(await redis.reads.one(["DBSIZE"]));

/** Whether the readiness probe of the pod succeeds. */
async function isReady(ordinal: number): Promise<boolean> {
  const environment = environmentWith({ redis: { bundled: { ...BUNDLED, mode: "replicated" } } });
  const set = bundledRedis(environment, cell, "hash").find(({ kind }) => kind === "StatefulSet") as KubeObject;
  const { template } = set["spec"] as { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
  const [command = "", ...args] = template.spec.containers[0]?.readinessProbe.exec.command ?? [];
  const bin = join(root, `bin-${ordinal}`);
  await mkdir(bin, { recursive: true });
  const cli = join(dirname(program.path), "redis-cli");
  await writeFile(join(bin, "redis-cli"), `#!/bin/sh\nexec "${cli}" -h ${HOSTS[ordinal]} -p ${port} "$@"\n`, { mode: 0o755 });
  const env = {
    ...program.env,
    PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
    REDIS_PASSWORD: PASSWORD,
    POD_NAME: `redis-${ordinal}`,
  };
  const { exitCode } = await runCommand(command, args, { env });
  return exitCode === 0;
}

const untilReady = async (ordinal: number, expected = true): Promise<void> => {
  while ((await isReady(ordinal)) !== expected) await new Promise((resolve) => setTimeout(resolve, 50));
};

describe("the readiness of a Redis", () => {
  test(
    "is that of its role: a replica without its primary is not ready, nor is one that copies nothing, nor a first pod that is a replica",
    async () => {
      expect(await isReady(0)).toBe(false);
      for (const ordinal of [0, 1, 2]) await start(ordinal);
      for (const ordinal of [0, 1, 2]) await untilReady(ordinal);
      await kill(0);
      expect(await isReady(0)).toBe(false);
      await untilReady(1, false);
      await start(0);
      for (const ordinal of [0, 1]) await untilReady(ordinal);
      {
        await using replica = await connect(1);
        await replica.commits.one(["REPLICAOF", "NO", "ONE"]);
      }
      expect(await isReady(1)).toBe(false);
      {
        await using primary = await connect(0);
        await primary.commits.one(["REPLICAOF", HOSTS[2], String(port)]);
      }
      expect(await isReady(0)).toBe(false);
    },
    TEST_MS,
  );

  test(
    "needs the password: an answer that is an error is not a success",
    async () => {
      await start(0);
      for (const ordinal of [1, 2]) await start(ordinal);
      await untilReady(0);
      {
        await using redis = await connect(0);
        await redis.commits.one(["CONFIG", "SET", "requirepass", "another"]);
      }
      expect(await isReady(0)).toBe(false);
    },
    TEST_MS,
  );
});

describe("of three Redis", () => {
  test(
    "the first is the primary, and a new one waits for no replica's data",
    async () => {
      for (const ordinal of [0, 1, 2]) await start(ordinal);
      await using redis = await connect(0);
      await set(redis, "a");
      await using replica = await connect(2);
      expect(String(await replica.reads.one(["INFO", "replication"]))).toMatch(/role:slave/);
    },
    TEST_MS,
  );

  test(
    "the primary that comes back with its volume has everything at once",
    async () => {
      for (const ordinal of [0, 1, 2]) await start(ordinal);
      {
        await using redis = await connect(0);
        await set(redis, "a");
      }
      await kill(0);
      await start(0);
      await using again = await connect(0);
      expect(await size(again)).toBe(1);
    },
    TEST_MS,
  );

  test(
    "a primary that lost its volume takes everything from the replica that has received most, before it takes any write",
    async () => {
      for (const ordinal of [0, 1, 2]) await start(ordinal);
      {
        await using redis = await connect(0);
        for (let n = 0; n < 20; n++) await set(redis, `before:${n}`);
        await using replica = await connect(1);
        await using other = await connect(2);
        while ((await size(replica)) < 20 || (await size(other)) < 20) await new Promise((resolve) => setTimeout(resolve, 20));
        // The first replica misses the following writes, which the second one acknowledges.
        running.get(1)?.signal("SIGSTOP");
        for (let n = 0; n < 20; n++) await set(redis, `after:${n}`);
        running.get(0)?.signal("SIGKILL");
        running.get(1)?.signal("SIGCONT");
      }
      await kill(0);
      await rm(volume(0), { recursive: true, force: true });
      await start(0);
      await using again = await connect(0);
      expect(await size(again)).toBe(40);
      await set(again, "later");
      await using replica = await connect(1);
      while ((await size(replica)) < 41) await new Promise((resolve) => setTimeout(resolve, 20));
      // And what it took over is on its own volume.
      await kill(0);
      await start(0);
      await using restarted = await connect(0);
      expect(await size(restarted)).toBe(41);
    },
    TEST_MS,
  );
});
