import { expect, test } from "@jest/globals";
import type { RemoteRows } from "@perdure/grpc";
import type { PartitionRow, TrafficCount } from "@perdure/storage";
import { VirtualClock } from "@perdure/testkit";
import { rowsOfThreads } from "./rows.js";

const partition = (number: number, status: PartitionRow["status"]): PartitionRow => ({
  partition: number,
  status,
  leader: "node1",
  leaderAddress: `thread:${number % 2}`,
  epoch: 3,
  leaderSinceMs: 5,
  leaseExpiresAtMs: undefined,
});
const count = (service: string, created: number, durationMsMax?: number): TrafficCount => ({
  periodMs: 1_000,
  startsAtMs: 4_000,
  service,
  durationMsMax,
  created,
  completed: created + 1,
  failed: 1,
});

function rowsWith(traffic: readonly { readonly sinceMs: number | undefined; readonly count: TrafficCount | undefined }[]) {
  const rows = {
    async *partitions() {
      yield* [partition(0, "leading"), partition(1, "leading"), partition(2, "no_leader")];
    },
    async *traffic() {
      for (const each of traffic) yield { node: "node1", ...each };
    },
  };
  return rowsOfThreads(rows as unknown as RemoteRows, "node1", new VirtualClock());
}

async function arrayOf<Row>(rows: Iterable<Row> | AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

test("threads are one node, and no partition shows the address of its thread", async () => {
  const { nodes, partitions } = rowsWith([]);
  expect(await arrayOf(nodes())).toMatchObject([{ id: "node1", address: undefined, status: "alive", leadingCount: 2 }]);
  expect((await arrayOf(partitions())).map(({ leader, leaderAddress }) => [leader, leaderAddress])).toEqual(
    Array(3).fill(["node1", undefined]),
  );
});

test("counts of threads are summed by service, period and duration, since the last of them began to count", async () => {
  const { traffic } = rowsWith([
    { sinceMs: 10, count: undefined },
    { sinceMs: 10, count: count("A", 1) },
    { sinceMs: 10, count: count("A", 0, 64) },
    { sinceMs: 12, count: undefined },
    { sinceMs: 12, count: count("A", 5) },
    { sinceMs: 12, count: count("B", 7) },
  ]);
  const node = { node: "node1", sinceMs: 12 };
  expect(await arrayOf(traffic())).toEqual([
    { ...node, count: undefined },
    { ...node, count: { ...count("A", 6), completed: 8, failed: 2 } },
    { ...node, count: count("A", 0, 64) },
    { ...node, count: count("B", 7) },
  ]);
});

test("counts are incomplete when those of one thread are", async () => {
  const { traffic } = rowsWith([
    { sinceMs: 10, count: undefined },
    { sinceMs: undefined, count: undefined },
  ]);
  expect(await arrayOf(traffic())).toEqual([{ node: "node1", sinceMs: undefined, count: undefined }]);
});
