import type { ServiceDefinition } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type InvocationId, newDeploymentId, silentLogger, systemClock } from "@perdure/base";
import type { InvokerStatus } from "@perdure/invoker";
import { anId } from "@perdure/state-machine/testing";
import { SeededRandom } from "@perdure/testkit";
import { LeaderDirectory, type LiveWorker, partitionsDefinition, partitionsHandlers, RemoteRows } from "../src/index.js";
import { CARRIERS, type Carrier, connectTo, TestServer } from "../src/testing/index.js";

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

const held = (id: InvocationId, retryCount = 1): InvokerStatus => ({
  id,
  inFlight: true,
  retryCount,
  lastStartAtMs: 5,
  nextRetryAtMs: undefined,
  lastAttemptDeploymentId: "dp_1",
  lastAttemptServer: undefined,
  lastFailure: undefined,
  lastAwaitingJson: undefined,
});

function aWorker(over: Partial<LiveWorker>): LiveWorker {
  return {
    leaderPartitions: () => [],
    worker: () => ({ id: "w", version: "1", startedAtMs: 1, isDraining: false, leading: [] }),
    status: () => undefined,
    statuses: () => [],
    flowRows: () => Promise.resolve({ queues: [], entries: [], limits: [], buckets: [] }),
    flowLimits: () => ({ limits: [], buckets: [] }),
    flowWait: () => undefined,
    subscriptionStatuses: () => [],
    traffic: () => ({ node: "w", sinceMs: undefined, counts: [] }),
    countUsage: () => Promise.resolve({ pinned: 0, unfinishedByService: new Map() }),
    ...over,
  };
}

const { exchange, watch, rows: rowsV01 } = partitionsDefinition;
const RELEASES = [
  ["this release", partitionsDefinition],
  ["v0.1", { exchange, watch, rows: rowsV01 }],
] as const;
const SERVERS = CARRIERS.flatMap((over) => RELEASES.map(([release, definition]) => [release, over, definition] as const));
let carrier: Carrier = "gRPC";
let methods: ServiceDefinition = partitionsDefinition;

async function serve(live: LiveWorker): Promise<string> {
  const unused = (): never => {
    throw new Error("only rows are requested");
  };
  const partitions = { invoke: unused, attach: unused, output: unused, describe: unused, submit: unused };
  const directory = new LeaderDirectory();
  const served = { partitions, leads: unused, epochOf: unused, deliver: unused, directory, live, logger: silentLogger };
  const server = await TestServer.start(methods, partitionsHandlers(served), { carrier });
  opened.push(() => server.stop());
  return server.address;
}

function rowsOf(workers: readonly string[], leaders: readonly string[] = []): RemoteRows {
  const directory = new LeaderDirectory();
  directory.learn({
    partitionCount: 2,
    workers,
    leaders: leaders.map((address, partition) => ({ partition, epoch: 1, address })),
  });
  const channel = (address: string) => {
    const client = connectTo(address);
    opened.push(() => client.close());
    return client;
  };
  return new RemoteRows({ directory, channel, clock: systemClock, logger: silentLogger });
}

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const collected: Row[] = [];
  for await (const row of rows) collected.push(row);
  return collected;
}

const DEPLOYMENT = newDeploymentId(1, new SeededRandom(1));

describe.each(SERVERS)("rows that only workers have, of workers of %s, over %s", (_release, over, definition) => {
  beforeEach(() => {
    methods = definition;
    carrier = over;
  });

  test("come from all of them, page by page", async () => {
    const many = Array.from({ length: 250 }, (_, n) => held(anId(n), n));
    const [one, two] = await Promise.all([
      serve(aWorker({ statuses: () => many })),
      serve(aWorker({ statuses: () => [held(anId(999))] })),
    ]);
    const statuses = await all(rowsOf([one, two]).statuses(undefined));
    expect(statuses).toHaveLength(251);
    expect(statuses[249]).toMatchObject({ id: anId(249), retryCount: 249, lastStartAtMs: 5 });
    expect(statuses[250]).toMatchObject({ id: anId(999) });
  });

  test("are refused when they are none, and those of other workers are used", async () => {
    const [one, two] = await Promise.all([
      serve(aWorker({ statuses: () => [held("inv_1" as InvocationId)] })),
      serve(aWorker({ statuses: () => [held(anId(999))] })),
    ]);
    expect(await all(rowsOf([one, two]).statuses(undefined))).toMatchObject([{ id: anId(999) }]);
  });

  test("that a worker cannot read are missing at once, not when the time for all pages is over", async () => {
    function* broken() {
      yield held(anId(1));
      throw new Error("no such row");
    }
    const [one, two] = await Promise.all([
      serve(aWorker({ statuses: () => broken() })),
      serve(aWorker({ statuses: () => [held(anId(999))] })),
    ]);
    expect(await all(rowsOf([one, two]).statuses(undefined))).toMatchObject([{ id: anId(999) }]);
  });

  test("of one invocation come from the worker that leads it", async () => {
    const status = (id: InvocationId) => held(id, 7);
    const address = await serve(aWorker({ leaderPartitions: () => [0, 1], status }));
    expect(await rowsOf([address], [address, address]).status(anId(3))).toMatchObject({ id: anId(3), retryCount: 7 });
    expect(await rowsOf([address], []).status(anId(3))).toBeUndefined();
  });

  test("of a worker that is gone are none", async () => {
    const address = await serve(aWorker({ statuses: () => [held(anId(1))] }));
    expect(await all(rowsOf(["127.0.0.1:1", address]).statuses(undefined))).toHaveLength(1);
  });

  test("are not read further by the worker when the client stops reading", async () => {
    let made = 0;
    const stopped = Promise.withResolvers<void>();
    function* endless() {
      try {
        for (;;) yield held(anId(++made));
      } finally {
        stopped.resolve();
      }
    }
    const address = await serve(aWorker({ statuses: () => endless() }));
    for await (const _ of rowsOf([address]).statuses(undefined)) break;
    await stopped.promise;
    expect(made).toBeGreaterThan(0);
  });
});

describe.each(SERVERS)("nodes and partitions, of workers of %s, over %s", (_release, over, definition) => {
  beforeEach(() => {
    methods = definition;
    carrier = over;
  });

  const leadership = (partition: number, epoch: number) => ({ partition, epoch, sinceMs: 5, leaseExpiresAtMs: 9 });
  const aLeader = (id: string, ...leading: ReturnType<typeof leadership>[]) =>
    aWorker({ worker: () => ({ id, version: "0.1.0", startedAtMs: 1, isDraining: id === "b", leading }) });

  test("come from all workers; of two claims to lead a partition the higher epoch counts", async () => {
    const [a, b] = await Promise.all([
      serve(aLeader("a", leadership(0, 3), leadership(1, 3))),
      serve(aLeader("b", leadership(1, 4))),
    ]);
    const rows = rowsOf([a, b]);
    const alike = { version: "0.1.0", startedAtMs: 1 };
    expect(await all(rows.nodes())).toEqual([
      { ...alike, id: "a", address: a, status: "alive", leadingCount: 2 },
      { ...alike, id: "b", address: b, status: "draining", leadingCount: 1 },
    ]);
    const leading = { status: "leading", leaderSinceMs: 5, leaseExpiresAtMs: 9 };
    expect(await all(rows.partitions())).toEqual([
      { ...leading, partition: 0, leader: "a", leaderAddress: a, epoch: 3 },
      { ...leading, partition: 1, leader: "b", leaderAddress: b, epoch: 4 },
    ]);
  });

  test("show a worker that does not answer, and a leader that is not on the list any more as none", async () => {
    const a = await serve(aLeader("a"));
    const rows = rowsOf(["127.0.0.1:1", a], ["127.0.0.1:1", "127.0.0.1:2"]);
    expect(await all(rows.nodes())).toMatchObject([
      { address: "127.0.0.1:1", status: "unreachable", leadingCount: undefined },
      { address: a, status: "alive", leadingCount: 0 },
    ]);
    expect(await all(rows.partitions())).toMatchObject([
      { partition: 0, status: "unknown", leader: undefined, leaderAddress: "127.0.0.1:1", epoch: 1 },
      { partition: 1, status: "no_leader", leader: undefined, leaderAddress: undefined, epoch: 1 },
    ]);
  });
});

describe.each(CARRIERS)("traffic, over %s,", (over) => {
  beforeEach(() => {
    carrier = over;
  });

  const counted = (n: number) => ({
    ...{ periodMs: 60_000, startsAtMs: n * 60_000, service: "S", durationMsMax: 2, created: 0, completed: n, failed: 0 },
  });

  test("comes from all workers, page by page, also from one that has counted nothing", async () => {
    methods = partitionsDefinition;
    const many = Array.from({ length: 250 }, (_, n) => counted(n));
    const [a, b] = await Promise.all([
      serve(aWorker({ traffic: () => ({ node: "a", sinceMs: 0, counts: many }) })),
      serve(aWorker({ traffic: () => ({ node: "b", sinceMs: undefined, counts: [] }) })),
    ]);
    const rows = await all(rowsOf([a, "127.0.0.1:1", b]).traffic());
    expect(rows).toHaveLength(252);
    expect(rows[0]).toEqual({ node: "a", sinceMs: 0, count: undefined });
    expect(rows[250]).toEqual({ node: "a", sinceMs: 0, count: counted(249) });
    expect(rows[251]).toEqual({ node: "b", sinceMs: undefined, count: undefined });
  });

  test("of a worker of v0.1 is unknown", async () => {
    methods = RELEASES[1][1];
    expect(await all(rowsOf([await serve(aWorker({}))]).traffic())).toEqual([]);
  });
});

describe.each(SERVERS)("usage of a deployment, of workers of %s, over %s", (_release, over, definition) => {
  beforeEach(() => {
    methods = definition;
    carrier = over;
  });

  const usage = (pinned: number, count: number) => () =>
    Promise.resolve({ pinned, unfinishedByService: new Map([["Greeter", count]]) });

  test("is the sum over all partitions", async () => {
    const [one, two] = await Promise.all([
      serve(aWorker({ leaderPartitions: () => [0], countUsage: usage(1, 2) })),
      serve(aWorker({ leaderPartitions: () => [1], countUsage: usage(3, 4) })),
    ]);
    expect(await rowsOf([one, two]).countUsage(DEPLOYMENT, ["Greeter"])).toEqual({
      pinned: 4,
      unfinishedByService: new Map([["Greeter", 6]]),
    });
  });

  test("waits for a partition that moves, so that nothing is counted twice or not at all", async () => {
    let partitions: readonly number[] = [0];
    const one = await serve(aWorker({ leaderPartitions: () => partitions, countUsage: usage(1, 1) }));
    setTimeout(() => {
      partitions = [0, 1];
    }, 300);
    expect(await rowsOf([one]).countUsage(DEPLOYMENT, ["Greeter"])).toMatchObject({ pinned: 1 });
    expect(partitions).toEqual([0, 1]);
  });
});
