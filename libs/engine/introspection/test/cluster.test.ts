/** The tables about workers and their partitions; an unknown value is NULL. */
import { afterAll, expect, test } from "@jest/globals";
import type { NodeRow, PartitionRow } from "@perdure/storage";
import { trafficRowsOf } from "../src/live.js";
import type { IntrospectionSource, LiveRows } from "../src/ports.js";
import { anEngine, rowsOf } from "./querying.js";

const AT = Date.parse("2026-11-21T12:00:00Z");
const NODES: readonly NodeRow[] = [
  { id: "w-1", address: "10.0.0.1:5122", version: "0.1.0", status: "alive", startedAtMs: AT, leadingCount: 1 },
  {
    id: undefined,
    address: "10.0.0.2:5122",
    version: undefined,
    status: "unreachable",
    startedAtMs: undefined,
    leadingCount: undefined,
  },
];
const NONE = {
  leader: undefined,
  leaderAddress: undefined,
  epoch: undefined,
  leaderSinceMs: undefined,
  leaseExpiresAtMs: undefined,
};
const PARTITIONS: readonly PartitionRow[] = [
  {
    partition: 0,
    status: "leading",
    leader: "w-1",
    leaderAddress: "10.0.0.1:5122",
    epoch: 7,
    leaderSinceMs: AT + 1000,
    leaseExpiresAtMs: AT + 9000,
  },
  { ...NONE, partition: 1, status: "no_leader", epoch: 3 },
];
const PERIOD = { periodMs: 60_000, startsAtMs: AT, service: "Greeter" };
const TRAFFIC = {
  node: "w-1",
  sinceMs: AT - 1000,
  counts: [
    { ...PERIOD, durationMsMax: undefined, created: 7, completed: 0, failed: 0 },
    { ...PERIOD, durationMsMax: 1_448, created: 0, completed: 6, failed: 2 },
  ],
};
const live = { nodes: () => NODES, partitions: () => PARTITIONS, traffic: () => trafficRowsOf(TRAFFIC) } as unknown as LiveRows;
const engine = anEngine({ partitionCount: 2, isOneMoment: true, store: {}, live } as unknown as IntrospectionSource);
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
});

test("nodes are rows of sys_node, also an unreachable one", async () => {
  expect(await rowsOf(engine, "select * from sys_node order by address")).toEqual([
    {
      id: "w-1",
      address: "10.0.0.1:5122",
      version: "0.1.0",
      status: "alive",
      started_at: "2026-11-21T12:00:00Z",
      partitions_leading: 1,
    },
    { address: "10.0.0.2:5122", status: "unreachable" },
  ]);
});

test("partitions are rows of sys_partition, also one without a leader", async () => {
  expect(await rowsOf(engine, "select * from sys_partition order by id")).toEqual([
    {
      id: 0,
      status: "leading",
      leader: "w-1",
      leader_address: "10.0.0.1:5122",
      epoch: 7,
      leader_since: "2026-11-21T12:00:01Z",
      lease_expires_at: "2026-11-21T12:00:09Z",
    },
    { id: 1, status: "no_leader", epoch: 3 },
  ]);
  expect(await rowsOf(engine, "select p.id from sys_partition p join sys_node n on n.id = p.leader")).toEqual([{ id: 0 }]);
});

test("counts of workers are rows of sys_traffic, with one without a count for each worker", async () => {
  const columns = "service_name, starts_at, CAST(epoch(duration_max) * 1000 AS BIGINT) AS ms, created, completed, failed";
  const where = "period = INTERVAL '60 seconds'";
  expect(await rowsOf(engine, `select ${columns} from sys_traffic where ${where} order by created`)).toEqual([
    { service_name: "Greeter", starts_at: "2026-11-21T12:00:00Z", ms: 1448, created: 0, completed: 6, failed: 2 },
    { service_name: "Greeter", starts_at: "2026-11-21T12:00:00Z", created: 7, completed: 0, failed: 0 },
  ]);
  expect(await rowsOf(engine, "select node, counted_since from sys_traffic where service_name is null")).toEqual([
    { node: "w-1", counted_since: "2026-11-21T11:59:59Z" },
  ]);
});
