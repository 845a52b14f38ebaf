/**
 * The promotion of a Redis replica, with the steps of `docs/how-to/three-machines-by-hand.md` and workers that continue running: what
 * becomes of leases, of the mark of the data set, and of what was accepted.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type InvocationId, partitionOf, silentLogger, systemClock } from "@perdure/base";
import { connectRedis, placeMarks, type RedisNode } from "@perdure/redis";
import { type RedisServer, type ReplicatedRedis, startReplicatedRedis } from "@perdure/servers";
import { all, EVERY, PARTITIONS, type Running, submit, until, Workers } from "./workers.js";

const TEST_MS = 120_000;
const ENVIRONMENT = "env_promoted";
const MARK = "a".repeat(32);
const RECOVERY_MS = 30_000;

/** A name that leads to a Redis: connections that were made stay where they are, unless they are cut. */
class RedisName implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#connect(client));
  #port: number;

  constructor({ port }: RedisServer) {
    this.#port = port;
  }

  async listen(): Promise<RedisNode> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return { host: "127.0.0.1", port: (this.#server.address() as AddressInfo).port };
  }

  lead({ port }: RedisServer): void {
    this.#port = port;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(client: Socket): void {
    const redis = connect(this.#port, "127.0.0.1");
    for (const [socket, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
  }
}

let owned: AsyncDisposableStack;
let redis: ReplicatedRedis;
let first: RedisServer;
let second: RedisServer;
beforeEach(async () => {
  owned = new AsyncDisposableStack();
  // The settings that the page demands.
  redis = owned.use(await startReplicatedRedis(2, { config: { "min-replicas-to-write": "1", "min-replicas-max-lag": "10" } }));
  [first, second] = redis.replicas as [RedisServer, RedisServer];
  await using connections = await connectRedis(
    { nodes: [{ host: "127.0.0.1", port: redis.primary.port }] },
    { clock: systemClock, logger: silentLogger },
  );
  await placeMarks(connections, ENVIRONMENT, PARTITIONS, MARK);
}, TEST_MS);
afterEach(() => owned.disposeAsync(), TEST_MS);

/** Workers behind a name of Redis, and the marks of partitions that they found to be wrong. */
async function workersBehind(server: RedisServer) {
  const name = owned.use(new RedisName(server));
  const wrongMarks: unknown[] = [];
  const dataSet = {
    id: MARK,
    onMarks: (marks: readonly (string | undefined)[]) => void wrongMarks.push(...marks.filter((mark) => mark !== MARK)),
  };
  const options = { nodes: [await name.listen()] as const, replicas: 1, timeoutMs: 2_000 };
  return { name, wrongMarks, workers: owned.use(new Workers(options, ENVIRONMENT, dataSet)) };
}

async function replicationOf(server: RedisServer): Promise<{ readonly history: string; readonly offset: number }> {
  const text = String(await server.request("INFO", "replication"));
  const field = (name: string): string => new RegExp(`^${name}:(\\S+)`, "m").exec(text)?.[1] ?? "";
  return { history: field("master_replid"), offset: Number(field("slave_repl_offset")) };
}

/** One replica confirms a commit, and the other one may still be copying the primary's data for the first time. */
async function untilReceived(replica: RedisServer): Promise<void> {
  const text = String(await redis.primary.request("INFO", "replication"));
  const written = Number(/^master_repl_offset:(\d+)/m.exec(text)?.[1]);
  await until("the replica has everything", async () => (await replicationOf(replica)).offset >= written, RECOVERY_MS);
}

/** Promotes the replica that has received more, as the page describes it; the other one follows it. */
async function promote(): Promise<RedisServer> {
  const [ofFirst, ofSecond] = await Promise.all([replicationOf(first), replicationOf(second)]);
  expect(ofFirst.history).toBe(ofSecond.history);
  const [chosen, other] = ofFirst.offset > ofSecond.offset ? [first, second] : [second, first];
  await chosen.request("REPLICAOF", "NO", "ONE");
  await other.request("REPLICAOF", "127.0.0.1", String(chosen.port));
  return chosen;
}

const statusesOf = async ({ worker }: Running, ids: readonly InvocationId[]) =>
  new Set(await Promise.all(ids.map(async (id) => (await worker.partitions.describe(id))?.status)));

const submitMany = (count: number, ...to: readonly Running[]): Promise<InvocationId[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => submit(to[n % to.length] as Running)));

test(
  "workers continue by themselves on the replica that has received more, with everything that was accepted",
  async () => {
    const { name, wrongMarks, workers } = await workersBehind(redis.primary);
    const [a, b] = (await workers.startAll("a", "b")) as [Running, Running];
    const accepted = await submitMany(40, a, b);
    // From now on this replica receives nothing, and the other one alone has what is accepted.
    await second.request("REPLICAOF", "127.0.0.1", "1");
    accepted.push(...(await submitMany(40, a, b)));
    await redis.primary.kill();

    const chosen = await promote();
    expect(chosen).toBe(first);
    name.lead(chosen);
    await until("every partition has a leader", () => all(a, b).join() === EVERY.join(), RECOVERY_MS);
    await until(
      "what was accepted is there",
      async () => (await statusesOf(a, accepted).catch(() => new Set())).size === 1,
      RECOVERY_MS,
    );
    expect(await statusesOf(a, accepted)).toEqual(new Set(["invoked"]));
    expect(await statusesOf(b, await submitMany(20, a, b))).toEqual(new Set(["invoked"]));
    expect(wrongMarks).toEqual([]);
  },
  TEST_MS,
);

test(
  "the old primary acknowledges nothing to a worker that still reaches it alone, which leads again when its name leads to the new one",
  async () => {
    const cutOff = await workersBehind(redis.primary);
    const others = await workersBehind(redis.primary);
    const [a] = (await cutOff.workers.startAll("a")) as [Running];
    const b = await others.workers.start("b");
    await until("both lead", () => all(a, b).join() === EVERY.join() && b.worker.leading().length > 0, RECOVERY_MS);
    const accepted = await submitMany(40, a, b);
    const partitionsOfCutOff = new Set(all(a));

    const chosen = await promote();
    others.name.lead(chosen);
    others.name.cut();
    const attempts = Array.from({ length: 40 }, () => submit(a).catch(() => undefined));
    await until("the other side leads everything", () => all(b).join() === EVERY.join(), RECOVERY_MS);
    accepted.push(...(await submitMany(20, b)));
    // Requests for partitions that the others lead reach them, and the new primary.
    const passedOn = (await Promise.all(attempts)).filter((id) => id !== undefined);
    expect(passedOn.filter((id) => partitionsOfCutOff.has(partitionOf(id, PARTITIONS)))).toEqual([]);
    expect(passedOn.length).toBeLessThan(attempts.length);
    accepted.push(...passedOn);

    cutOff.name.lead(chosen);
    cutOff.name.cut();
    await until("all lead their share", () => all(a, b).join() === EVERY.join() && a.worker.leading().length > 0, RECOVERY_MS);
    expect(await statusesOf(b, accepted)).toEqual(new Set(["invoked"]));
    expect([...cutOff.wrongMarks, ...others.wrongMarks]).toEqual([]);
  },
  TEST_MS,
);

test(
  "a replica without the data that is promoted is led by no worker, and everything continues when the right one is behind the name",
  async () => {
    const { name, wrongMarks, workers } = await workersBehind(redis.primary);
    const [a] = (await workers.startAll("a")) as [Running];
    const accepted = await submitMany(20, a);
    await untilReceived(first);
    await redis.primary.kill();
    // Its volume was lost.
    await second.request("REPLICAOF", "NO", "ONE");
    await second.request("CONFIG", "SET", "min-replicas-to-write", "0");
    await second.request("FLUSHALL");
    name.lead(second);
    await until("the marks are missing", () => wrongMarks.length > 0, RECOVERY_MS);
    await until("nothing is led", () => all(a).length === 0, RECOVERY_MS);
    // Heartbeats of the workers, and nothing else.
    const keys = (await second.request("KEYS", "*")) as readonly unknown[];
    expect(keys.filter((key) => !String(key).includes(":members"))).toEqual([]);

    await first.request("REPLICAOF", "NO", "ONE");
    await second.request("REPLICAOF", "127.0.0.1", String(first.port));
    name.lead(first);
    name.cut();
    await until("every partition has a leader", () => all(a).join() === EVERY.join(), RECOVERY_MS);
    expect(await statusesOf(a, accepted)).toEqual(new Set(["invoked"]));
  },
  TEST_MS,
);
