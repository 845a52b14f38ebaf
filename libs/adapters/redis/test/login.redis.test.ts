/** Users, passwords, databases, TLS, and a cluster of which a node fails. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock, utf8 } from "@perdure/base";
import { freePorts, startRedis, startRedisCluster } from "@perdure/servers";
import type { Mutation } from "@perdure/state-machine";
import { leakCheck } from "@perdure/testkit";
import { connectRedis, type RedisNode, RedisPartitionStore } from "../src/index.js";
import { COMMITTED, connectTo, lead } from "./connected.js";

const mark: Mutation = { kind: "putDedup", producer: "p", seq: 1 };

describe("logging in", () => {
  test("with a user's name and password, into a database; the wrong user is reported, and not the password", async () => {
    await using redis = await startRedis({ password: "admin" });
    await redis.request("ACL", "SETUSER", "perdure", "on", ">s3cret", "~*", "+@all", "-@dangerous", "+info");
    {
      await using connections = await connectTo(redis.port, { username: "perdure", password: new Secret("s3cret"), database: 3 });
      const { put, fetch } = await lead(connections);
      expect(await put(mark)).toEqual(COMMITTED);
      expect(await fetch({ kind: "dedup", producer: "p" })).toEqual([1]);
    }
    expect(String(await redis.request("INFO", "keyspace"))).toMatch(/db3:keys=2/);
    const wrong = connectTo(redis.port, { username: "perdure", password: new Secret("wr0ng"), timeoutMs: 300 });
    await expect(wrong).rejects.toMatchObject({ code: "STO0001", message: expect.stringMatching(/WRONGPASS/) });
    await expect(wrong).rejects.not.toThrow(/wr0ng/);
  });

  test("over TLS, with the server's authority given; without it the connection is refused", async () => {
    const directory = mkdtempSync(join(tmpdir(), "perdure-tls-"));
    const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
    const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    execFileSync("openssl", [...request, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], {
      stdio: "ignore",
    });
    try {
      const [tlsPort] = (await freePorts(1)) as [number];
      const config = { "tls-port": String(tlsPort), "tls-cert-file": cert, "tls-key-file": key, "tls-auth-clients": "no" };
      await using _redis = await startRedis({ config });
      await using connections = await connectTo(tlsPort, { tls: { ca: readFileSync(cert) } });
      expect(await (await lead(connections)).put(mark)).toEqual(COMMITTED);
      await expect(connectTo(tlsPort, { tls: {}, timeoutMs: 300 })).rejects.toThrow(/self-signed certificate/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }, 30_000);

  test("options that contradict each other are refused with OPS0001", async () => {
    await expect(connectTo(1, { cluster: true, database: 2 })).rejects.toMatchObject({ code: "OPS0001" });
    await using redis = await startRedis();
    await using connections = await connectTo(redis.port);
    expect(() => new RedisPartitionStore(connections, { environment: "a}b" })).toThrow("OPS0001");
  });
});

describe("a server that is set up otherwise than it should be", () => {
  test("is refused when it evicts: journals would vanish", async () => {
    await using redis = await startRedis({ config: { "maxmemory-policy": "allkeys-lru" } });
    await expect(connectTo(redis.port)).rejects.toMatchObject({ code: "OPS0001", message: expect.stringMatching(/allkeys-lru/) });
  });

  test("is warned about when it may lose what it acknowledged", async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
    await using redis = await startRedis({ config: { appendfsync: "everysec" } });
    const nodes = [{ host: "127.0.0.1", port: redis.port }] as const;
    await using _connections = await connectRedis({ nodes }, { clock: systemClock, logger });
    expect(warnings).toEqual([expect.stringMatching(/appendfsync/)]);
  });

  test.each(["0", "4096"])("is warned about when its streams take more than journals need: blocks of %s bytes", async (size) => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
    await using redis = await startRedis({ config: { "stream-node-max-bytes": size } });
    const nodes = [{ host: "127.0.0.1", port: redis.port }] as const;
    const connect = () => connectRedis({ nodes }, { clock: systemClock, logger });
    {
      await using _connections = await connect();
      expect(warnings).toEqual([expect.stringMatching(/stream-node-max-bytes/)]);
    }
    // The warning is true: the same journal, before and after.
    const journalBytes = async (key: string): Promise<number> => {
      for (let n = 1; n <= 4; n++) await redis.request("XADD", key, `${n}-1`, "e", "x".repeat(20));
      return Number(await redis.request("MEMORY", "USAGE", key));
    };
    const before = await journalBytes("before");
    await redis.request("CONFIG", "SET", "stream-node-max-bytes", "512");
    await using _connections = await connect();
    expect(warnings).toHaveLength(1);
    expect(await journalBytes("after")).toBeLessThan(before / 3);
  });

  test("is warned about when it accepts writes without the replicas that commits wait for", async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
    await using redis = await startRedis();
    const nodes = [{ host: "127.0.0.1", port: redis.port }] as const;
    const connect = () => connectRedis({ nodes, replicas: 1 }, { clock: systemClock, logger });
    {
      await using _connections = await connect();
      expect(warnings).toEqual([expect.stringMatching(/min-replicas-to-write/)]);
    }
    await redis.request("CONFIG", "SET", "min-replicas-to-write", "1");
    await using _connections = await connect();
    expect(warnings).toHaveLength(1);
  });
});

describe("closing", () => {
  test.each(["up", "gone"])("leaves no socket, timer or process behind when Redis is %s", async (state) => {
    const leaks = leakCheck();
    {
      await using redis = await startRedis();
      await using connections = await connectTo(redis.port);
      expect(await (await lead(connections)).put(mark)).toEqual(COMMITTED);
      if (state === "gone") await redis.kill();
    }
    await leaks.closed();
  });

  test("a cluster leaves nothing behind either", async () => {
    const leaks = leakCheck();
    {
      await using cluster = await startRedisCluster();
      const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })) as [RedisNode, ...RedisNode[]];
      await using connections = await connectRedis({ nodes, cluster: true }, { clock: systemClock, logger: silentLogger });
      expect(await (await lead(connections)).put(mark)).toEqual(COMMITTED);
    }
    await leaks.closed();
  }, 30_000);
});

describe("a cluster", () => {
  test("has partitions on all its nodes; kill -9 of one keeps the commits there waiting, loses none, and the others continue", async () => {
    await using cluster = await startRedisCluster();
    const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })) as [RedisNode, ...RedisNode[]];
    await using connections = await connectRedis({ nodes, cluster: true }, { clock: systemClock, logger: silentLogger });
    const store = new RedisPartitionStore(connections, { environment: "e" });
    const partitions = Array.from({ length: 12 }, (_, n) => n);
    const epochs = await Promise.all(partitions.map((partition) => store.claim(partition)));
    const commit = (n: number) =>
      store.commit(
        partitions.map((partition) => ({
          partition,
          epoch: epochs[partition] as number,
          mutations: [{ kind: "putState", service: "O", key: "k", stateKey: "n", value: utf8(`${n}`) } as const],
        })),
      );
    expect(await commit(0)).toEqual(COMMITTED);
    const sizes = await Promise.all(cluster.nodes.map((node) => node.request("DBSIZE")));
    expect(sizes.every((size) => Number(size) > 0)).toBe(true);

    const [victim] = cluster.nodes;
    await victim?.kill();
    const during = commit(1);
    await victim?.startAgain();
    expect(await during).toEqual(COMMITTED);
    for (const partition of partitions) expect(await store.stateOf(partition, "O", "k")).toEqual(new Map([["n", utf8("1")]]));
  }, 60_000);
});
