/** How many partitions' state of flow control is read at a time. */
import { expect, test } from "@jest/globals";
import { type InvocationId, systemClock } from "@perdure/base";
import type { FlowRows } from "@perdure/flow-control";
import { FLOW_PARTITIONS_AHEAD, FLOW_ROWS_AHEAD_MAX } from "./limits.js";
import { liveRowsOf } from "./live.js";

const PARTITIONS = 24;
const ENTRY: FlowRows["entries"][number] = {
  partitionKey: 1n,
  queueId: "vq_1" as never,
  entryId: "inv_1" as InvocationId,
  entryKind: "invocation",
  stage: "inbox",
  status: "new",
  hasLock: false,
  runAtMs: undefined,
  sequence: 0,
  priority: 3,
  createdAtMs: 0,
  transitionedAtMs: 0,
  firstStartAtMs: undefined,
  runCount: 0,
  deploymentId: undefined,
};

/** Each partition has so many entries. `read.most` is the largest number of partitions that were read at one time. */
function flowOf(entriesPerPartition: number) {
  const read = { now: 0, most: 0, all: 0 };
  const entries = new Array<FlowRows["entries"][number]>(entriesPerPartition).fill(ENTRY);
  const rows = liveRowsOf({
    invoker: { status: () => undefined, statuses: () => [] },
    registry: {
      deployments: () => [],
      services: () => [],
      rules: () => [],
      eventSubscriptions: () => [],
    } as never,
    flow: {
      async flowRows() {
        read.most = Math.max(read.most, ++read.now);
        read.all++;
        await new Promise((resolve) => setImmediate(resolve));
        read.now--;
        return { queues: [], entries, limits: [], buckets: [] };
      },
      flowLimits: () => ({ limits: [], buckets: [] }),
    },
    partitionCount: PARTITIONS,
    clock: systemClock,
  });
  return { rows, read };
}

test.each([
  ["a few partitions at a time when they are small", 1, FLOW_PARTITIONS_AHEAD],
  ["one after the other when they are large", FLOW_ROWS_AHEAD_MAX + 1, 1],
])("entries of queues are read %s", async (_title, entriesPerPartition, most) => {
  const { rows, read } = flowOf(entriesPerPartition);
  let count = 0;
  for await (const _ of rows.queueEntries(undefined)) count++;
  expect(count).toBe(PARTITIONS * entriesPerPartition);
  expect(read).toEqual({ now: 0, most, all: PARTITIONS });
});

test("a statement that needs few rows ends the reading", async () => {
  const { rows, read } = flowOf(10);
  for await (const _ of rows.queueEntries(undefined)) break;
  expect(read.all).toBe(1);
});
